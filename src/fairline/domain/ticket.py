"""Tickets: their states, the one table of transitions, and what is kept of each.

A ticket is one person's (or party's) stay in a queue. Its number is its identity within the queue.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Status(StrEnum):
    """Where a ticket is in its life. The order is the order of the codes in packed records: append only."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    ACTIVE = "active"
    COMPLETED = "completed"
    EXPIRED = "expired"


#: How long the token of a ticket is good where nobody says otherwise; a heartbeat renews it.
TOKEN_SECONDS = 7200.0
#: Those that are looked at for everyone who waits: an Enum finds its members slowly before Python 3.12.
WAITING, EXPIRED = Status.WAITING, Status.EXPIRED


class Reason(StrEnum):
    """Why a ticket expired. The order is the order of the codes in packed records: append only."""

    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    CANCELLED = "cancelled"
    LEFT = "left"
    CLAIM_TIMEOUT = "claim_timeout"
    NO_SHOW = "no_show"
    SESSION_TIMEOUT = "session_timeout"
    TERMINATED = "terminated"
    REVOKED = "revoked"
    TRANSFERRED = "transferred"
    CLOSED = "closed"


class Action(StrEnum):
    """What can happen to a ticket."""

    HEARTBEAT = "heartbeat"
    PRIORITISE = "prioritise"
    HOLD = "hold"
    RELEASE = "release"
    STEP_BACK = "step_back"
    ADMIT = "admit"
    CALL = "call"
    RECALL = "recall"
    RETURN = "return"
    START = "start"
    TOUCH = "touch"
    COMPLETE = "complete"
    LEAVE = "leave"
    CANCEL = "cancel"
    NO_SHOW = "no_show"
    TERMINATE = "terminate"
    REVOKE = "revoke"
    TRANSFER = "transfer"
    CLOSE = "close"
    LAPSE = "lapse"
    REINSTATE = "reinstate"


#: The one table of transitions. The stores are given this table; what is not in it is refused with the state found.
TRANSITIONS: dict[tuple[Status, Action], Status] = {
    (Status.WAITING, Action.HEARTBEAT): Status.WAITING,
    (Status.WAITING, Action.PRIORITISE): Status.WAITING,
    (Status.WAITING, Action.HOLD): Status.WAITING,
    (Status.WAITING, Action.RELEASE): Status.WAITING,
    (Status.WAITING, Action.STEP_BACK): Status.WAITING,
    (Status.WAITING, Action.ADMIT): Status.ADMITTED,
    (Status.WAITING, Action.CALL): Status.ADMITTED,
    (Status.WAITING, Action.LEAVE): Status.EXPIRED,
    (Status.WAITING, Action.CANCEL): Status.EXPIRED,
    (Status.WAITING, Action.REVOKE): Status.EXPIRED,
    (Status.WAITING, Action.TRANSFER): Status.EXPIRED,
    (Status.WAITING, Action.CLOSE): Status.EXPIRED,
    (Status.WAITING, Action.LAPSE): Status.EXPIRED,
    (Status.ADMITTED, Action.RECALL): Status.ADMITTED,
    (Status.ADMITTED, Action.RETURN): Status.WAITING,
    (Status.ADMITTED, Action.HOLD): Status.WAITING,
    (Status.ADMITTED, Action.START): Status.ACTIVE,
    (Status.ADMITTED, Action.LEAVE): Status.EXPIRED,
    (Status.ADMITTED, Action.CANCEL): Status.EXPIRED,
    (Status.ADMITTED, Action.NO_SHOW): Status.EXPIRED,
    (Status.ADMITTED, Action.TERMINATE): Status.EXPIRED,
    (Status.ADMITTED, Action.REVOKE): Status.EXPIRED,
    (Status.ADMITTED, Action.TRANSFER): Status.EXPIRED,
    (Status.ADMITTED, Action.LAPSE): Status.EXPIRED,
    (Status.ACTIVE, Action.TOUCH): Status.ACTIVE,
    (Status.ACTIVE, Action.COMPLETE): Status.COMPLETED,
    (Status.ACTIVE, Action.LEAVE): Status.EXPIRED,
    (Status.ACTIVE, Action.TERMINATE): Status.EXPIRED,
    (Status.ACTIVE, Action.REVOKE): Status.EXPIRED,
    (Status.ACTIVE, Action.TRANSFER): Status.EXPIRED,
    (Status.ACTIVE, Action.LAPSE): Status.EXPIRED,
    (Status.EXPIRED, Action.REINSTATE): Status.ADMITTED,
}

