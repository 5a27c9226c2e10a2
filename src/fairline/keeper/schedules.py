"""What falls due by the clock on the wall: at the end of the day, whoever still waits is sent home.

Every keeper looks; the store does it once for each day, however many of them do, and also after a night in which none
was there.
"""

from __future__ import annotations

import structlog

from fairline.domain.queue import QueueId
from fairline.store import Configured, Store

log = structlog.get_logger()

#: How many tickets one step looks at: the store must not be held up for long.
STEP = 500
MINUTE_MS = 60_000


class Schedules:
    """The ends of days. What was done is remembered only to spare the store a question."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._configured: dict[QueueId, Configured] = {}
        self._done: dict[QueueId, int] = {}

    async def keep(self, queue: QueueId) -> bool:
        """End the day of a queue, if it is time and nobody has. Answers whether its days end at all."""
        snapshot = await self._store.snapshot(queue)
        known = self._configured.get(queue)
        if known is None or known.version != snapshot.version:
            known = self._configured[queue] = await self._store.settings(queue)
        minutes = known.settings.clear_after_minutes
        calendar = known.settings.calendar
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
