"""Outboxes on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairline.domain.queue import QueueId
from fairline.store.checks import milliseconds, read_cursor
from fairline.store.constants import DEAD_SECONDS, THREAD_SECONDS
from fairline.store.contract import Clock
from fairline.store.outbox import CURSOR, BoxCounts, Delivery, DeliveryPage, DeliveryState, NewDelivery
from fairline.store.postgres.answers import decode
from fairline.store.postgres.client import Client
from fairline.store.settling import Settling

_deliveries = msgspec.json.Decoder(list[Delivery]).decode


class PostgresOutbox(Settling):
    """See `outbox.Outbox`."""

    def __init__(self, client: Client, clock: Clock | None) -> None:
        self._client = client
        self._clock = clock

    async def open(self, box: str, cursors: Mapping[QueueId, str]) -> None:
        await self._call("outbox_open", box, list(cursors), list(cursors.values()))

    async def drop(self, box: str) -> None:
        await self._client.call("outbox_drop", box)

    async def cursor(self, box: str, queue: QueueId) -> str | None:
        found: str | None = decode(await self._client.call("outbox_cursor", box, queue))
        return found

    async def take(
        self, box: str, queue: QueueId, seen: str | None, to: str, new_deliveries: Sequence[NewDelivery], at_most: int
    ) -> bool:
        ids, payloads = (
            [new_delivery.id for new_delivery in new_deliveries],
            [new_delivery.payload for new_delivery in new_deliveries],
        )
        threads, put_off = [new_delivery.thread for new_delivery in new_deliveries], milliseconds(THREAD_SECONDS)
        columns = (ids, payloads, threads)
        return await self._call("outbox_take", box, queue, seen, to, at_most, put_off, *columns) == "true"

    async def due(self, boxes: Sequence[str]) -> list[str]:
        found: list[str] = decode(await self._client.call("outbox_due", self._now(), list(boxes)))
        return found

    async def claim(self, box: str, at_most: int, seconds: float) -> list[Delivery]:
        hold, keep = milliseconds(seconds), milliseconds(DEAD_SECONDS)
        return _deliveries(await self._call("outbox_claim", box, at_most, hold, keep))

    async def _settle(self, box: str, delivery: Delivery, what: str, number: int = 0, error: str = "") -> bool:
        return await self._call("outbox_settle", box, delivery.id, delivery.tries, what, number, error) == "true"

    async def replay(self, box: str, at_most: int, *, before: int | None = None, one: str | None = None) -> int:
        return int(await self._call("outbox_replay", box, at_most, before, one))

    async def deliveries(self, box: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        found = read_cursor(CURSOR, cursor)
        at, last = (int(found[1]), found[2]) if found else (None, None)
        dead = state is DeliveryState.DEAD
        page = _deliveries(await self._client.call("outbox_list", box, dead, at, last, limit + 1))
        return DeliveryPage.of(page, limit)

    async def counts(self, boxes: Sequence[str]) -> list[BoxCounts]:
        return [BoxCounts(*row) for row in decode(await self._client.call("outbox_counts", list(boxes)))]

    async def _call(self, name: str, box: str, *args: Any) -> str:
        return await self._client.call(name, box, self._now(), *args)

    def _now(self) -> int | None:
        return self._clock() if self._clock else None
