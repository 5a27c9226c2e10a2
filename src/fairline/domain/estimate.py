"""The estimate of a wait: a value and a range, from how fast the line drains. docs/explanation/waits.md explains it.

The line drains in phases. While there is free capacity inside, people go in at the configured rate, like clockwork:
what is left of the next token is known. Once the inside is full, one person goes in when another comes out. Where staff
call people, each open desk calls again when it has served someone. Meanwhile, some people give up, and some with
priority go ahead. So in a phase that admits `d` people a second, the number of people ahead, a(t), shrinks by
`a' = −d − θ·a`, where `θ` is the share that gives up each second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec import Struct

from fairline.domain.desk_phases import call_phases, doubtful_phases
from fairline.domain.patience import Patience
from fairline.domain.phase import Phase
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus

#: The error of what was measured, however often: stays and service times change during a day.
DRIFT = 0.05
#: Standard deviations on each side of the range: nine of ten waits are inside it if the drain stays the same.
SPREAD = 1.64
#: The time between two ticks, in which nobody is let in.
TICK_SECONDS = 1.0
#: How early or late a tick may be.
TICK_JITTER = 0.5
#: Where the true mean stay lies between the measure that is too short (0) and the one that is too long (1).
NEARER = 0.8
#: With fewer calls, nobody is turned away. A person who is shown too long a wait still has a place; a person who is
#: turned away has none.
CALLS_TO_CLOSE = 5
#: With this many standard deviations between those inside and the capacity, the inside is never full.
NEVER_FULL = 2.5
#: How many may have left for each one counted, until those who vanish are noticed for the first time.
UNNOTICED = 3.0
#: How much of the measured overtaking is in doubt.
OVERTAKING_DOUBT = 0.6


class Wait(Struct, frozen=True):
    """A wait in seconds: the most likely value, and the range it will most likely be in."""

    seconds: float
    low: float
    high: float

    @property
    def rounded(self) -> tuple[int, int, int]:
        """The wait as people see it: in whole seconds, with a range that is not narrower."""
        return round(self.seconds), int(self.low), int(self.high) + 1


class Course(NamedTuple):
    """How a person comes to the head of the line."""

    exact: float
    """The seconds in which people are let in like clockwork."""
    measured: float
    """The seconds after them, in phases whose drain was measured."""
    people: float
    """How many are let in during those."""
    phase: Phase
    """The phase in which it is the person's turn."""


