"""Tickets, and what is done with them, as the operators' calls take and answer them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fairline.domain.join_request import JoinRequest
from fairline.domain.queue import LONGEST_LINE, QueueId, QueueSettings
from fairline.domain.ticket import Reason, Status, Ticket, Went
from fairline.service.answers import printed_label
from fairline.web.admin.wire import LARGEST_TICKET, Level, when
from fairline.web.api.wire import Strict, moment

DeskName = Annotated[str, Meta(max_length=60, description="where to go, such as 'Desk 2'")]


class CallNext(Strict, frozen=True):
    """Whom to call: how many, and where to."""

    count: Annotated[int, Meta(ge=1, le=100)] = 1
    desk: DeskName = ""


class CallOne(Strict, frozen=True):
    """Where to call one person to."""

    desk: DeskName = ""


class Prioritise(Strict, frozen=True):
    """How far up."""

    level: Level


class StepBack(Strict, frozen=True):
    """How many others go first."""

    places: Annotated[int, Meta(ge=1, le=100)] = 1
    position: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] | None = None
    """The position that was seen: where they are further back already, nothing is done. So a press can be repeated."""


class Transfer(Strict, frozen=True):
    """Where someone goes on."""

    queue: Annotated[str, Meta(min_length=1, max_length=64)]
    """The id of the other queue."""
    priority: Annotated[int, Meta(ge=0, le=3)] | None = None
    """Their priority there; the one they have here where it is left out."""


class StaffJoin(JoinRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Someone whom staff put in line: as the public join, and a priority."""

    priority: Annotated[int, Meta(ge=0, le=3)] = 0

    def plain(self, idempotency_key: str | None) -> JoinRequest:
        """The public part, with the idempotency key of the header where the body has none."""
        told = {name: getattr(self, name) for name in JoinRequest.__struct_fields__}
        return JoinRequest(**told | {"idempotency_key": self.idempotency_key or idempotency_key or None})


class Revoke(Strict, frozen=True):
    """Whose pass stops working, and why."""

    ticket: Annotated[int, Meta(ge=1, le=LARGEST_TICKET)]
    reason: Annotated[str, Meta(min_length=1, max_length=200)]


class Destination(Struct, frozen=True, kw_only=True):
    """The ticket that someone has in another queue, after a transfer."""

    queue: str
    ticket: int
    label: str

    @classmethod
    def of(cls, went: Went | None) -> Destination | None:
        """Where someone went, if they did."""
        return cls(queue=went.queue, ticket=went.number, label=went.label) if went else None


class AdminTicket(Struct, frozen=True, kw_only=True):
    """All that is kept of a ticket, but for what would let someone pass as its holder."""

    queue: str
    ticket: int
    label: str
    status: Status
    reason: Reason | None
    revoked_reason: str | None
    """What staff gave as the reason when they revoked it."""
    position: int | None
    priority: int
    joined_at: datetime
    admitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    deadline: datetime | None
    """When it lapses unless something happens first; for an ended one, when its record is purged."""
    last_seen: datetime | None
    """The last sign of life of someone who waits; it is known within a second."""
    leaving: bool
    on_hold: bool
    """It waits, but is put aside."""
    desk: str | None
    transferred_to: Destination | None
    """Where it went on."""
    page_views: int
    user_id: str | None
    name: str | None
    phone: str | None
    email: str | None
    language: str | None
    """The one they are told things in; null is English."""
    party_size: int
    address: str | None
    """A keyed digest, never the address itself."""
    user_agent: str | None
    metadata: dict[str, Any] | None

    @classmethod
    def of(cls, queue: QueueId, ticket: Ticket, settings: QueueSettings, now: int, revoked: str | None) -> AdminTicket:
        """A ticket as operators see it."""
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


def last_seen(ticket: Ticket, settings: QueueSettings, now: int) -> int | None:
    """The last sign of life, told from the deadline it moved; None where the deadline does not tell."""
    if ticket.deadline is None or ticket.leaving:
        return None
    if ticket.status is Status.WAITING:
        lasts = settings.heartbeat_timeout_seconds + settings.grace_seconds
    elif ticket.status is Status.ACTIVE and ticket.deadline < ticket.started + settings.session_max_seconds * 1000:
        lasts = settings.session_seconds
    else:
        return None
    # A change of the settings, or an outage, moves a deadline without anyone being seen.
    return max(ticket.joined, min(ticket.deadline - round(lasts * 1000), now))


class Called(Struct, frozen=True):
    """Who was called, in order; nobody where nobody waits or nothing is free."""

    tickets: list[AdminTicket]


class TicketList(Struct, frozen=True):
    """Some tickets, and the cursor to go on from; null at the end."""

    tickets: list[AdminTicket]
    cursor: str | None
