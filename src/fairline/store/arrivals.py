"""Who joins, when they may, what they get, and the wait that they were shown."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from fairline.domain.ticket import Came, Person, Ticket


class Arrival(Struct, frozen=True, kw_only=True):
    """Someone who wants to join. Secrets and addresses are digests already; an empty one was not given."""

    client: bytes = b""
    user: bytes = b""
    phone: bytes = b""
    email: bytes = b""
    """Of the mailbox: only to limit how often it is used."""
    address: bytes = b""
    key: bytes = b""
    """Digest of the idempotency key and its caller."""
    fingerprint: bytes = b""
    """Digest of the body: the same key with another body is a conflict."""
    priority: int = 0
    pass_id: str = ""
    limited: bool = True
    """False for staff, to whom the limits of a queue do not apply."""
    through: bool = False
    """Joins and is admitted in one step, if nobody waits and there is capacity; otherwise AtCapacity."""
    series: str = ""
    """The series of the queue that its label counts in; empty is the first one."""
    on_hold: bool = False
    """Joins on hold, to be released later."""
    missing: str = ""
    """A field that the queue requires and that was left out: no new ticket is given without it."""
    came: Came | None = None
    """The ticket of another queue that this one replaces: remembered until this one is released or ends."""
    group: tuple[int, int] | None = None
    """The group to join: the number of its first ticket, and when that one joined."""
    person: Person = Person()


class JoinCalendar(Struct, frozen=True):
    """The times a join needs, worked out from the settings at `version`, because a store has no time zones. The step
    compares them with its own clock. Times are in milliseconds."""

    version: int
    days: tuple[int, ...] = ()
    """When days begin in the queue's time zone: yesterday, today and tomorrow."""
    open: tuple[tuple[int, int], ...] | None = None
    """When the queue is open, from and until, around now; None if it always is."""
    longest: int | None = None
    """The longest line that can still be served today; None if there is no such limit."""


class Joined(Struct, frozen=True):
    """The ticket of an arrival: a new one, or the one that its holder already has."""

    ticket: Ticket
    created: bool
    proven: bool
    """The caller has proved to be its holder: the ticket is new, or was found by the same client, or by the idempotency
    key and has not moved to another device since."""
    by_key: bool = False
    """It was found by the idempotency key."""


class EstimateSample(NamedTuple):
    """The wait that someone was shown, in seconds."""

    number: int
    seconds: float
    low: float
    high: float
    told: int = 0
    """When, in milliseconds since 1970; 0 is when they joined. A ticket has one sample from then and one from later."""
    weight: int = 1
    """How many people it stands for."""
