"""Notes what people were told of their wait, a little later and together, so that it can be compared with the truth.

It is a sample: the first of a queue all, then one in ten. What cannot be written is lost, for no answer may be delayed
by it and no figure needs them all.
"""

from __future__ import annotations

from collections import defaultdict

import structlog

from fairline.aio.debounce import Debounced
from fairline.domain.estimate import Wait
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError
from fairline.store import MAX_BATCH, EstimateSample, Store

log = structlog.get_logger()

#: Seconds that a sample is kept before it is written.
DELAY_SECONDS = 1.0
#: Of these tickets all are noted, then one in so many.
ALL_UP_TO, ONE_IN = 200, 10
#: More than one second brings; a store that is away for longer costs us the sample, not the memory.
MOST = 10_000


def sampled(number: int) -> bool:
    """Whether a ticket is one of those noted."""
    return number <= ALL_UP_TO or number % ONE_IN == 0


class EstimateSamples:
    """What was shown since it was last written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shown: defaultdict[QueueId, list[EstimateSample]] = defaultdict(list)
        self._soon = Debounced(self.write, DELAY_SECONDS)

    def note(self, queue: QueueId, number: int, wait: Wait) -> None:
        """Someone was told a wait; it is written within about a second."""
        shown = self._shown[queue]
        if len(shown) < MOST:
            shown.append(EstimateSample(number, *wait.rounded))
        self._soon.ask()

    async def write(self) -> None:
        """Write what was noted, or lose it."""
        noted, self._shown = self._shown, defaultdict(list)
        for queue, shown in noted.items():
            try:
                for first in range(0, len(shown), MAX_BATCH):
                    await self._store.record_estimates(queue, shown[first : first + MAX_BATCH])
            except FairlineError as error:
                log.debug("estimates.not_recorded", queue=queue, error=error.message, lost=len(shown))

    async def close(self) -> None:
        """Write what is left, after what is being written."""
        await self._soon.close()
