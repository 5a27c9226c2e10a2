"""Operations on draws: who is in one, the places that were drawn, and what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairline.domain.draw import Member
from fairline.domain.queue import QueueId
from fairline.store.checks import check_batch
from fairline.store.postgres.answers import decode
from fairline.store.postgres.operations import Operations
from fairline.store.values import Drawn, Frozen


class DrawOperations(Operations):
    """See `contract.Store`."""

    async def freeze_draw(self, queue: QueueId, opening: str) -> Frozen:
        return Frozen(*await self._call("freeze_draw", queue, opening))

    async def draw_members(self, queue: QueueId, first: int, limit: int) -> list[Member]:
        rows = decode(await self._client.call("draw_members", queue, first, limit, queue=queue))
        return [Member(*row) for row in rows]

    async def place_drawn(self, queue: QueueId, opening: str, drawn: Sequence[Drawn]) -> None:
        check_batch(drawn)
        columns = ([each.number for each in drawn], [int(each.place) for each in drawn], [each.rank for each in drawn])
        await self._call("place_drawn", queue, opening, *columns)

    async def keep_draw(
        self, queue: QueueId, opening: str, parts: Mapping[str, bytes], *, once: bool = False
    ) -> dict[str, bytes]:
        stayed = await self._call("keep_draw", queue, opening, [*parts], [*parts.values()], once)
        before = {
            name: bytes.fromhex(content) for name, content in zip(parts, stayed, strict=False) if content is not None
        }
        return {**parts, **before}

    async def draw_parts(self, queue: QueueId, opening: str, names: Sequence[str]) -> dict[str, bytes]:
        rows = decode(await self._client.call("draw_parts", queue, opening, list(names), queue=queue))
        return {name: bytes.fromhex(content) for name, content in rows}

    async def forget_draws(self, queue: QueueId, openings: Sequence[str]) -> None:
        if openings:
            await self._call("forget_draws", queue, list(openings))
