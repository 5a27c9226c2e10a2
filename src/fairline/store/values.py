"""What goes into the operations of a store, and what comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from fairline.domain.events import EventType
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Came, Reason, Ticket, TicketStatus
from fairline.errors import FairlineError

T = TypeVar("T")


class Reply(Struct, Generic[T], frozen=True):
    """The answer to one call: the queue at that moment, and one item for each ticket or arrival of the call."""

    snapshot: QueueSnapshot
    items: list[T]


#: When each ticket of a call was issued, where that is known: a number may be given again in a recreated queue.
IssuedAt: TypeAlias = Sequence[int | None]
#: An event that a change of the settings writes, with its detail.
StepEvent: TypeAlias = tuple[EventType, str]
#: What became of each ticket of a call.
Outcomes: TypeAlias = "Reply[TicketStatus | FairlineError]"


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


class Group(Struct, frozen=True):
    """People who wait together: the number of the first ticket, when it was issued, and how many they are."""

    first: int
    joined: int
    size: int


class Frozen(Struct, frozen=True):
    """Those who are in a draw: how many they are, and the first of the turns that are set aside for them."""

    count: int
    first_turn: int


class Drawn(NamedTuple):
    """What was drawn for a ticket."""

    number: int
    place: float
    rank: int


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
