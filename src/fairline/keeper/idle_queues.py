"""Queues in which nothing happens: most of them, most of the time. They are not asked in every round, so that hundreds
of them cost a server next to nothing."""

from __future__ import annotations

from collections.abc import Mapping

from fairline.domain.queue import QueueId


class IdleQueues:
    """The queues that needed nothing when they were last looked at. One rests until something happens in it, which the
    id of its newest event tells; at the latest it is looked at again after so many rounds."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._resting: dict[QueueId, tuple[str, int]] = {}
        """The newest event it had then, and for how many rounds it may still rest."""

    def round(self, newest: Mapping[QueueId, str]) -> list[QueueId]:
        """Begin a round with the newest event of each queue; answers those to look at."""
        self._resting = {
            queue: (event, left - 1)
            for queue, (event, left) in self._resting.items()
            if left > 0 and newest.get(queue) == event
        }
        return [queue for queue in newest if queue not in self._resting]

    def rest(self, queue: QueueId, newest: str) -> None:
        """It needs nothing until something happens after this event, which was its newest before it was looked at."""
        self._resting[queue] = (newest, self._rounds - 1)
