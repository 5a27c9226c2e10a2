"""Notes what people inside do, a little later and together.

Every page of a protected site is a question whether someone may go on, and a sign that they are there. The question
must be answered at once; the sign moves a deadline that is minutes or hours away, and adds to a count. So the signs of
a second are written in one call, with one wait for the disk. A worker that is killed takes those of its last second
with it: a few page views, and nobody's place. See docs/decisions/0006-signs-of-life-inside-are-written-together.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import structlog

from fairline.errors import FairlineError, StoreError
from fairline.queue import QueueId
from fairline.soon import Soon
from fairline.store import MAX_BATCH, Store, Visitor

log = structlog.get_logger()

#: Seconds that signs are kept before they are written.
KEPT_SECONDS = 1.0
#: More people than are ever inside; beyond it signs are not kept through an outage of the store.
MOST = 200_000


class Activity:
    """What happened since it was last written: page views by ticket and client."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._views: defaultdict[QueueId, dict[tuple[int, bytes], int]] = defaultdict(dict)
        self._soon = Soon(self.write, KEPT_SECONDS)

    def note(self, queue: QueueId, number: int, by: bytes) -> None:
        """Someone saw a page; it is written within about a second."""
        views = self._views[queue]
        views[number, by] = views.get((number, by), 0) + 1
        self._soon.ask()

    async def write(self) -> None:
        """Write what was noted. What cannot be written now is kept."""
        noted, self._views = self._views, defaultdict(dict)
        for queue, views in noted.items():
            for batch in _batches(Visitor(number, by, count) for (number, by), count in views.items()):
                try:
                    await self._store.visit(queue, "touch", batch)
                except StoreError as error:
                    log.warning("activity.store_away", error=error.message, kept=len(batch))
                    self._keep(queue, batch)
                except FairlineError as error:  # the queue is gone, and everyone in it
                    log.debug("activity.queue_gone", queue=queue, error=error.message)

    async def close(self) -> None:
        """Write what is left, after what is being written."""
        await self._soon.close()

    def _keep(self, queue: QueueId, batch: Iterable[Visitor]) -> None:
        views = self._views[queue]
        if len(views) < MOST:
            for number, by, count in batch:
                views[number, by] = views.get((number, by), 0) + count
        self._soon.ask()


def _batches(visitors: Iterable[Visitor]) -> Iterator[list[Visitor]]:
    batch: list[Visitor] = []
    for visitor in visitors:
        batch.append(visitor)
        if len(batch) == MAX_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
