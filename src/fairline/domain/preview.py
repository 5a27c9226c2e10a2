"""What a change of settings would do to the line, before it is made: the wait of whoever stands last."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueSettings, QueueSnapshot, QueueStatus


class Why(StrEnum):
    """Why nothing honest can be said of a wait."""

    NOBODY_WAITS = "nobody_waits"
    NOT_ACTIVE = "not_active"
    """The queue is paused or in maintenance."""
    STOCK_UNKNOWN = "stock_unknown"
    STOCK_SHORT = "stock_short"
    """There is not enough left for the last one."""
    NOT_CALLED_YET = "not_called_yet"
    """Staff call people, and have called nobody lately."""
    RATE_ZERO = "rate_zero"
    STAYS_UNKNOWN = "stays_unknown"
    """They do not all fit in, and nobody has come out yet."""


class Outlook(Struct, frozen=True):
    """How a line will drain with some settings: when its last one is let in, or why that cannot be said."""

    settings: QueueSettings
    wait: Wait | None
    clears: int | None
    """Milliseconds since 1970 at which the last one is let in."""
    why: Why | None


def outlook(settings: QueueSettings, snapshot: QueueSnapshot) -> Outlook:
    """The line as it stands, let in by these settings from now on."""
    wait = Forecast(settings, snapshot).wait(snapshot.waiting) if snapshot.waiting else None
    if wait is None:
        return Outlook(settings, None, None, _why_not(settings, snapshot))
    return Outlook(settings, wait, snapshot.now + round(wait.seconds * 1000), None)


def _why_not(settings: QueueSettings, snapshot: QueueSnapshot) -> Why:
    left = snapshot.stock_left(settings.stock)
    if not snapshot.waiting:
        return Why.NOBODY_WAITS
    if settings.status is not QueueStatus.ACTIVE:
        return Why.NOT_ACTIVE
    if settings.stock_unknown:
        return Why.STOCK_UNKNOWN
    if left is not None and left < snapshot.waiting:
        return Why.STOCK_SHORT
    if settings.by_hand:
        return Why.NOT_CALLED_YET
    return Why.STAYS_UNKNOWN if settings.admission_rate else Why.RATE_ZERO
