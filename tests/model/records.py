"""What a model keeps of a queue: tickets, desks, priority passes, keys of calls, and what is measured."""

from __future__ import annotations

from dataclasses import dataclass

from fairline.domain.events import EventType
from fairline.domain.order import PriorityPolicy
from fairline.domain.queue_settings import OnePer
from fairline.domain.ticket import Person, Reason, Status, Went

Holder = tuple[OnePer, bytes]
Happened = tuple[EventType, int, int | None, str | None]


@dataclass
class Entry:
    """One ticket. `due` and `cap` are in the queue's time, the others in the store's."""

    number: int
    level: int
    place: float
    policy: PriorityPolicy | None
    """By which it has this level and place; None where someone stepped back."""
    joined: int
    client: bytes
    holder: Holder | None
    key: bytes
    fingerprint: bytes
    person: Person
    due: float | None
    status: Status = Status.WAITING
    reason: Reason | None = None
    leaving: bool = False
    admitted: int = 0
    started: int = 0
    ended: int = 0
    cap: float = 0
    views: int = 0
    by: bytes = b""
    desk: str = ""
    on_hold: bool = False
    went: Went | None = None
    drawn_rank: int = 0
    drawn_in: str = ""
    group: int = 0
    """The first ticket of the group that it waits in."""

    @property
    def found(self) -> str:
        return "on_hold" if self.on_hold else self.status.value


@dataclass
class Desk:
    """A desk: when it last called, and how many."""

    called: int
    many: int


@dataclass
class Issued:
    """A priority pass."""

    level: int
    uses: int
    expires: int
    due: float
    used: int = 0


@dataclass
class Pressed:
    """A *call next* with an idempotency key."""

    press: tuple[int, int | None, str]
    numbers: list[int]
    due: float


@dataclass
class Revocation:
    """Why a ticket was revoked."""

    reason: str
    due: float


@dataclass
class Flow:
    """What is measured of the line and the inside."""

    at: int | None = None
    span: float = 0
    waited: float = 0
    left: float = 0
    called: float = 0
    passed: float = 0
    stay: float = 0
    stays: int = 0
    inside: float = 0
    out: float = 0


@dataclass
class Bucket:
    """Tokens, and when they were counted."""

    tokens: float | None = None
    at: int | None = None
    ticked: int | None = None
    """When a keeper last swept."""
    token_awaited: bool = False
    """Someone waited for nothing but the next token."""
