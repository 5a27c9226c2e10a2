"""Idle queues: most of them, most of the time. They are skipped in most rounds, so that hundreds of them cost almost
nothing."""

from __future__ import annotations

from collections.abc import Mapping

from fairline.domain.queue import QueueId


class IdleQueues:
    """The queues that needed nothing when they were last checked. A queue rests until it has a new event, and for at
    most `rounds` rounds."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._resting: dict[QueueId, tuple[str, int]] = {}
        """The newest event of each resting queue, and for how many rounds it may still rest."""

    def round(self, newest: Mapping[QueueId, str]) -> list[QueueId]:
        """Begin a round with the newest event of each queue. Returns the queues to check."""
        self._resting = {
            queue: (event, left - 1)
            for queue, (event, left) in self._resting.items()
            if left > 0 and newest.get(queue) == event
        }
        return [queue for queue in newest if queue not in self._resting]

    def rest(self, queue: QueueId, newest: str) -> None:
        """Let a queue rest until it has an event after `newest`, which was its newest before it was checked."""
        self._resting[queue] = (newest, self._rounds - 1)
