"""Tickets: their states, the table of transitions between them, and the record of a ticket.

A ticket is one person's (or party's) stay in a queue. Its number identifies it within the queue.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Status(StrEnum):
    """The state of a ticket. The order is the order of the codes in packed records: append only."""

    WAITING = "waiting"
    ADMITTED = "admitted"
    ACTIVE = "active"
    COMPLETED = "completed"
    EXPIRED = "expired"


#: How long the token of a ticket is valid by default; a heartbeat renews it.
TOKEN_SECONDS = 7200.0


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
    PUT_BACK = "put_back"


#: The table of all transitions. The stores use this table; an action that is not in it is refused with the state found.
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
    (Status.EXPIRED, Action.PUT_BACK): Status.WAITING,
}

#: The actions on a waiting ticket that is on hold. Only a ticket on hold can be released.
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
    """The state after an action; None if the table does not allow the action."""
    if (on_hold and action not in WHILE_ON_HOLD) or (not on_hold and action is Action.RELEASE):
        return None
    return TRANSITIONS.get((status, action))


#: The reason that is recorded when an action ends a ticket. The reason of a lapse depends on the state it ends.
REASONS: dict[Action, Reason] = {
    Action.LEAVE: Reason.LEFT,
    Action.CANCEL: Reason.CANCELLED,
    Action.NO_SHOW: Reason.NO_SHOW,
    Action.TERMINATE: Reason.TERMINATED,
    Action.REVOKE: Reason.REVOKED,
    Action.TRANSFER: Reason.TRANSFERRED,
    Action.CLOSE: Reason.CLOSED,
}

#: The endings that staff can take back, by the action that does: someone who was called comes too late after all, or
#: someone was removed by mistake.
TAKES_BACK = {
    Action.REINSTATE: frozenset({Reason.NO_SHOW, Reason.CLAIM_TIMEOUT}),
    Action.PUT_BACK: frozenset({Reason.CANCELLED}),
}

LIVE = frozenset({Status.WAITING, Status.ADMITTED, Status.ACTIVE})


class Person(Struct, frozen=True, omit_defaults=True):
    """The details of the person who joined, as they gave them. Digests and deadlines are stored separately."""

    user_id: str | None = None
    name: str | None = None
    phone: str | None = None
    email: str | None = None
    language: str | None = None
    """The language of their messages, one of the pages' languages; None is the first of these."""
    party_size: int = 1
    address: str | None = None
    """A keyed digest of the address, never the address itself."""
    user_agent: str | None = None
    metadata: dict[str, Any] | None = None


class Went(Struct, frozen=True):
    """Where a transferred person went: their ticket in the other queue."""

    queue: str
    number: int
    joined: int
    label: str


class Came(Struct, frozen=True):
    """Where a person who is being transferred comes from: their ticket in that queue."""

    queue: str
    number: int
    joined: int


class TicketStatus(Struct, frozen=True, kw_only=True):
    """The present status of a ticket: all that its holder is shown. Times are milliseconds since 1970 by the store's
    clock."""

    number: int
    status: Status
    priority: int
    joined: int
    reason: Reason | None = None
    position: int | None = None
    """Position in the line, from 1; None unless waiting."""
    deadline: int | None = None
    """When it lapses if nothing happens before; for an ended ticket, when the record is purged."""
    leaving: bool = False
    """Its page was closed and has not come back yet."""
    desk: str | None = None
    """The desk that called it; it stays set while the ticket is served."""
    on_hold: bool = False
    """It waits on hold: it has no position, and is not called until it is released."""
    serial: str = ""
    """The part of the label that replaces the number, if the queue counts by series or by day."""
    moved: int = 0
    """How often it has moved to another device: tokens of earlier devices are not valid any more."""
    drawn_rank: int = 0
    """Its rank in the draw it was in, from 1; 0 if it was in none."""
    drawn_in: str = ""
    """The opening of that draw."""

    @property
    def found(self) -> str:
        """The state in one word, for error messages."""
        return "on_hold" if self.on_hold else self.status.value


class Ticket(TicketStatus, frozen=True, kw_only=True):
    """The whole record of a ticket. A time of 0 means that it has not happened."""

    place: float
    admitted: int = 0
    started: int = 0
    ended: int = 0
    page_views: int = 0
    client: bytes = b""
    """Digest of the client id: the client with that id is the holder."""
    person: Person = Person()
    went: Went | None = None
    """Where the person was transferred to."""


def label(prefix: str, number: int, serial: str = "") -> str:
    """The label of a ticket as it is printed and called: R, the prefix, and six or more digits, or the serial."""
    return f"R{prefix}-{serial}" if serial else f"R{prefix}-{number:06d}"


def number_in(text: str, prefix: str) -> int | None:
    """Read a ticket number from a number or a label with this prefix; None if the text is neither."""
    start, dash, digits = text.rpartition("-")
    if dash and start.upper() != f"R{prefix}":
        return None
    if not (digits.isascii() and digits.isdecimal() and 1 <= len(digits) <= 15):
        return None
    return int(digits) or None
