"""The types of request and answer bodies: msgspec decodes requests with them, and the OpenAPI document is made from
them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.join_request import JoinRequest
from fairline.domain.opening import Phase
from fairline.domain.queue_settings import LONGEST_LINE, QueueStatus
from fairline.domain.ticket import Reason, Status
from fairline.domain.waits import Cause


@lru_cache(maxsize=256)
def moment(ms: int) -> datetime:
    """Milliseconds since 1970 as a time. Cached, because people who join together have the same time: otherwise a
    heartbeat takes 3 % more instructions."""
    return datetime.fromtimestamp(ms / 1000, UTC)


class Strict(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """A request body in which unknown fields are refused."""


class HeartbeatRequest(Strict, frozen=True):
    """A heartbeat. Both fields may be left out."""

    timestamp: float | datetime | None = None
    """The client's time, as a number or in RFC 3339. The server does not rely on it."""
    client_id: Annotated[str, Meta(max_length=200)] | None = None
    """The same as in the join; another one is refused."""


class LeaveRequest(Strict, frozen=True):
    """Leaves for good, or starts a short grace in which the place can still be taken back."""

    final: bool = False
    """True leaves at once; otherwise a heartbeat within `grace_seconds` returns to the same place."""
    closed: bool = False
    """True says that only the page was closed: the place is kept for `closed_page_seconds`. Not with `final`."""
    token: Annotated[str, Meta(max_length=4096)] | None = None
    """The ticket token, for `navigator.sendBeacon`, which cannot send headers."""


class StepBackRequest(Strict, frozen=True):
    """Lets others go first."""

    places: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many others go first."""
    position: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] | None = None
    """The position that the page showed. A ticket that is already further back stays there, so a second tap changes
    nothing."""


class GroupAnswer(Struct, kw_only=True, frozen=True):
    """A link with which others join the group of the ticket. It works for as long as somebody of the group waits."""

    url: str
    """The link to open on the devices of the others."""
    code: str
    """What a join sends as `group`."""
    expires_in_seconds: int
    size: int
    """How many people wait in the group."""
    most: int
    """How many people may wait in it."""


class MoveAnswer(Struct, kw_only=True, frozen=True):
    """A link that moves the ticket to another device. It works once; then the token of this device stops working."""

    url: str
    """The link to open on the other device; the part after # never leaves the browser."""
    code: str
    expires_in_seconds: int


class PushRequest(Strict, frozen=True):
    """A browser's subscription to Web Push, and when to tell: at a place, or some minutes before the turn; and at the
    turn in any case."""

    endpoint: Annotated[str, Meta(min_length=12, max_length=1000, pattern="^https://")]
    """The address at the push service of the browser's maker."""
    p256dh: Annotated[str, Meta(min_length=80, max_length=100, pattern="^[A-Za-z0-9_=-]*$")]
    """The browser's public key, as the subscription has it."""
    auth: Annotated[str, Meta(min_length=20, max_length=30, pattern="^[A-Za-z0-9_=-]*$")]
    """The secret of the subscription."""
    place: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """Tell at this place in line."""
    minutes: Annotated[int, Meta(ge=1, le=600)] | None = None
    """Tell this many minutes before the turn, as far as that can be estimated."""
    language: Annotated[str, Meta(max_length=35)] | None = None
    """The language of the messages; otherwise that of the request."""


class MailRequest(Strict, frozen=True):
    """An e-mail address, and when to tell: at a place, or some minutes before the turn; and at the turn in any case."""

    email: Annotated[str, Meta(min_length=3, max_length=254)]
    place: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """Tell at this place in line."""
    minutes: Annotated[int, Meta(ge=1, le=600)] | None = None
    """Tell this many minutes before the turn, as far as that can be estimated."""
    language: Annotated[str, Meta(max_length=35)] | None = None
    """The language of the mails; otherwise that of the request."""


class MovedRequest(Strict, frozen=True):
    """The code of a link, sent by the device that the ticket moves to."""

    code: Annotated[str, Meta(min_length=1, max_length=2048)]
    client_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """A secret of the client, as in a join; a browser may use its visitor cookie instead."""


