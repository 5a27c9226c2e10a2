"""The outboxes as operators see them: pending and dead deliveries, and replays of dead letters."""

from __future__ import annotations

from fairline.errors import DeliveryNotFound
from fairline.store import BoxCounts, DeliveryPage, DeliveryState, Store

#: Dead letters replayed in one step.
STEP = 500


class DeadLetters:
    """The deliveries in the outboxes of a store. An outbox is named by its `box`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def counts(self, boxes: list[str]) -> list[BoxCounts]:
        """Count the pending and the dead deliveries of each outbox."""
        return await self._store.outbox.counts(boxes)

    async def page(self, box: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        """Return a page of deliveries in this state: pending or dead."""
        return await self._store.outbox.deliveries(box, state, cursor, limit)

    async def replay(self, box: str, delivery_id: str) -> None:
        """Send one dead letter again."""
        if not await self._store.outbox.replay(box, 1, one=delivery_id):
            raise DeliveryNotFound(delivery_id)

    async def replay_all(self, box: str) -> int:
        """Send all dead letters again, except those that fail again meanwhile; return how many there were."""
        before, count = await self._store.time(), 0
        while found := await self._store.outbox.replay(box, STEP, before=before):
            count += found
        return count
