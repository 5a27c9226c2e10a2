"""What the calls take and answer, as types: they decode the requests and make the OpenAPI page."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.join_request import JoinRequest
from fairline.domain.queue import LONGEST_LINE, QueueStatus
from fairline.domain.ticket import Reason, Status


@lru_cache(maxsize=256)
def moment(ms: int) -> datetime:
    """Milliseconds since 1970 as a time. Those who join together have the same."""
    return datetime.fromtimestamp(ms / 1000, UTC)


class Strict(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """A request body: unknown fields are refused."""


class HeartbeatRequest(Strict, frozen=True):
    """A sign of life. Both fields may be left out."""

    timestamp: float | datetime | None = None
    """The client's clock, as a number or as RFC 3339 has it. It is not relied on."""
    client_id: Annotated[str, Meta(max_length=200)] | None = None
    """As given at joining; another one is refused."""


class LeaveRequest(Strict, frozen=True):
    """Leaving: for good, or by closing the page, which starts a short grace. The token may be here for a beacon."""

    final: bool = False
    """True leaves at once; otherwise a reload within the grace comes back to the same place."""
    token: Annotated[str, Meta(max_length=4096)] | None = None
    """The ticket's token, for `navigator.sendBeacon`, which cannot send headers."""


class StepBackRequest(Strict, frozen=True):
    """Letting others go first."""

    places: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many others."""
    position: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] | None = None
    """The position one saw oneself at. Whoever is further back already has done so: a second tap changes nothing."""


class MoveAnswer(Struct, kw_only=True, frozen=True):
    """What takes the ticket to another device. It works once, and does not copy: this device's token stops working."""

    url: str
    """To be opened there; what comes after # stays with the browser."""
    code: str
    expires_in_seconds: int


class MovedRequest(Strict, frozen=True):
    """The code of a link, on the device that the ticket goes on to."""

    code: Annotated[str, Meta(min_length=1, max_length=2048)]
    client_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """A secret of the client, as in a join; the browser's own is in its cookie."""


class TransferredTo(Struct, kw_only=True, frozen=True):
    """Where someone is now who was sent on to another queue."""

    queue: str
    ticket: int
    label: str
    token: str
    """The token of the ticket there."""


class TicketAnswer(Struct, kw_only=True, frozen=True):
    """Where a ticket stands."""

    queue: str
    ticket: int
    label: str
    """The number as a counter prints it."""
    token: str | UnsetType = UNSET
    """Proves who holds the ticket. At joining, and renewed by a heartbeat past half its life."""
    status: Status
    reason: Reason | UnsetType = UNSET
    """Why it expired."""
    position: int | None
    """From 1; null once it does not wait any more."""
    queue_length: int
    """How many wait."""
    estimated_wait_seconds: int | None
    """Null where nothing honest can be said."""
    estimated_wait_range: tuple[int, int] | None
    queue_status: QueueStatus
    """Anything but `active` lets nobody in."""
    sold_out: bool | UnsetType = UNSET
    """True once all there was is sold: nobody will be let in any more."""
    stock_unknown: bool | UnsetType = UNSET
    """True while it is not known how much there is to sell: nobody is let in until it is."""
    priority: int
    joined_at: datetime
    heartbeat_interval_seconds: float
    next_heartbeat_seconds: float | UnsetType = UNSET
    """When to beat next: the server may stretch it. Only from a heartbeat."""
    stream_url: str = "/api/v1/stream"
    redirect_url: str | UnsetType = UNSET
    """Once admitted: where to go, with the session token in the query."""
    session_token: str | UnsetType = UNSET
    """Once admitted: the pass for the site."""
    claim_before: datetime | UnsetType = UNSET
    """Once admitted: when the pass lapses if it is not used."""
    message: str | UnsetType = UNSET
    """What the operator has to say."""
    desk: str | UnsetType = UNSET
    """Where to go, once called by a desk that said its name."""
    on_hold: bool | UnsetType = UNSET
    """True while it is put aside: it waits without a position, and is not called."""
    transferred_to: TransferredTo | UnsetType = UNSET
    """Where it went on, once it was transferred: go on with the token there."""


