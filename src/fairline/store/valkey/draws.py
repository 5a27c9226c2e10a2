"""Operations on draws: who is in one, the places that were drawn, and what is published."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import chain

from fairline.domain.draw import Member
from fairline.domain.queue import QueueId
from fairline.store.checks import check_batch
from fairline.store.valkey.answers import rows_of
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import draw_keys, key
from fairline.store.valkey.queues import QueueOperations
from fairline.store.values import Drawn, Frozen


class DrawOperations(QueueOperations):
    """See `contract.Store`."""

    async def freeze_draw(self, queue: QueueId, opening: str) -> Frozen:
        _, (kept,) = await self._run("freeze_draw", queue, [opening], draw_keys(queue))
        return Frozen(*map(int, kept.split()))

    async def draw_members(self, queue: QueueId, first: int, limit: int) -> list[Member]:
        _, items = await self._run("draw_members", queue, [first, limit], draw_keys(queue))
        return [Member(*row) for row in rows_of(items, 2)]

    async def place_drawn(self, queue: QueueId, opening: str, drawn: Sequence[Drawn]) -> None:
        check_batch(drawn)
        packed = struct.pack(f"<{3 * len(drawn)}d", *chain.from_iterable(drawn))
        await self._run("place_drawn", queue, [opening, packed], draw_keys(queue))

    async def keep_draw(
        self, queue: QueueId, opening: str, parts: Mapping[str, bytes], *, once: bool = False
    ) -> dict[str, bytes]:
        args = [part for pair in parts.items() for part in pair]
        _, kept = await self._run("keep_draw", queue, [opening, int(once), *args], draw_keys(queue))
        return dict(zip(parts, kept, strict=True))

    async def draw_parts(self, queue: QueueId, opening: str, names: Sequence[str]) -> dict[str, bytes]:
        await self.version(queue)
        if not names:
            return {}
        async with mapped_errors():
            found = await self._client.hmget(key(queue, "draws"), [f"{opening}:{name}" for name in names])
        return {name: content for name, content in zip(names, found, strict=True) if content is not None}

    async def forget_draws(self, queue: QueueId, openings: Sequence[str]) -> None:
        if openings:
            await self._run("forget_draws", queue, [*openings], draw_keys(queue))
