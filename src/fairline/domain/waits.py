"""Why a wait is longer than what was told before."""

from __future__ import annotations

from enum import StrEnum

from fairline.domain.desk_phases import desks_calling, service_of
from fairline.domain.estimate import stay_of
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus

#: For how long after a change its cause is told. Everyone sends a heartbeat in this time.
TOLD_FOR_MS = 90_000
#: Only someone this near the head waits much longer because another goes ahead.
NEAR = 20
#: The inside decides how fast people go in from this share of the capacity on.
NEARLY_FULL = 0.9
#: How much longer people stay than those who have come out did, for the line to be slower than it seemed.
LONGER_STAYS = 1.5


class Cause(StrEnum):
    """Why the wait is longer than before. The stores note the first four."""

    RATE_CHANGED = "rate_changed"
    """Fewer people are let in a second."""
    CAPACITY_REDUCED = "capacity_reduced"
    """Fewer people may be inside at once."""
    DESK_CLOSED = "desk_closed"
    """A desk has closed, or calls nobody any more."""
    PAUSED = "paused"
    """The queue was paused, or the amount of stock is not known."""
    OTHERS_WENT_AHEAD = "others_went_ahead"
    """People with priority took places further ahead."""
    SOLD_OUT = "sold_out"
    """There is nothing left for this position, unless somebody gives theirs back."""
    SLOWER = "slower"
    """Those who are served or inside take longer than before."""


_NOTED = dict(enumerate(Cause, 1))


def cause_of(settings: QueueSettings, snapshot: QueueSnapshot, position: int, joined: int) -> Cause | None:
    """Why the wait at this position may be much longer than it was in the last minute and a half."""
    left = snapshot.stock_left(settings.stock)
    if settings.status is not QueueStatus.ACTIVE or settings.stock_unknown:
        return Cause.PAUSED
    if left is not None and position > left:
        return Cause.SOLD_OUT
    since = max(joined, snapshot.now - TOLD_FOR_MS)
    if snapshot.slowed_at > since:
        return _NOTED.get(snapshot.slowed)
    if snapshot.passed_at > since and position <= NEAR:
        return Cause.OTHERS_WENT_AHEAD
    return _at_desks(settings, snapshot) if settings.by_hand else _inside(settings, snapshot)


def _at_desks(settings: QueueSettings, snapshot: QueueSnapshot) -> Cause | None:
    """A desk that has fallen silent, or services that take longer."""
    mean, _, _ = service_of(settings, snapshot)
    if not snapshot.silences or mean <= 0:
        return None
    if desks_calling(snapshot, mean) < len(snapshot.silences):
        return Cause.DESK_CLOSED
    return Cause.SLOWER if max(snapshot.silences) > min(mean, snapshot.cycle_seconds or mean) else None


def _inside(settings: QueueSettings, snapshot: QueueSnapshot) -> Cause | None:
    """The inside is full of people who stay longer than those who have come out."""
    if snapshot.stay_seconds <= 0 or snapshot.inside < NEARLY_FULL * settings.max_active:
        return None
    stay, _ = stay_of(snapshot)
    return Cause.SLOWER if stay > LONGER_STAYS * snapshot.stay_seconds else None