class QueueAnswer(Struct, kw_only=True, frozen=True):
    """A queue as everyone may see it."""

    id: str
    name: str
    status: QueueStatus
    queue_length: int
    admission_rate: float
    now_serving: int
    """People inside, or let in and on their way."""
    estimated_wait_seconds: int | None
    sold_out: bool
    """All there was is sold: nobody will be let in any more."""
    stock_unknown: bool
    """It is not known yet how much there is to sell: nobody is let in until it is."""
    message: str
    open: bool
    """False outside of the opening hours, and once nobody more can be served before closing time: nobody is taken."""
    opens_at: datetime | None
    """When it opens next; null where it has no hours."""
    closes_at: datetime | None
    """When it closes; null while it is closed, and where it does not."""


class ServingAnswer(Struct, kw_only=True, frozen=True):
    """Someone who was called and is on the way, or at a counter: a label, never a name."""

    label: str
    desk: str | None
    """Where to go, such as `Desk 2`."""
    since: datetime
    """When they were called last."""
    status: Literal["called", "serving"]
    """`serving` once they have come."""


class CalledAnswer(Struct, kw_only=True, frozen=True):
    """A call: a label, never a name."""

    label: str
    desk: str | None
    at: datetime
    """When they were called last."""
    times_called: int


class BoardAnswer(Struct, kw_only=True, frozen=True):
    """A queue as its board shows it."""

    queue: str
    name: str
    status: QueueStatus
    open: bool
    """False outside of the opening hours, and once nobody more can be served before closing time: nobody is taken."""
    queue_length: int
    """How many wait."""
    estimated_wait_seconds: int | None
    """For someone joining now; null where nothing honest can be said."""
    estimated_wait_range: tuple[int, int] | None
    serving: list[ServingAnswer]
    """Who is called or served now, the one called last first; at most 50."""
    called: list[CalledAnswer]
    """The last few calls that stand, newest first; at most 8."""


class TurnedAway(QueueAnswer, kw_only=True, frozen=True):
    """What a program is told that came to a gate without a pass: the queue, and where to join it."""

    join_url: str
    waiting_page: str


class SessionAnswer(Struct, kw_only=True, frozen=True):
    """A stay inside."""

    status: Status
    queue: str
    ticket: int
    expires_at: datetime | None
    """When it ends unless there is activity."""
    session_token: str | UnsetType = UNSET
    """Only of a start: the pass of this client, to be sent from now on in place of the one of the link."""


class Health(Struct, frozen=True):
    """Whether the process answers: `ok`."""

    status: str


class Readiness(Struct, frozen=True):
    """Whether the server can be sent people: `ready` or `not ready`, and what was found."""

    status: str
    checks: dict[str, str]
    """`ok`, or what is wrong."""


class KeySet(Struct, frozen=True):
    """Public keys (RFC 7517)."""

    keys: list[dict[str, str]]


class Problem(Struct, kw_only=True, frozen=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    """What programs branch on; it never changes."""
    request_id: str
    field: str | UnsetType = UNSET
    """What of the request was wrong."""
    reason: str | UnsetType = UNSET
    """Why the ticket expired."""
    found: str | UnsetType = UNSET
    """The state the ticket was in."""
    version: int | UnsetType = UNSET
    """The version the settings are at."""
    opens_at: datetime | UnsetType = UNSET
    """When the queue opens."""
    early: bool | UnsetType = UNSET
    """True where the queue is open, but the line is as long as can be served today."""


__all__ = [
    "BoardAnswer",
    "CalledAnswer",
    "Health",
    "HeartbeatRequest",
    "JoinRequest",
    "KeySet",
    "LeaveRequest",
    "MoveAnswer",
    "MovedRequest",
    "Problem",
    "QueueAnswer",
    "Readiness",
    "ServingAnswer",
    "SessionAnswer",
    "StepBackRequest",
    "Strict",
    "TicketAnswer",
    "TransferredTo",
    "TurnedAway",
    "moment",
]