#: What can still be done to someone who waits and is held, that is, put aside. Only they can be released.
WHILE_ON_HOLD = frozenset(
    {
        Action.HEARTBEAT,
        Action.RELEASE,
        Action.LEAVE,
        Action.CANCEL,
        Action.REVOKE,
        Action.TRANSFER,
        Action.CLOSE,
        Action.LAPSE,
    }
)


def goes_to(status: Status, action: Action, *, on_hold: bool = False) -> Status | None:
    """Where an action leads; None where the table does not allow it."""
    if (on_hold and action not in WHILE_ON_HOLD) or (not on_hold and action is Action.RELEASE):
        return None
    return TRANSITIONS.get((status, action))


#: The reason an action leaves behind when it ends a ticket. A lapse has its reason from the state it ends.
REASONS: dict[Action, Reason] = {
    Action.LEAVE: Reason.LEFT,
    Action.CANCEL: Reason.CANCELLED,
    Action.NO_SHOW: Reason.NO_SHOW,
    Action.TERMINATE: Reason.TERMINATED,
    Action.REVOKE: Reason.REVOKED,
    Action.TRANSFER: Reason.TRANSFERRED,
    Action.CLOSE: Reason.CLOSED,
}

#: What staff can take back: whoever was called did not come in time, and then does.
REINSTATED = frozenset({Reason.NO_SHOW, Reason.CLAIM_TIMEOUT})

LIVE = frozenset({Status.WAITING, Status.ADMITTED, Status.ACTIVE})


class Person(Struct, frozen=True, omit_defaults=True):
    """What is kept of who joined, as they told it. Digests and liveness are kept beside it, not in it."""

    user_id: str | None = None
    name: str | None = None
    phone: str | None = None
    email: str | None = None
    language: str | None = None
    """The one they are told things in, of those the pages speak; None is the first of them."""
    party_size: int = 1
    address: str | None = None
    """A keyed digest of the address, never the address itself."""
    user_agent: str | None = None
    metadata: dict[str, Any] | None = None


class Went(Struct, frozen=True):
    """Where someone went who was transferred: the ticket they have there."""

    queue: str
    number: int
    joined: int
    label: str


class Came(Struct, frozen=True):
    """Where someone comes from who is being transferred: the ticket they have there."""

    queue: str
    number: int
    joined: int


class TicketStatus(Struct, frozen=True, kw_only=True):
    """Where a ticket stands now: all that someone who waits is told. Times are milliseconds since 1970 by the store's
    clock."""

    number: int
    status: Status
    priority: int
    joined: int
    reason: Reason | None = None
    position: int | None = None
    """Rank in the line from 1; None unless waiting."""
    deadline: int | None = None
    """When it lapses unless something happens first; for an ended ticket, when the record is purged."""
    leaving: bool = False
    """Its page was closed, and has not come back yet."""
    desk: str | None = None
    """The desk that called it, also once it is served."""
    on_hold: bool = False
    """Waits, but is put aside: has no position, and is not called until released."""
    serial: str = ""
    """What is printed of it instead of its number, where the queue counts by series or by day."""
    moved: int = 0
    """How often it has gone on to another device: tokens of the ones before are of no use."""

    @property
    def found(self) -> str:
        """The state it is found in, in a word."""
        return "on_hold" if self.on_hold else self.status.value


class Ticket(TicketStatus, frozen=True, kw_only=True):
    """All that is kept of a ticket. A time that is 0 has not come."""

    place: float
    admitted: int = 0
    started: int = 0
    ended: int = 0
    page_views: int = 0
    client: bytes = b""
    """Digest of the client id: whoever has the id is the holder."""
    person: Person = Person()
    went: Went | None = None
    """Where they were transferred to."""


def label(prefix: str, number: int, serial: str = "") -> str:
    """A ticket's number as a counter prints it: R, the venue's prefix, and six digits or more, or its serial."""
    return f"R{prefix}-{serial}" if serial else f"R{prefix}-{number:06d}"


def number_in(text: str, prefix: str) -> int | None:
    """The number that someone means by a number or by a label of the venue; None where it is neither."""
    start, dash, digits = text.rpartition("-")
    if dash and start.upper() != f"R{prefix}":
        return None
    if not (digits.isascii() and digits.isdecimal() and 1 <= len(digits) <= 15):
        return None
    return int(digits) or None