class TransferredTo(Struct, kw_only=True, frozen=True):
    """The new ticket of a person who was transferred to another queue."""

    queue: str
    ticket: int
    label: str
    token: str
    """The token of the new ticket."""


class DrawRank(Struct, kw_only=True, frozen=True):
    """What was drawn for a ticket."""

    id: str
    """The draw, for `/api/v1/draws/{draw}`."""
    rank: int
    """Its rank among those in the draw, from 1."""
    count: int
    """How many were in the draw."""


class WaitChanged(Struct, kw_only=True, frozen=True):
    """What has made the wait longer."""

    cause: Cause


class TicketAnswer(Struct, kw_only=True, frozen=True):
    """The status of a ticket."""

    queue: str
    ticket: int
    label: str
    """The number as it is printed and called."""
    token: str | UnsetType = UNSET
    """Proves who holds the ticket. Sent after a join, and renewed by a heartbeat once it is past half its life."""
    status: Status
    reason: Reason | UnsetType = UNSET
    """Why it expired."""
    position: int | None
    """From 1; null once the ticket no longer waits."""
    queue_length: int
    """How many people wait."""
    estimated_wait_seconds: int | None
    """Null while there is not enough data for an honest estimate."""
    estimated_wait_range: tuple[int, int] | None
    estimated_wait_at_least_seconds: int | UnsetType = UNSET
    """Where there is no estimate: the wait takes at least this long once people are let in again."""
    people_per_minute: float | UnsetType = UNSET
    """Where there is no estimate: how many people go in a minute while they are let in."""
    wait_changed: WaitChanged | UnsetType = UNSET
    """Why the estimate is longer than before, or not there any more."""
    queue_status: QueueStatus
    """Nobody is admitted unless it is `active`."""
    sold_out: bool | UnsetType = UNSET
    """True once all stock is sold: nobody else will be admitted."""
    stock_unknown: bool | UnsetType = UNSET
    """True while the amount of stock is unknown: nobody is admitted until it is known."""
    priority: int
    joined_at: datetime
    held_until: datetime | UnsetType = UNSET
    """Until when the place is kept, at least, if the server hears nothing more; each heartbeat moves it, and an open
    stream moves it with its `alive` events. Left out where a place is kept without heartbeats."""
    heartbeat_interval_seconds: float
    next_heartbeat_seconds: float | UnsetType = UNSET
    """Seconds until the next heartbeat; the server may ask for fewer heartbeats. Only in the answer to a heartbeat."""
    stream_url: str = "/api/v1/stream"
    redirect_url: str | UnsetType = UNSET
    """Once admitted: where to go, with the session token in the query."""
    session_token: str | UnsetType = UNSET
    """Once admitted: the session token for the site."""
    claim_before: datetime | UnsetType = UNSET
    """Once admitted: when the admission lapses if it is not used."""
    message: str | UnsetType = UNSET
    """The operator's message."""
    desk: str | UnsetType = UNSET
    """Where to go, once called by a desk that has a name."""
    on_hold: bool | UnsetType = UNSET
    """True while it is on hold: it waits without a position, and is not called."""
    phase: Phase | UnsetType = UNSET
    """`prequeue` before an opening has started, `drawing` while its order is drawn, then `open`; left out if no opening
    is in progress. In the first two nobody has a position and nobody is let in."""
    starts_at: datetime | UnsetType = UNSET
    """In a pre-queue: when people are let in."""
    draws_at: datetime | UnsetType = UNSET
    """In a pre-queue whose order is drawn: when that happens. It is after the start if the opening has a grace time."""
    now: datetime | UnsetType = UNSET
    """In a pre-queue: the server's time, so that a countdown is right whatever the device's clock says. An open stream
    has it in its `alive` events too."""
    draw: DrawRank | UnsetType = UNSET
    """What was drawn for this ticket."""
    transferred_to: TransferredTo | UnsetType = UNSET
    """The new ticket, once it was transferred to another queue: continue with its token."""


