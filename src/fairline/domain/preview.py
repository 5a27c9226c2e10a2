"""The preview of a settings change: how it would affect the line, measured by the wait of the last person in it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus


class Why(StrEnum):
    """Why no wait can be estimated."""

    NOBODY_WAITS = "nobody_waits"
    NOT_ACTIVE = "not_active"
    """The queue is paused or in maintenance."""
    STOCK_UNKNOWN = "stock_unknown"
    STOCK_SHORT = "stock_short"
    """There is not enough stock left for the last person."""
    NOT_CALLED_YET = "not_called_yet"
    """Staff call people, and have called nobody recently."""
    RATE_ZERO = "rate_zero"
    STAYS_UNKNOWN = "stays_unknown"
    """Not everyone fits inside, and nobody has come out yet."""


class Outlook(Struct, frozen=True):
    """How the line will drain with some settings: when the last person is let in, or why that is not known."""

    settings: QueueSettings
    wait: Wait | None
    clears: int | None
    """When the last person is let in, in milliseconds since 1970."""
    why: Why | None


def outlook(settings: QueueSettings, snapshot: QueueSnapshot) -> Outlook:
    """How the current line drains if these settings apply from now on."""
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
