"""What goes into the operations of a store, and what comes out of them."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Came, Person, Reason, Ticket

T = TypeVar("T")


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


class Reply(Struct, Generic[T], frozen=True):
    """The answer to one call: the queue at that moment, and one item for each ticket or arrival of the call."""

    snapshot: QueueSnapshot
    items: list[T]


class Configured(Struct, frozen=True):
    """Settings with the version they are at."""

    settings: QueueSettings
    version: int


class Revision(Struct, frozen=True):
    """The settings of a queue as someone left them: `by` is the id of an admin key, empty for Fairline itself."""

    version: int
    at: int
    by: str
    settings: QueueSettings
    first: bool
    """The queue was created with these."""


class Arriving(Struct, frozen=True):
    """A ticket that is on hold until its holder has left the queue they come from."""

    ticket: Ticket
    came: Came


class Lapsed(Struct, frozen=True):
    """A ticket that a sweep ended."""

    number: int
    reason: Reason


class Swept(Struct, frozen=True):
    """The result of one step of a sweep; `more` says that more tickets are due."""

    lapsed: list[Lapsed]
    more: bool


class Closed(Struct, frozen=True):
    """The tickets that one step of closing the day ended, and where to continue; None when all is done."""

    numbers: list[int]
    cursor: str | None


class Page(Struct, frozen=True):
    """A page of a listing, and where to continue; None at its end."""

    tickets: list[Ticket]
    cursor: str | None


class PriorityPass(Struct, frozen=True):
    """A priority pass as the store keeps it."""

    id: str
    level: int
    uses: int
    used: int
    expires: int


class EstimateSample(NamedTuple):
    """The wait that someone was shown when they joined, in seconds."""

    number: int
    seconds: float
    low: float
    high: float


#: To start a session, to record activity in one, or both as needed.
Visit = Literal["start", "touch", "visit"]


class Visitor(NamedTuple):
    """Someone who comes to the site inside: the ticket, the digest of who it is, and the number of page views. With
    `joined`, only the ticket that was issued then: in a recreated queue its number is somebody else's.

    `by` has one part or two: a secret that only one client has, then the browser at its address. A session belongs to
    `by` if it was started by the same value, or by one that ends with it: a client without its secret is recognised by
    its browser. To start a session again takes the whole value."""

    number: int
    by: bytes
    views: int = 1
    joined: int | None = None
