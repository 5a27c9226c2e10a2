"""The estimate of a wait: a value and an honest range, from how fast the line drains.

The line drains in phases. While there is free capacity inside, people go in at the configured rate. Once the inside is
full, one person goes in when another comes out. Where staff call people, the line drains as fast as the open desks
recently went from one call to the next; if that is not known, as fast as people were recently called. Meanwhile, some
people give up. So in a phase that admits `d` people a second, the number of people ahead, a(t), shrinks by
`a' = −d − θ·a`, where `θ` is the share that gives up each second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus

#: The error of a drain that was measured exactly: stays and patience change during an event.
DRIFT = 0.1
#: Standard deviations on each side of the range: nine of ten waits are inside it if the drain stays the same.
SPREAD = 1.64
#: The time between two ticks, in which nobody is let in.
TICK_SECONDS = 1.0
#: Where the true mean stay lies between the measure that is too short (0) and the one that is too long (1).
NEARER = 0.8
#: The time constant with which the store's measured rate of calls fades.
FADE_SECONDS = 600
#: With fewer calls, no wait is shown where staff call: a single call after ten minutes would turn a line into hours.
CALLS_NEEDED = 3
#: With fewer calls, nobody is turned away. A person who is shown too long a wait still has a place; a person who is
#: turned away has none.
CALLS_TO_CLOSE = 5


class Wait(Struct, frozen=True):
    """A wait in seconds: the most likely value, and the range it will most likely be in."""

    seconds: float
    low: float
    high: float

    @property
    def rounded(self) -> tuple[int, int, int]:
        """The wait as people see it: in whole seconds, with a range that is not narrower."""
        return round(self.seconds), int(self.low), int(self.high) + 1


class Phase(NamedTuple):
    """A time in which the line drains at a constant rate."""

    lasts: float
    """Seconds."""
    drain: float
    """People a second."""
    seen: float
    """How many observations the drain is measured from; infinite where the drain is a setting."""


class Forecast:
    """How the line will drain, by the queue's settings and present state. One forecast serves everyone in the line."""

    __slots__ = ("_can_turn_away", "_last", "_leave_rate", "_phases")

    def __init__(self, settings: QueueSettings, snapshot: QueueSnapshot) -> None:
        left = snapshot.stock_left(settings.stock)
        stopped = settings.status is not QueueStatus.ACTIVE or settings.stock_unknown
        #: The last position for which there is stock, unless someone inside returns theirs.
        self._last = 0.0 if stopped else math.inf if left is None else float(left)
        manual = settings.by_hand
        phases = _call_phases(snapshot) if manual else _admission_phases(settings, snapshot)
        #: Empty if the line does not drain at all.
        self._phases = phases if any(phase.drain for phase in phases) else []
        needed = min(CALLS_TO_CLOSE, settings.wait_sample) if manual else 0
        #: Whether the drain is known well enough to turn people away because of it.
        self._can_turn_away = all(phase.seen >= needed for phase in phases)
        self._leave_rate = snapshot.leave_rate

    def last_within(self, seconds: float, most: int) -> int | None:
        """The last position, up to `most`, whose turn may come within `seconds` if all goes well. None if that is true
        for all positions, or if too little is known."""
        if not self._can_turn_away:
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
        """Whether even the shortest likely wait is longer than `seconds`; False if there is no estimate."""
        wait = self.wait(position)
        return wait is not None and wait.low > seconds

    def wait(self, position: int) -> Wait | None:
        """The wait at `position`, or None if it cannot be estimated."""
        if position > self._last or not self._phases:
            return None
        return _wait(position, self._phases, self._leave_rate)


def _call_phases(snapshot: QueueSnapshot) -> list[Phase]:
    """Where staff call: the open desks continue to call, each as fast as desks did recently."""
    if snapshot.desks_open and snapshot.cycles >= CALLS_NEEDED and snapshot.cycle_seconds > 0:
        return [Phase(math.inf, snapshot.desks_open / snapshot.cycle_seconds, snapshot.cycles)]
    seen = _calls_worth(snapshot)
    return [Phase(math.inf, snapshot.call_rate, seen)] if seen >= CALLS_NEEDED else []


def _calls_worth(snapshot: QueueSnapshot) -> float:
    """How many observations the measured rate of calls is worth. At first, that is the number of calls. Later, it is
    twice the faded number, because older calls fade but still count."""
    if snapshot.calls_seen <= 0 or snapshot.call_rate <= 0:
        return 0.0
    span = snapshot.calls_seen / snapshot.call_rate
    return 2 * snapshot.calls_seen / (2 - min(1.0, span / FADE_SECONDS))


def _admission_phases(settings: QueueSettings, snapshot: QueueSnapshot) -> list[Phase]:
    """The rate limits admission until the inside is full, if it ever is; from then on, the capacity does."""
    rate, most, inside = settings.admission_rate, settings.max_active, snapshot.inside
    stay, seen = stay_of(snapshot)
    if stay <= 0:  # nobody has come out yet, so the wait of those who do not fit in is unknown
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
    """The mean stay in seconds (0 if nobody has come out yet), and how many observations that is worth.

    At first, only people with short stays have come out, so the mean of their stays is too short. The time that all
    people have spent inside, divided by the number who came out, is too long while people who went in together are
    still there. The true mean is between the two, mostly nearer to the second, and the two converge over time."""
    of_those_out, seen = snapshot.stay_seconds, max(1.0, snapshot.stays_seen)
    if of_those_out <= 0 or snapshot.out_rate <= 0:
        return of_those_out, seen
    apart = -math.log(snapshot.out_rate * of_those_out)
    return of_those_out * math.exp(NEARER * apart), 1 / (1 / seen + ((1 - NEARER) * apart / SPREAD) ** 2)


def _wait(position: int, phases: Sequence[Phase], leave_rate: float) -> Wait | None:
    """Go through the phases until everyone ahead is gone and one more person is let in."""
    ahead, seconds, exact = position - 1.0, 0.0, 0.0  # `exact`: people admitted at a configured rate
    for lasts, drain, seen in phases:
        needed = _time_to_clear(ahead, drain, leave_rate) + 1 / drain if drain > 0 else math.inf
        in_phase = min(needed, lasts)
        seconds += in_phase
        exact += drain * in_phase if math.isinf(seen) else 0.0
        if needed <= lasts:
            wait = _range(seconds, drain, position - exact, seen) if math.isfinite(needed) else None
            return wait if wait and math.isfinite(wait.high) else None
        ahead = _ahead_after(lasts, ahead, drain, leave_rate)
    return None


def _time_to_clear(ahead: float, drain: float, leave_rate: float) -> float:
    """Seconds until `ahead` people are gone, because they were admitted or gave up."""
    share = leave_rate / drain
    return ahead / drain if abs(share * ahead) < 1e-6 else math.log1p(share * ahead) / leave_rate


def _ahead_after(seconds: float, ahead: float, drain: float, leave_rate: float) -> float:
    """How many of `ahead` people are still there after `seconds`."""
    gone = -math.expm1(-leave_rate * seconds)
    return ahead * (1 - gone) - drain * (gone / leave_rate if leave_rate > 1e-9 else seconds)


def _range(seconds: float, drain: float, by_chance: float, seen: float) -> Wait:
    # People give up, come out or are called at random, so their number deviates by about its square root.
    chance = SPREAD * math.sqrt(max(0.0, by_chance)) / drain
    measured = math.hypot(DRIFT, SPREAD / math.sqrt(seen))
    error = math.hypot(chance, measured * seconds) + TICK_SECONDS
    return Wait(seconds, max(0.0, seconds - error), seconds + error)
