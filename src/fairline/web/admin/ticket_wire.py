"""The requests and answers of the calls about tickets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fairline.domain.join_request import JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import LONGEST_LINE, QueueSettings
from fairline.domain.ticket import Reason, Status, Ticket, Went
from fairline.service.answers import printed_label
from fairline.web.admin.wire import LARGEST_TICKET, Level, when
from fairline.web.api.wire import Strict, moment

DeskName = Annotated[str, Meta(max_length=60, description="the desk to go to, such as 'Desk 2'")]


class CallNext(Strict, frozen=True):
    """How many people to call, and to which desk."""

    count: Annotated[int, Meta(ge=1, le=100)] = 1
    desk: DeskName = ""


class CallOne(Strict, frozen=True):
    """The desk to which one person is called."""

    desk: DeskName = ""


class Prioritise(Strict, frozen=True):
    """The priority level that someone gets."""

    level: Level


class StepBack(Strict, frozen=True):
    """How many others go first."""

    places: Annotated[int, Meta(ge=1, le=100)] = 1
    position: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] | None = None
    """The position that the caller saw. If they are further back by now, nothing is done. So a call can be repeated."""


class Transfer(Strict, frozen=True):
    """The queue to which someone is transferred."""

    queue: Annotated[str, Meta(min_length=1, max_length=64)]
    """The id of the other queue."""
    priority: Annotated[int, Meta(ge=0, le=3)] | None = None
    """Their priority there. Default: the one they have here."""


class StaffJoin(JoinRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A join by staff: the fields of the public join, and a priority."""

    priority: Annotated[int, Meta(ge=0, le=3)] = 0

    def plain(self, idempotency_key: str | None) -> JoinRequest:
        """The fields of the public join, with the idempotency key of the header if the body has none."""
        fields = {name: getattr(self, name) for name in JoinRequest.__struct_fields__}
        return JoinRequest(**fields | {"idempotency_key": self.idempotency_key or idempotency_key or None})


class Revoke(Strict, frozen=True):
    """The ticket to revoke, and the reason."""

    ticket: Annotated[int, Meta(ge=1, le=LARGEST_TICKET)]
    reason: Annotated[str, Meta(min_length=1, max_length=200)]


class Destination(Struct, frozen=True, kw_only=True):
    """The ticket that someone has in another queue, after a transfer."""

    queue: str
    ticket: int
    label: str

    @classmethod
    def of(cls, went: Went | None) -> Destination | None:
        """The destination, if there is one."""
        return cls(queue=went.queue, ticket=went.number, label=went.label) if went else None


class AdminTicket(Struct, frozen=True, kw_only=True):
    """Everything stored about a ticket, except what would let someone act as its holder."""

    queue: str
    ticket: int
    label: str
    status: Status
    reason: Reason | None
    revoked_reason: str | None
    """The reason that staff gave when they revoked it."""
    position: int | None
    priority: int
    joined_at: datetime
    admitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    deadline: datetime | None
    """When it lapses if nothing happens before; for an ended ticket, when its record is purged."""
    last_seen: datetime | None
    """The last heartbeat of someone who waits, or activity of someone inside. It may be a second late."""
    leaving: bool
    on_hold: bool
    """Whether it is waiting but on hold."""
    desk: str | None
    transferred_to: Destination | None
    """The ticket in the other queue, after a transfer."""
    page_views: int
    user_id: str | None
    name: str | None
    phone: str | None
    email: str | None
    language: str | None
    """The language of their notices; null is English."""
    party_size: int
    address: str | None
    """A keyed digest, never the address itself."""
    user_agent: str | None
    metadata: dict[str, Any] | None

    @classmethod
    def of(cls, queue: QueueId, ticket: Ticket, settings: QueueSettings, now: int, revoked: str | None) -> AdminTicket:
        """A ticket of the store as an answer."""
        person = ticket.person
        return cls(
            queue=queue,
            ticket=ticket.number,
            label=printed_label(queue, settings, ticket),
            status=ticket.status,
            reason=ticket.reason,
            revoked_reason=revoked,
            position=ticket.position,
            priority=ticket.priority,
            joined_at=moment(ticket.joined),
            admitted_at=when(ticket.admitted),
            started_at=when(ticket.started),
            ended_at=when(ticket.ended),
            deadline=when(ticket.deadline),
            last_seen=when(last_seen(ticket, settings, now)),
            leaving=ticket.leaving,
            on_hold=ticket.on_hold,
            desk=ticket.desk,
            transferred_to=Destination.of(ticket.went),
            page_views=ticket.page_views,
            user_id=person.user_id,
            name=person.name,
            phone=person.phone,
            email=person.email,
            language=person.language,
            party_size=person.party_size,
            address=person.address,
            user_agent=person.user_agent,
            metadata=person.metadata,
        )


#: A deadline that is further away than a heartbeat could have set it, by more than clocks differ.
_CLOSED_MS = 2000


def last_seen(ticket: Ticket, settings: QueueSettings, now: int) -> int | None:
    """The time of the last heartbeat or activity, computed from the deadline that it set; None if that is not
    possible."""
    if ticket.deadline is None or ticket.leaving:
        return None
    if ticket.status is Status.WAITING:
        lasts = settings.heartbeat_timeout_seconds + settings.grace_seconds
    elif ticket.status is Status.ACTIVE and ticket.deadline < ticket.started + settings.session_max_seconds * 1000:
        lasts = settings.session_seconds
    else:
        return None
    seen = ticket.deadline - round(lasts * 1000)
    if ticket.status is Status.WAITING and seen > now + _CLOSED_MS:
        return None  # their page was closed, which keeps the place for longer
    # A change of settings or an outage moves a deadline without a heartbeat.
    return max(ticket.joined, min(seen, now))


class Called(Struct, frozen=True):
    """The people who were called, in order. Empty if nobody waits or there is no capacity."""

    tickets: list[AdminTicket]


class TicketList(Struct, frozen=True):
    """A page of tickets. `cursor` is for the next page, null at the end."""

    tickets: list[AdminTicket]
    cursor: str | None