class QueueAnswer(Struct, kw_only=True, frozen=True):
    """The state of a queue that everyone may see."""

    id: str
    name: str
    status: QueueStatus
    queue_length: int
    admission_rate: float
    now_serving: int
    """People inside, and people who are admitted and on their way."""
    estimated_wait_seconds: int | None
    sold_out: bool
    """All stock is sold: nobody else will be admitted."""
    stock_unknown: bool
    """The amount of stock is not known yet: nobody is admitted until it is known."""
    message: str
    open: bool
    """Whether people can join. False outside opening hours, and once nobody else can be served before closing time."""
    opens_at: datetime | None
    """When it opens next: by its opening hours, or by its setting `opens_at` while it is in maintenance."""
    closes_at: datetime | None
    """When it closes; null while it is closed, and if it never closes."""
    phase: Phase | None
    """What the opening in progress does: `prequeue`, `drawing` or `open`; null without one."""
    prequeue_at: datetime | None
    """From when people can join before the next start; null if there is no such time."""
    starts_at: datetime | None
    """The next start of an opening; null if none is planned."""
    draws: bool
    """Whether the order of those who join before that start is drawn."""
    ends_at: datetime | None
    """When the opening in progress, or the next one, ends; null if it has no end."""


class QueueNews(QueueAnswer, kw_only=True, frozen=True):
    """The state of a queue as its stream sends it."""

    now: datetime
    """The server's time: a countdown to `starts_at` by it is right whatever the device's clock says."""
    spread_seconds: float
    """Over how many seconds the clients that receive this should spread calls that are not urgent."""


class ServingAnswer(Struct, kw_only=True, frozen=True):
    """Someone who was called and is on the way, or is at a desk: a label, never a name."""

    label: str
    desk: str | None
    """Where to go, such as `Desk 2`."""
    since: datetime
    """When they were last called."""
    status: Literal["called", "serving"]
    """`serving` once they have arrived."""


class CalledAnswer(Struct, kw_only=True, frozen=True):
    """A call: a label, never a name."""

    label: str
    desk: str | None
    at: datetime
    """When they were last called."""
    times_called: int


class BoardAnswer(Struct, kw_only=True, frozen=True):
    """The board of a queue."""

    queue: str
    name: str
    status: QueueStatus
    open: bool
    """Whether people can join. False outside opening hours, and once nobody else can be served before closing time."""
    queue_length: int
    """How many people wait."""
    estimated_wait_seconds: int | None
    """For someone who joins now; null while there is not enough data for an honest estimate."""
    estimated_wait_range: tuple[int, int] | None
    serving: list[ServingAnswer]
    """People who are called or served now, the last call first; at most 50."""
    called: list[CalledAnswer]
    """The last calls that still count, newest first; at most 8."""
    appearance: str
    """Changes with the colours, the logo and the way to join: a screen loads its page again then."""


class TurnedAway(QueueAnswer, kw_only=True, frozen=True):
    """The answer to a program that comes to a gate without a session token: the queue, and where to join it."""

    join_url: str
    waiting_page: str


class SessionAnswer(Struct, kw_only=True, frozen=True):
    """A session on the protected site."""

    status: Status
    queue: str
    ticket: int
    expires_at: datetime | None
    """When it ends unless there is activity."""
    session_token: str | UnsetType = UNSET
    """Only after a start: this client's own session token, to be used from now on instead of the one in the link."""


class Health(Struct, frozen=True):
    """Whether the process answers: `ok`."""

    status: str


class Readiness(Struct, frozen=True):
    """Whether the server can take requests: `ready` or `not ready`, with the result of each check."""

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
    """The code for programs to act on; it never changes."""
    request_id: str
    field: str | UnsetType = UNSET
    """The part of the request that was wrong."""
    reason: str | UnsetType = UNSET
    """Why the ticket expired."""
    found: str | UnsetType = UNSET
    """The state that the ticket was in."""
    version: int | UnsetType = UNSET
    """The current version of the settings."""
    opens_at: datetime | UnsetType = UNSET
    """When the queue opens."""
    early: bool | UnsetType = UNSET
    """True if the queue is open, but the line is already as long as can be served today."""


__all__ = [
    "BoardAnswer",
    "CalledAnswer",
    "DrawRank",
    "Health",
    "HeartbeatRequest",
    "JoinRequest",
    "KeySet",
    "LeaveRequest",
    "MailRequest",
    "MoveAnswer",
    "MovedRequest",
    "Problem",
    "PushRequest",
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
