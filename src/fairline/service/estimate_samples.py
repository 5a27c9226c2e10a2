"""Samples of estimated waits: records the waits that people were shown, to compare them with the actual waits.

The first tickets of a queue are all sampled, then one in ten, which stands for ten: nobody weighs more than others. Of
each there are two samples: the wait that was shown at joining, and the one shown halfway. Samples are written together
a little later. A sample that cannot be written is lost: no answer may be delayed by it, and no statistic needs all of
them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import structlog

from fairline.aio.debounce import Debounced
from fairline.domain.estimate import Wait
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError
from fairline.service.answers import StatusAnswer
from fairline.store import MAX_BATCH, EstimateSample, Store

log = structlog.get_logger()

#: Seconds before a sample is written.
DELAY_SECONDS = 1.0
#: All tickets up to this number are sampled, then one in `ONE_IN`.
ALL_UP_TO, ONE_IN = 200, 10
#: Between two heartbeats, the wait so far grows by one interval, and what is left shrinks by one.
HALFWAY_BEATS = 3
#: More samples than one second brings. If the store is unavailable for longer, further samples are dropped, so that
#: memory does not grow.
MOST = 10_000


def sampled(number: int) -> bool:
    """Whether the wait of this ticket is recorded."""
    return number <= ALL_UP_TO or number % ONE_IN == 0


class EstimateSamples:
    """The samples that were noted since the last write."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shown: defaultdict[QueueId, list[EstimateSample]] = defaultdict(list)
        self._debounced = Debounced(self.write, DELAY_SECONDS)

    def note(self, queue: QueueId, number: int, wait: Wait, told: int = 0) -> None:
        """Note the wait that a ticket was shown, at joining (0) or later; it is written within about a second."""
        shown = self._shown[queue]
        if len(shown) < MOST:
            shown.append(EstimateSample(number, *wait.rounded, told, 1 if number <= ALL_UP_TO else ONE_IN))
        self._debounced.ask()

    def note_halfway(self, queue: QueueId, answers: Sequence[StatusAnswer | FairlineError]) -> None:
        """Note the waits that people are shown halfway: as soon as they have waited as long as they still will. The
        store keeps the first."""
        for each in answers:
            if isinstance(each, FairlineError):
                continue
            ticket_status, now = each.ticket_status, each.snapshot.now
            if not ticket_status.position or not sampled(ticket_status.number):
                continue
            waited, wait = (now - ticket_status.joined) / 1000, each.wait
            if wait and 0 <= waited - wait.seconds < HALFWAY_BEATS * each.settings.heartbeat_interval_seconds:
                self.note(queue, ticket_status.number, wait, now)

    async def write(self) -> None:
        """Write the noted samples; those that cannot be written are dropped."""
        noted, self._shown = self._shown, defaultdict(list)
        for queue, shown in noted.items():
            try:
                for first in range(0, len(shown), MAX_BATCH):
                    await self._store.record_estimates(queue, shown[first : first + MAX_BATCH])
            except FairlineError as error:
                log.debug("estimates.not_recorded", queue=queue, error=error.message, lost=len(shown))

    async def close(self) -> None:
        """Wait for the present write, then write the rest."""
        await self._debounced.close()
