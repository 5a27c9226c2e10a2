"""Outboxes on Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.checks import milliseconds, read_cursor
from fairline.store.constants import DEAD_SECONDS, THREAD_SECONDS
from fairline.store.contract import Clock
from fairline.store.outbox import CURSOR, BoxCounts, Delivery, DeliveryPage, DeliveryState, NewDelivery
from fairline.store.settling import Settling
from fairline.store.valkey.answers import rows_of
from fairline.store.valkey.client import Connection, Runner, mapped_errors
from fairline.store.valkey.keys import box_key, box_keys


class ValkeyOutbox(Settling):
    """See `outbox.Outbox`."""

    def __init__(self, client: Connection, runner: Runner, clock: Clock | None) -> None:
        self._client = client
        self._runner = runner
        self._clock = clock

    async def open(self, box: str, cursors: Mapping[QueueId, str]) -> None:
        await self._run("outbox_open", box, [part for pair in cursors.items() for part in pair])

    async def drop(self, box: str) -> None:
        async with mapped_errors():
            await self._client.unlink(*box_keys(box))

    async def cursor(self, box: str, queue: QueueId) -> str | None:
        async with mapped_errors():
            found = await self._client.hget(box_key(box, "cursors"), queue)
        return found.decode() if found else None

    async def take(
        self, box: str, queue: QueueId, seen: str | None, to: str, new_deliveries: Sequence[NewDelivery], at_most: int
    ) -> bool:
        flat = [part for new_delivery in new_deliveries for part in new_delivery]
        return bool(
            await self._run("outbox_take", box, [queue, seen or "", to, at_most, milliseconds(THREAD_SECONDS), *flat])
        )

    async def due(self, boxes: Sequence[str]) -> list[str]:
        answers = await asyncio.gather(*(self._run("outbox_due", box, []) for box in boxes))
        return [box for box, found in zip(boxes, answers, strict=True) if found]

    async def claim(self, box: str, at_most: int, seconds: float) -> list[Delivery]:
        rows = await self._run("outbox_claim", box, [at_most, milliseconds(seconds), milliseconds(DEAD_SECONDS)])
        return [_delivery(*row) for row in rows_of(rows, 4)]

    async def _settle(self, box: str, delivery: Delivery, what: str, number: int = 0, error: str = "") -> bool:
        return bool(await self._run("outbox_settle", box, [delivery.id, delivery.tries, what, number, error]))

    async def replay(self, box: str, at_most: int, *, before: int | None = None, one: str | None = None) -> int:
        return int(await self._run("outbox_replay", box, [at_most, "" if before is None else before, one or ""]))

    async def deliveries(self, box: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        found = read_cursor(CURSOR, cursor)
        at, last = (found[1], found[2]) if found else ("", "")
        rows = await self._run("outbox_list", box, [state.value, at, last, limit + 1])
        page = [_delivery(*row) for row in rows_of(rows, 4)]
        return DeliveryPage.of(page, limit)

    async def counts(self, boxes: Sequence[str]) -> list[BoxCounts]:
        async with mapped_errors():
            return [
                BoxCounts(
                    await self._client.zcard(box_key(box, "pending")), await self._client.zcard(box_key(box, "dead"))
                )
                for box in boxes
            ]

    async def _run(self, name: str, box: str, args: Sequence[Any]) -> Any:
        now = self._clock() if self._clock else ""
        return await self._runner.run_on(name, box_keys(box), [now, *args])


def _delivery(delivery_id: bytes, payload: bytes, mark: bytes, at: bytes) -> Delivery:
    tries, made, error = mark.decode().split(" ", 2)
    return Delivery(
        id=delivery_id.decode(),
        payload=payload.decode(),
        made=int(made),
        tries=int(tries),
        at=int(float(at)),
        error=error,
    )
