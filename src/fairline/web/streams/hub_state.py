"""What the hub remembers about a queue that has streams in its worker."""

from __future__ import annotations

import math

from fairline.domain.queue_settings import QueueSettings
from fairline.service.answers import StatusAnswer
from fairline.web.api.wire import moment
from fairline.web.server.http import encode


class QueueState:
    """What the loop remembers about a queue that has streams here."""

    __slots__ = (
        "_ahead",
        "_counts_down",
        "after",
        "alive_at",
        "asked_at",
        "away",
        "heartbeat_at",
        "held_until",
        "leaving",
        "moved",
        "moved_at",
        "refreshed_at",
        "return_at",
        "waiting",
    )

    def __init__(self, after: str, now: float, alive_at: float) -> None:
        self.after = after
        """The id of the last event that was read."""
        self.moved = True
        """Whether the line has moved since all tickets were last refreshed."""
        self.moved_at = 0
        """When the line first moved since then, by the store's clock."""
        self.refreshed_at = 0.0
        """When all tickets were last refreshed, by our own clock."""
        self.heartbeat_at = now
        """When the next heartbeat of all tickets is due."""
        self.leaving: set[int] = set()
        """Tickets whose page was closed, while they have a stream here."""
        self.return_at = now
        """When those that still have a stream are brought back."""
        self.alive_at = alive_at
        """When the next keep-alive is due."""
        self.asked_at = math.inf
        """Since when the store is asked; infinite while it is not."""
        self.away = False
        """Whether the streams were told that the store does not answer."""
        self.waiting = 0
        """How many people wait, as last read."""
        self.held_until: int | None = None
        """Until when the last heartbeat keeps the places of open streams, by the store's clock."""
        self._ahead = 0.0
        """How far the store's clock is ahead of our own, in milliseconds."""
        self._counts_down = False
        """Whether people wait for a start."""

    def heard(self, last: StatusAnswer, now: float) -> None:
        """All streams have given a heartbeat; `last` is one of the answers."""
        settings, snapshot = last.settings, last.snapshot
        self.waiting = snapshot.waiting
        seconds = settings.heartbeat_timeout_seconds and settings.heartbeat_timeout_seconds + settings.grace_seconds
        self.held_until = snapshot.now + round(seconds * 1000) if seconds else None
        self._ahead = snapshot.now - 1000 * now
        self._counts_down = settings.held_back

    def alive(self, now: float) -> bytes:
        """The data of an `alive` event."""
        held = {"held_until": moment(self.held_until)} if self.held_until else {}
        clock = {"now": moment(round(self._ahead + 1000 * now))} if self._counts_down else {}
        return encode({"queue_length": self.waiting, **held, **clock})

    def refreshed(self, now: float) -> None:
        """All streams have received their status of this moment."""
        self.moved_at, self.moved, self.refreshed_at = 0, False, now


def until_next_heartbeat(settings: QueueSettings) -> float:
    """Seconds between two heartbeats of tickets with an open stream. At most half the grace, and then `until_return`:
    somebody who closes one of two pages, or reloads one, must be back before the grace is over."""
    return min(settings.heartbeat_interval_seconds, max(1.0, settings.grace_seconds / 2))


def until_return(settings: QueueSettings) -> float:
    """Seconds after which somebody who was seen leaving and still has a stream is brought back."""
    return min(1.0, settings.grace_seconds / 4)
