"""What was counted, as a store answers it: of a queue, of an hour, of some minutes, of a desk."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.queue import QueueSnapshot
from fairline.domain.ticket import Reason


class Estimates(Struct, frozen=True, kw_only=True):
    """How good the waits were that people were shown at joining: those of a sample who were let in since."""

    compared: int = 0
    within: int = 0
    """How many waited no less and no more than the range they were shown."""
    error_mean: float | None = None
    """By how many seconds the wait shown was off, to either side."""
    wait_mean: float | None = None
    """How long the same people waited, to set that against."""


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
    """How many waited how long: bucket b counts those from 2^(b/8) − 1 seconds on, up to the next."""
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
    """What was counted in some hours: together, and in each of them."""

    totals: Totals
    hours: list[Hour]


class Point(Struct, frozen=True, kw_only=True):
    """Some minutes of a queue; `start` is their first millisecond. Waits are those of the people admitted in them."""

    start: int
    waiting: int
    """At the end of them, as is `inside`."""
    inside: int
    joined: int = 0
    admitted: int = 0
    completed: int = 0
    expired: int = 0
    peak_waiting: int = 0
    wait_p50: float | None = None
    wait_p90: float | None = None


class Stats(Struct, frozen=True, kw_only=True):
    """A queue in figures: now, and so far."""

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
    """From joining to the call, of all who were called, together."""
    claim_seconds: float = 0.0
    """From the call to the start, of all who came, together."""
    service_seconds: float = 0.0
    """From the start to the end, of all who were served, together."""


class DeskHour(Struct, frozen=True):
    """What each desk did in one hour; `start` is its first millisecond."""

    start: int
    desks: dict[str, DeskTotals]


class DeskTallies(Struct, frozen=True):
    """What each desk did: so far, and by the hour, oldest first."""

    totals: dict[str, DeskTotals]
    hours: list[DeskHour]