class Forecast:
    """How the line will drain, by the queue's settings and present state. One forecast serves everyone in the line."""

    __slots__ = (
        "_can_turn_away",
        "_credit",
        "_fewest",
        "_last",
        "_manual",
        "_most",
        "_phases",
        "_settings",
        "_snapshot",
        "_stopped",
    )

    def __init__(self, settings: QueueSettings, snapshot: QueueSnapshot) -> None:
        left = snapshot.stock_left(settings.stock)
        self._settings, self._snapshot = settings, snapshot
        self._stopped = settings.status is not QueueStatus.ACTIVE or settings.stock_unknown
        #: The last position for which there is stock, unless someone inside returns theirs.
        self._last = math.inf if left is None else float(left)
        self._manual = manual = settings.by_hand
        self._credit = 0.0 if manual else min(tokens_of(settings, snapshot), self._free)
        phases = call_phases(settings, snapshot) if manual else _admission_phases(settings, snapshot, self._credit)
        #: Empty if the line does not drain at all.
        self._phases = self._fewest = self._most = phases if any(phase.drain for phase in phases) else []
        if manual and self._phases and snapshot.silences:
            self._fewest, self._most = doubtful_phases(settings, snapshot, self._phases)
        needed = min(CALLS_TO_CLOSE, settings.wait_sample) if manual else 0
        #: Whether the drain is known well enough to turn people away because of it.
        self._can_turn_away = all(phase.seen >= needed for phase in phases)

    @property
    def _free(self) -> float:
        return float(max(0, self._settings.max_active - self._snapshot.inside))

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

    def wait(self, position: int, joined: int | None = None) -> Wait | None:
        """The wait at `position`, for someone who joined at this moment (None is now). None if it cannot be
        estimated."""
        if self._stopped or position > self._last or not self._phases:
            return None
        return self._wait(position, joined)

    def at_least(self, position: int) -> float | None:
        """Where there is no estimate: the shortest wait that the rate allows once people are let in again. None if that
        is not known either, or if there is nothing left for this position."""
        rate = self._settings.admission_rate
        if self._manual or rate <= 0 or position > self._last:
            return None
        return max(0.0, position - max(self._credit, 0.0)) / rate

    @property
    def people_per_minute(self) -> float | None:
        """How fast people go in while the line drains; None if that is not known."""
        if self._phases:
            return 60 * self._phases[-1].drain
        return None if self._manual else 60 * self._settings.admission_rate or None

    def _wait(self, position: int, joined: int | None) -> Wait | None:
        leave = self._snapshot.leave_rate
        low_leave = high_leave = leave
        if leave > 0:
            leave, low_leave, high_leave = self._leaving(position, joined)
        course = self._course(self._phases, position, leave)
        if course is None:
            return None
        early = late = course
        if high_leave > low_leave or self._fewest is not self._most:
            early = self._course(self._most, position, high_leave) or course
            late = self._course(self._fewest, position, low_leave) or course
        overtaken = self._overtaken(position, course)
        tick = 0.0 if self._manual else TICK_SECONDS
        least, most = _spread(course)
        seconds, drain = course.exact + course.measured, course.phase.drain
        # How many of those ahead leave, and how many go ahead, is chance too.
        gone = position - 1 - course.people - course.exact * drain if leave > 0 else 0.0
        by_chance = SPREAD * math.sqrt(max(0.0, gone)) / drain if math.isinf(course.phase.seen) else 0.0
        passing = overtaken * OVERTAKING_DOUBT
        below, above = course.measured * (1 - least), course.measured * (most - 1)
        down = math.hypot(seconds - early.exact - early.measured, below, by_chance, passing)
        up = math.hypot(late.exact + late.measured - seconds, above, by_chance, passing)
        seconds += overtaken
        low, high = max(0.0, seconds - down - TICK_JITTER), seconds + up + tick + TICK_JITTER
        return Wait(seconds + tick / 2, low, high) if math.isfinite(high) else None

    def _leaving(self, position: int, joined: int | None) -> tuple[float, float, float]:
        """The share of those ahead that gives up each second until it is this person's turn, and its range."""
        snapshot = self._snapshot
        if not snapshot.left_by_age:
            return snapshot.leave_rate, snapshot.leave_rate, snapshot.leave_rate
        own = max(0, snapshot.now - (joined or snapshot.now)) / 1000
        oldest = max(own, (snapshot.now - snapshot.head_joined) / 1000 if snapshot.head_joined else own)
        mean, drain = (own + oldest) / 2, self._phases[-1].drain
        lasts = _time_to_clear(position - 1.0, drain, snapshot.leave_rate / 2)
        share, seen = Patience(snapshot.left_by_age, snapshot.waited_by_age).between(mean, mean + lasts)
        # A few departures may be chance by a factor.
        doubt = math.exp(SPREAD / math.sqrt(seen + 1))
        settings = self._settings
        noticed = oldest >= settings.heartbeat_timeout_seconds + settings.grace_seconds
        return share, share / doubt, share * doubt * (1 if noticed else UNNOTICED)

    def _overtaken(self, position: int, course: Course) -> float:
        """The seconds that people with priority add who will go ahead. Most go ahead of the back of the line only."""
        snapshot = self._snapshot
        if snapshot.pass_rate <= 0 or not course.phase.drain:
            return 0.0
        depth = min(1.0, position / max(1, snapshot.waiting))
        return (course.exact + course.measured) * min(1.0, snapshot.pass_rate * depth / course.phase.drain)

    def _course(self, phases: list[Phase], position: int, leave: float) -> Course | None:
        """Go through the phases until everyone ahead is gone and one more person is let in."""
        ahead, exact, measured, people = position - 1.0 - self._credit, 0.0, 0.0, 0.0
        if self._manual and phases[0].places > 0:  # desks are in the middle of their services
            ahead = max(-0.5, ahead - (1 - phases[0].variance) / 2)
        for phase in phases:
            lasts, drain, seen = phase.lasts, phase.drain, phase.seen
            needed = _time_until_in(ahead, drain, leave) if drain > 0 else math.inf
            if needed <= lasts and math.isinf(needed):
                return None
            in_phase = min(needed, lasts)
            if math.isinf(seen):
                exact += in_phase
            else:
                measured += in_phase
                people += drain * in_phase
            if needed <= lasts:
                return Course(exact, measured, people, phase)
            ahead = _ahead_after(lasts, ahead, drain, leave)
        return None


