"""Write-behind of heartbeats and page views: they are collected for a second and written together.

A heartbeat or a page view asks for a ticket's status, and shows that the person is still there. The status must be
answered at once. The activity only extends a deadline that is further away, so the activity of one second is written
together, with few waits for the disk. If a worker is killed, the activity of its last second is lost: a few page views,
and nobody's place. See docs/decisions/0006-signs-of-life-are-written-together.md.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import structlog

from fairline.aio.debounce import Debounced
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError, StoreError

log = structlog.get_logger()

#: Seconds before activity is written.
DELAY_SECONDS = 1.0
#: The batch size. While the store writes a batch, other calls wait; with this size, for about a millisecond.
WRITTEN_AT_ONCE = 200
#: The most people whose activity is kept during an outage of the store; that is more than are ever there.
MOST = 200_000

Who = TypeVar("Who", bound=Hashable)


class WriteBehind(Generic[Who]):
    """Who was active since the last write, and how often; `put` writes a batch of them."""

    def __init__(self, put: Callable[[QueueId, Mapping[Who, int]], Awaitable[Any]]) -> None:
        self._put = put
        self._noted: defaultdict[QueueId, dict[Who, int]] = defaultdict(dict)
        self._locks: WeakValueDictionary[QueueId, asyncio.Lock] = WeakValueDictionary()
        """One write at a time for each queue; a lock exists only while it is used."""
        self._debounced = Debounced(self._write_all, DELAY_SECONDS)

    def note(self, queue: QueueId, everyone: Sequence[Who]) -> None:
        """Note that some people were active; it is written within about a second."""
        if everyone:
            noted = self._noted[queue]
            for who in everyone:
                noted[who] = noted.get(who, 0) + 1
            self._debounced.ask()

    async def write(self, queue: QueueId) -> None:
        """Write what was noted for a queue, after a write under way. What cannot be written now is kept for later."""
        lock = self._locks.get(queue)
        if lock is None:
            lock = self._locks[queue] = asyncio.Lock()
        async with lock:
            noted = iter(self._noted.pop(queue, {}).items())
            while batch := dict(itertools.islice(noted, WRITTEN_AT_ONCE)):
                try:
                    await self._put(queue, batch)
                except StoreError as error:
                    log.warning("write_behind.store_away", error=error.message, kept=len(batch))
                    self._keep(queue, batch)
                except FairlineError as error:  # the queue was deleted, with all its tickets
                    log.debug("write_behind.queue_gone", queue=queue, error=error.message)

    async def _write_all(self) -> None:
        for queue in list(self._noted):
            await self.write(queue)

    async def close(self) -> None:
        """Wait for the present write, then write the rest."""
        await self._debounced.close()

    def _keep(self, queue: QueueId, batch: Mapping[Who, int]) -> None:
        noted = self._noted[queue]
        if len(noted) < MOST:
            for who, count in batch.items():
                noted[who] = noted.get(who, 0) + count
        self._debounced.ask()
