"""How long someone will wait: a value and an honest range, from the drain of the line.

The line drains in phases. People go in at the rate set while there is room; once the inside is full, one goes in as one
comes out; where staff call them, as fast as desks took lately from one call to the next, for those that are open, or as
fast as people were called lately where that is not known. Meanwhile some give up. So in a phase that lets in `d` people
a second, those ahead, a(t), shrink by `a' = −d − θ·a`, where `θ` is the share that gives up each second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from fairline.queue import Admission, QueueSettings, QueueStatus, QueueView

#: What a drain may be off by even if it was measured without error: stays and patience change during an evening.
DRIFT = 0.1
#: How many standard deviations the range spans to each side: nine of ten waits fall inside if the drain holds.
SPREAD = 1.64
#: Nobody is let in between ticks.
TICK_SECONDS = 1.0
#: What the store measures fades: its mean stay is worth so many stays, its rate of calls those of so many seconds.
STAYS_SEEN, CALL_SECONDS_SEEN = 100, 1200
#: From fewer calls nothing is told of how fast desks are.
CYCLES_NEEDED = 3


class Wait(Struct, frozen=True):
    """Seconds: the likeliest wait, and the range it will most likely fall in."""

    seconds: float
    low: float
    high: float


class Phase(NamedTuple):
    """Some time in which the line drains evenly."""

    lasts: float
    drain: float
    """People a second."""
    seen: float
    """From how many observations the drain is known: without end where it is set, and kept like clockwork."""


class Forecast:
    """How the line will drain, as far as its queue's settings and present state tell: good for everyone in it."""

    __slots__ = ("_last", "_leave_rate", "_phases")

    def __init__(self, settings: QueueSettings, view: QueueView) -> None:
        left = view.stock_left(settings.stock)
        held = settings.status is not QueueStatus.ACTIVE or settings.stock_unknown
        #: The last position there is something left for, unless someone inside gives theirs back.
        self._last = 0.0 if held else math.inf if left is None else float(left)
        manual = settings.admission is Admission.MANUAL
        self._phases = _called(view) if manual else _let_in(settings, view)
        self._leave_rate = view.leave_rate

    def last_within(self, seconds: float, most: int) -> int | None:
        """The last position, up to `most`, whose turn comes within so many seconds; None where all of them may."""
        last = self.wait(most)
        if last is None or last.seconds <= seconds:
            return None  # where nothing is known of the end of the line, nobody is sent away for it
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            wait = self.wait(middle)
            if wait is not None and wait.seconds > seconds:
                high = middle
            else:
                low = middle
        return low

    def wait(self, position: int) -> Wait | None:
        """The wait of whoever stands at `position`, or None where nothing honest can be said."""
        return _wait(position, self._phases, self._leave_rate) if position <= self._last else None


def _called(view: QueueView) -> list[Phase]:
    """Staff go on calling as they did: so many desks, each as fast as desks were lately."""
    if view.desks_open and view.cycles >= CYCLES_NEEDED and view.cycle_seconds > 0:
        return [Phase(math.inf, view.desks_open / view.cycle_seconds, view.cycles)]
    return [Phase(math.inf, view.call_rate, CALL_SECONDS_SEEN * view.call_rate)]


def _let_in(settings: QueueSettings, view: QueueView) -> list[Phase]:
    """The rate is the gate until the inside is full, if it ever is; then room is."""
    rate, most, inside, stay = settings.admission_rate, settings.max_active, view.inside, view.stay_seconds
    if stay <= 0:  # nobody has come out yet, so who does not fit in waits for we do not know what
        return [Phase(max(0, most - inside) / rate if rate else 0.0, rate, math.inf)]
    phases = []
    if inside > most:  # max_active was lowered, and inside' = −inside / stay
        phases.append(Phase(stay * math.log(inside / most), 0.0, STAYS_SEEN))
        inside = most
    outflow, level = most / stay, rate * stay
    if rate <= outflow:
        return [*phases, Phase(math.inf, rate, math.inf)]
    # inside' = rate − inside / stay, which would end at `level`
    fill = stay * math.log((level - inside) / (level - most))
    return [*phases, Phase(fill, rate, math.inf), Phase(math.inf, outflow, STAYS_SEEN)]


def _wait(position: int, phases: Sequence[Phase], leave_rate: float) -> Wait | None:
    """Go through the phases until those ahead are gone, and one more is let in."""
    ahead, seconds, clockwork = position - 1.0, 0.0, 0.0
    for lasts, drain, seen in phases:
        needed = _time_to_clear(ahead, drain, leave_rate) + 1 / drain if drain > 0 else math.inf
        here = min(needed, lasts)
        seconds += here
        clockwork += drain * here if math.isinf(seen) else 0.0
        if needed <= lasts:
            return _range(seconds, drain, position - clockwork, seen) if math.isfinite(needed) else None
        ahead = _ahead_after(lasts, ahead, drain, leave_rate)
    return None


def _time_to_clear(ahead: float, drain: float, leave_rate: float) -> float:
    """Seconds until `ahead` people are gone, by admission and by giving up."""
    share = leave_rate / drain
    return ahead / drain if abs(share * ahead) < 1e-6 else math.log1p(share * ahead) / leave_rate


def _ahead_after(seconds: float, ahead: float, drain: float, leave_rate: float) -> float:
    """How many of `ahead` are still there after some time."""
    gone = -math.expm1(-leave_rate * seconds)
    return ahead * (1 - gone) - drain * (gone / leave_rate if leave_rate > 1e-9 else seconds)


def _range(seconds: float, drain: float, by_chance: float, seen: float) -> Wait:
    # Who gives up, comes out or is called does so at random, so their count has a deviation of about its root.
    chance = SPREAD * math.sqrt(max(0.0, by_chance)) / drain
    measured = math.hypot(DRIFT, SPREAD / math.sqrt(seen))
    off = math.hypot(chance, measured * seconds) + TICK_SECONDS
    return Wait(seconds, max(0.0, seconds - off), seconds + off)
