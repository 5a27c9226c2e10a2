"""Notes that people are there, a little later and together.

Every page of a protected site is a question whether someone may go on, and a sign that they are there; so is every
heartbeat a question where someone stands. The question must be answered at once; the sign moves a deadline that is
further away. So the signs of a second are written together, with few waits for the disk. A worker that is killed
takes those of its last second with it: a few page views, and nobody's place. See
docs/decisions/0006-signs-of-life-are-written-together.md.
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

#: Seconds that signs are kept before they are written.
DELAY_SECONDS = 1.0
#: While the store writes signs, everyone else waits: for no more than about a millisecond.
WRITTEN_AT_ONCE = 200
#: More people than are ever there; beyond it signs are not kept through an outage of the store.
MOST = 200_000

Who = TypeVar("Who", bound=Hashable)


class WriteBehind(Generic[Who]):
    """Who was there since it was last written, and how often; `put` writes some of them."""

    def __init__(self, put: Callable[[QueueId, Mapping[Who, int]], Awaitable[Any]]) -> None:
        self._put = put
        self._noted: defaultdict[QueueId, dict[Who, int]] = defaultdict(dict)
        self._turns: WeakValueDictionary[QueueId, asyncio.Lock] = WeakValueDictionary()
        """What is written of a queue is written one after the other; they are there while somebody writes."""
        self._soon = Debounced(self._write_all, DELAY_SECONDS)

    def note(self, queue: QueueId, everyone: Sequence[Who]) -> None:
        """Some people gave a sign; it is written within about a second."""
        if everyone:
            noted = self._noted[queue]
            for who in everyone:
                noted[who] = noted.get(who, 0) + 1
            self._soon.ask()

    async def write(self, queue: QueueId) -> None:
        """Write what was noted of a queue, after what is being written of it. What cannot be written now is kept."""
        turn = self._turns.get(queue)
        if turn is None:
            turn = self._turns[queue] = asyncio.Lock()
        async with turn:
            signs = iter(self._noted.pop(queue, {}).items())
            while batch := dict(itertools.islice(signs, WRITTEN_AT_ONCE)):
                try:
                    await self._put(queue, batch)
                except StoreError as error:
                    log.warning("write_behind.store_away", error=error.message, kept=len(batch))
                    self._keep(queue, batch)
                except FairlineError as error:  # the queue is gone, and everyone in it
                    log.debug("write_behind.queue_gone", queue=queue, error=error.message)

    async def _write_all(self) -> None:
        for queue in list(self._noted):
            await self.write(queue)

    async def close(self) -> None:
        """Write what is left, after what is being written."""
        await self._soon.close()

    def _keep(self, queue: QueueId, batch: Mapping[Who, int]) -> None:
        noted = self._noted[queue]
        if len(noted) < MOST:
            for who, count in batch.items():
                noted[who] = noted.get(who, 0) + count
        self._soon.ask()
