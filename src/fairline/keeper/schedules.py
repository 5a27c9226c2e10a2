"""The end of the day: people who still wait some time after closing (`clear_after_minutes`) lose their place.

Every keeper checks for it. The store ends each day once, however many keepers ask, and also if no keeper ran at the
time.
"""

from __future__ import annotations

import structlog

from fairline.domain.queue import QueueId
from fairline.store import Configured, Store

log = structlog.get_logger()

#: How many tickets one step reads, so that it does not block the store for long.
STEP = 500
MINUTE_MS = 60_000


class Schedules:
    """Ends the days of queues. It remembers which days have ended only to save calls to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._configured: dict[QueueId, Configured] = {}
        self._done: dict[QueueId, int] = {}

    async def keep(self, queue: QueueId) -> bool:
        """End the day of a queue if it is due and has not ended yet. Returns whether the queue ends its days at all."""
        snapshot = await self._store.snapshot(queue)
        configured = self._configured.get(queue)
        if configured is None or configured.version != snapshot.version:
            configured = self._configured[queue] = await self._store.settings(queue)
        minutes = configured.settings.clear_after_minutes
        calendar = configured.settings.calendar
        if minutes is None or not calendar.limited:
            return False
        closing = calendar.last_closing(snapshot.now - minutes * MINUTE_MS)
        if closing is not None:
            ends = closing + minutes * MINUTE_MS
            if self._done.get(queue, 0) < ends:
                await self._end_day(queue, ends)
                self._done[queue] = ends
        return True

    async def _end_day(self, queue: QueueId, ends: int) -> None:
        cursor, ended = None, 0
        while True:
            closed = await self._store.close_day(queue, ends, STEP, cursor)
            ended += len(closed.numbers)
            cursor = closed.cursor
            if cursor is None:
                break
        if ended:
            log.info("queue.cleared", queue=queue, tickets=ended)
