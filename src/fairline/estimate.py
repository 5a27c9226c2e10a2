"""How long someone will wait: a value and an honest range, from the measured drain of the line.

People ahead go in at the rate set, as long as there is room; once the inside is full they go in as others come out.
Some of them give up first. So the line ahead, a(t), shrinks by `a' = −d − θ·a`: `d` people a second let in, `θ` the
share that gives up each second.
"""

from __future__ import annotations

import math

from msgspec import Struct

from fairline.queue import Admission, QueueSettings, QueueStatus, QueueView

#: What the drain itself may be off by, beyond chance: stays and patience change during an evening.
DRIFT = 0.1
#: How many standard deviations the range spans to each side: nine of ten waits fall inside if the drain holds.
SPREAD = 1.64


class Wait(Struct, frozen=True):
    """Seconds: the likeliest wait, and the range it will most likely fall in."""

    seconds: float
    low: float
    high: float


def estimate(position: int, settings: QueueSettings, view: QueueView) -> Wait | None:
    """The wait of whoever stands at `position`, or None where nothing honest can be said."""
    if settings.status is not QueueStatus.ACTIVE or (settings.stock_url and settings.stock is None):
        return None
    left = view.stock_left(settings.stock)
    if left is not None and left < position:
        return None  # sold out before their turn, unless someone inside gives theirs back
    if settings.admission is Admission.MANUAL:
        return _spread(position, view.call_rate, _time_to_clear(position, view.call_rate, view.leave_rate))
    rate, room = settings.admission_rate, max(0, settings.max_active - view.inside)
    if rate <= 0:
        return None
    # Room is never the gate while those ahead fit in; later arrivals wait for people to come out.
    outflow = settings.max_active / view.stay_seconds if view.stay_seconds > 0 else math.inf
    if outflow >= rate or position <= room:
        return _spread(position, rate, _time_to_clear(position, rate, view.leave_rate))
    fill = _time_to_fill(room, rate, view, settings.max_active)
    passed = min(position, rate * fill)
    seconds = _time_to_clear(passed, rate, view.leave_rate)
    if position > passed:
        seconds += _time_to_clear(position - passed, outflow, view.leave_rate)
    return _spread(position, position / seconds if seconds > 0 else rate, seconds)


def _time_to_fill(room: int, rate: float, view: QueueView, max_active: int) -> float:
    """How long the inside takes to fill at `rate`, with people coming out meanwhile."""
    # inside' = rate − inside / stay, from the present number up to max_active; the caller knows rate > outflow.
    if room <= 0:
        return 0.0
    level = rate * view.stay_seconds
    return view.stay_seconds * math.log((level - view.inside) / (level - max_active))


def _time_to_clear(people: float, drain: float, leave_rate: float) -> float:
    """Seconds until `people` are gone, by admission and by giving up."""
    if drain <= 0:
        return math.inf
    if leave_rate * people < 1e-6 * drain:
        return people / drain
    return math.log1p(leave_rate * people / drain) / leave_rate


def _spread(position: int, drain: float, seconds: float) -> Wait | None:
    if not math.isfinite(seconds):
        return None
    # Arrivals at the door are close to random, so the count has a deviation of its root; a tick adds up to a second.
    chance = SPREAD * math.sqrt(position) / drain
    off = chance + DRIFT * seconds
    return Wait(seconds=round(seconds, 1), low=round(max(0.0, seconds - off), 1), high=round(seconds + off + 1, 1))
