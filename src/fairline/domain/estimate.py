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

from fairline.domain.queue import QueueSettings, QueueSnapshot, QueueStatus

#: What a drain may be off by even if it was measured without error: stays and patience change during an evening.
DRIFT = 0.1
#: How many standard deviations the range spans to each side: nine of ten waits fall inside if the drain holds.
SPREAD = 1.64
#: Nobody is let in between ticks.
TICK_SECONDS = 1.0
#: Of the two measures of a stay, how far the truth is from the one that is too short to the one that is too long.
NEARER = 0.8
#: The rate of calls that the store measures fades by so many seconds.
FADE_SECONDS = 600
#: From fewer calls nothing is told of how fast staff call: one that came after ten minutes would make hours of a line.
CALLS_NEEDED = 3
#: From fewer calls nobody is sent away: who was told too long a wait has their place still, who was sent away has none.
CALLS_TO_CLOSE = 5


class Wait(Struct, frozen=True):
    """Seconds: the likeliest wait, and the range it will most likely fall in."""

    seconds: float
    low: float
    high: float

    @property
    def rounded(self) -> tuple[int, int, int]:
        """As people are told it: whole seconds, and no narrower a range."""
        return round(self.seconds), int(self.low), int(self.high) + 1


class Phase(NamedTuple):
    """Some time in which the line drains evenly."""

    lasts: float
    drain: float
    """People a second."""
    seen: float
    """From how many observations the drain is known: without end where it is set, and kept like clockwork."""


class Forecast:
    """How the line will drain, as far as its queue's settings and present state tell: good for everyone in it."""

    __slots__ = ("_closes", "_last", "_leave_rate", "_phases")

    def __init__(self, settings: QueueSettings, snapshot: QueueSnapshot) -> None:
        left = snapshot.stock_left(settings.stock)
        stopped = settings.status is not QueueStatus.ACTIVE or settings.stock_unknown
        #: The last position there is something left for, unless someone inside gives theirs back.
        self._last = 0.0 if stopped else math.inf if left is None else float(left)
        manual = settings.by_hand
        phases = _called(snapshot) if manual else _let_in(settings, snapshot)
        #: Where nothing drains, there is nothing to go through.
        self._phases = phases if any(phase.drain for phase in phases) else []
        needed = min(CALLS_TO_CLOSE, settings.wait_sample) if manual else 0
        #: Whether enough is known of the drain to send people away for it.
        self._closes = all(phase.seen >= needed for phase in phases)
        self._leave_rate = snapshot.leave_rate

    def last_within(self, seconds: float, most: int) -> int | None:
        """The last position, up to `most`, whose turn may come within so many seconds if all goes well; None where that
        is so for all of them, or nothing is known."""
        if not self._closes:
            return None
        low, high = 0, 1
        while not self._is_after(high, seconds):
            if high >= most:
                return None
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_after(middle, seconds):
                high = middle
            else:
                low = middle
        return low

    def _is_after(self, position: int, seconds: float) -> bool:
        """Whether even the shortest wait that is likely is longer; not where nothing honest can be said."""
        wait = self.wait(position)
        return wait is not None and wait.low > seconds

    def wait(self, position: int) -> Wait | None:
        """The wait of whoever stands at `position`, or None where nothing honest can be said."""
        if position > self._last or not self._phases:
            return None
        return _wait(position, self._phases, self._leave_rate)


def _called(snapshot: QueueSnapshot) -> list[Phase]:
    """Staff go on calling as they did: so many desks, each as fast as desks were lately."""
    if snapshot.desks_open and snapshot.cycles >= CALLS_NEEDED and snapshot.cycle_seconds > 0:
        return [Phase(math.inf, snapshot.desks_open / snapshot.cycle_seconds, snapshot.cycles)]
    seen = _calls_worth(snapshot)
    return [Phase(math.inf, snapshot.call_rate, seen)] if seen >= CALLS_NEEDED else []


def _calls_worth(snapshot: QueueSnapshot) -> float:
    """How many observations the measured rate of calls is worth: early on the calls themselves; later twice as many as
    are left of them, since what fades is not forgotten at once."""
    if snapshot.calls_seen <= 0 or snapshot.call_rate <= 0:
        return 0.0
    span = snapshot.calls_seen / snapshot.call_rate
    return 2 * snapshot.calls_seen / (2 - min(1.0, span / FADE_SECONDS))


def _let_in(settings: QueueSettings, snapshot: QueueSnapshot) -> list[Phase]:
    """The rate is the gate until the inside is full, if it ever is; then room is."""
    rate, most, inside = settings.admission_rate, settings.max_active, snapshot.inside
    stay, seen = stay_of(snapshot)
    if stay <= 0:  # nobody has come out yet, so who does not fit in waits for we do not know what
        return [Phase(max(0, most - inside) / rate if rate else 0.0, rate, math.inf)]
    phases = []
    if inside > most:  # max_active was lowered, and inside' = −inside / stay
        phases.append(Phase(stay * math.log(inside / most), 0.0, seen))
        inside = most
    outflow, level = most / stay, rate * stay
    if rate <= outflow:
        return [*phases, Phase(math.inf, rate, math.inf)]
    # inside' = rate − inside / stay, which would end at `level`
    fill = stay * math.log((level - inside) / (level - most))
    return [*phases, Phase(fill, rate, math.inf), Phase(math.inf, outflow, seen)]


def stay_of(snapshot: QueueSnapshot) -> tuple[float, float]:
    """The mean stay in seconds, 0 where nobody has come out yet, and how many observations that is worth.

    Early on, those who came out are those who stay for a short time, so the mean of their stays is too short. The time
    all have spent inside, for each who came out, is too long as long as people who went in together are still there.
    The truth is between the two, mostly nearer to the latter, and they come together as the evening goes on."""
    of_those_out, seen = snapshot.stay_seconds, max(1.0, snapshot.stays_seen)
    if of_those_out <= 0 or snapshot.out_rate <= 0:
        return of_those_out, seen
    apart = -math.log(snapshot.out_rate * of_those_out)
    return of_those_out * math.exp(NEARER * apart), 1 / (1 / seen + ((1 - NEARER) * apart / SPREAD) ** 2)


def _wait(position: int, phases: Sequence[Phase], leave_rate: float) -> Wait | None:
    """Go through the phases until those ahead are gone, and one more is let in."""
    ahead, seconds, clockwork = position - 1.0, 0.0, 0.0
    for lasts, drain, seen in phases:
        needed = _time_to_clear(ahead, drain, leave_rate) + 1 / drain if drain > 0 else math.inf
        here = min(needed, lasts)
        seconds += here
        clockwork += drain * here if math.isinf(seen) else 0.0
        if needed <= lasts:
            wait = _range(seconds, drain, position - clockwork, seen) if math.isfinite(needed) else None
            return wait if wait and math.isfinite(wait.high) else None
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