def _spread(course: Course) -> tuple[float, float]:
    """The range of the measured part of a wait, as factors of it."""
    if course.measured <= 0:
        return 1.0, 1.0
    _, _, seen, variance, places = course.phase
    people = max(1.0, course.people)
    # Over many people the times at each place even out; the next few calls of several desks come at random.
    by_chance = (variance * people + max(0.0, 1 - variance) * min(people, places) / 4) / people**2
    known = variance / seen if math.isfinite(seen) else 0.0
    total = min(4.0, by_chance + known + DRIFT**2)
    return _quantile(total, -SPREAD), _quantile(total, SPREAD)


def _quantile(variance: float, deviations: float) -> float:
    """A quantile of the gamma distribution with mean 1 and this variance (Wilson and Hilferty)."""
    return max(0.0, 1 - variance / 9 + deviations * math.sqrt(variance) / 3) ** 3


def tokens_of(settings: QueueSettings, snapshot: QueueSnapshot) -> float:
    """The tokens in the bucket: how many people go in at the next tick."""
    rate, size = settings.admission_rate, settings.bucket
    if not snapshot.tokens_at:
        return size
    more = rate * max(0, snapshot.now - snapshot.tokens_at) / 1000
    return min(snapshot.tokens + more, max(size, snapshot.tokens + 2 * rate * TICK_SECONDS))


def _admission_phases(settings: QueueSettings, snapshot: QueueSnapshot, credit: float) -> list[Phase]:
    """The rate limits admission until the inside is full, if it ever is; from then on, the capacity does. The `credit`
    of the bucket goes in at once."""
    rate, most, inside = settings.admission_rate, settings.max_active, snapshot.inside + credit
    stay, seen = stay_of(snapshot)
    if stay <= 0:  # nobody has come out yet, so the wait of those who do not fit in is unknown
        return [Phase(max(0.0, most - inside) / rate if rate else 0.0, rate, math.inf)]
    phases = []
    if inside > most:  # max_active was lowered, and inside' = −inside / stay
        phases.append(Phase(stay * math.log(inside / most), 0.0, seen, 1.0, most))
        inside = most
    # Someone who comes out makes room until the next tick only.
    outflow, level = most / (stay + TICK_SECONDS), rate * stay
    if rate <= outflow or level <= most:
        return [*phases, _nearly_full(rate, most, level, seen)]
    # inside' = rate − inside / stay, which would end at `level`
    fill = stay * math.log((level - inside) / (level - most))
    return [*phases, Phase(fill, rate, math.inf), Phase(math.inf, outflow, seen, 1.0, most)]


def _nearly_full(rate: float, most: int, level: float, seen: float) -> Phase:
    """People go in at the rate, except while the inside happens to be full (Erlang's loss, for many places)."""
    apart = (most - level) / math.sqrt(level) if level > 0 else math.inf
    if apart > NEVER_FULL:
        return Phase(math.inf, rate, math.inf)
    below = (1 + math.erf(apart / math.sqrt(2))) / 2
    lost = math.exp(-(apart**2) / 2) / math.sqrt(2 * math.pi) / below / math.sqrt(level)
    return Phase(math.inf, rate * (1 - min(0.5, lost)), seen, 1.0, most)


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


def _time_until_in(ahead: float, drain: float, leave_rate: float) -> float:
    """Seconds until `ahead` people are gone and one more is let in. Below 0, as many are let in besides."""
    if ahead < 0:
        return max(0.0, ahead + 1) / drain
    return _time_to_clear(ahead, drain, leave_rate) + 1 / drain


def _time_to_clear(ahead: float, drain: float, leave_rate: float) -> float:
    """Seconds until `ahead` people are gone, because they were admitted or gave up."""
    share = leave_rate / drain
    return ahead / drain if abs(share * ahead) < 1e-6 else math.log1p(share * ahead) / leave_rate


def _ahead_after(seconds: float, ahead: float, drain: float, leave_rate: float) -> float:
    """How many of `ahead` people are still there after `seconds`."""
    gone = -math.expm1(-leave_rate * seconds)
    return ahead * (1 - gone) - drain * (gone / leave_rate if leave_rate > 1e-9 else seconds)
