"""The tallies that a store answers: of a queue, of an hour, of some minutes, of a desk."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.queue import QueueSnapshot
from fairline.domain.ticket import Reason


class Accuracy(Struct, frozen=True, kw_only=True):
    """How accurate the shown waits were, for true waits of one length."""

    from_seconds: int
    to_seconds: int | None
    compared: int = 0
    within: int = 0
    error_percent: float | None = None
    """The median difference between the wait shown and the true one, in percent of the true one."""
    bias_percent: float | None = None
    """The same with its direction: above 0, waits were shorter than shown."""


class Estimates(Struct, frozen=True, kw_only=True):
    """How accurate the waits were that people were shown, at joining and halfway: a sample of those who were admitted
    since, in which each stands for as many people as were left out."""

    compared: int = 0
    within: int = 0
    """How many waited no less and no more than the range they were shown."""
    error_mean: float | None = None
    """By how many seconds the shown wait was wrong, in either direction."""
    wait_mean: float | None = None
    """How long the same people really waited, for comparison."""
    error_percent: float | None = None
    bias_percent: float | None = None
    by_wait: tuple[Accuracy, ...] = ()
    """The same by the length of the true wait; lengths that nobody waited are left out."""


class Totals(Struct, frozen=True, kw_only=True):
    """Counts over some time. Waits are those of the people admitted in it."""

    joined: int = 0
    admitted: int = 0
    returned: int = 0
    completed: int = 0
    expired: int = 0
    expired_by_reason: dict[Reason, int] = {}
    peak_waiting: int = 0
    waits: dict[int, int] = {}
    """A histogram of the waits: bucket b counts those from 2^(b/8) − 1 seconds up to the next bucket."""
    wait_mean: float | None = None
    wait_p50: float | None = None
    wait_p90: float | None = None
    wait_p99: float | None = None
    estimates: Estimates = Estimates()


class Hour(Struct, frozen=True):
    """The counts of one hour; `start` is its first millisecond."""

    start: int
    totals: Totals


class Report(Struct, frozen=True):
    """The counts of some hours: together, and of each of them."""

    totals: Totals
    hours: list[Hour]


class Point(Struct, frozen=True, kw_only=True):
    """Some minutes of a queue; `start` is their first millisecond. Waits are those of the people admitted in them."""

    start: int
    waiting: int
    """At the end of these minutes, as is `inside`."""
    inside: int
    joined: int = 0
    admitted: int = 0
    completed: int = 0
    expired: int = 0
    peak_waiting: int = 0
    wait_p50: float | None = None
    wait_p90: float | None = None


class Stats(Struct, frozen=True, kw_only=True):
    """The statistics of a queue: now, and in total."""

    snapshot: QueueSnapshot
    totals: Totals
    joins_per_minute: int
    admissions_per_minute: int
    last_admission: int | None


class DeskTotals(Struct, frozen=True, kw_only=True):
    """What one desk did over some time."""

    called: int = 0
    came: int = 0
    served: int = 0
    no_shows: int = 0
    wait_seconds: float = 0.0
    """From joining to the call: the sum over all who were called."""
    claim_seconds: float = 0.0
    """From the call to the start: the sum over all who came."""
    service_seconds: float = 0.0
    """From the start to the end: the sum over all who were served."""


class DeskHour(Struct, frozen=True):
    """What each desk did in one hour; `start` is its first millisecond."""

    start: int
    desks: dict[str, DeskTotals]


class DeskTallies(Struct, frozen=True):
    """What each desk did: in total, and by the hour, oldest first."""

    totals: dict[str, DeskTotals]
    hours: list[DeskHour]
