"""What the operators' calls take and answer, as types."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from fairline.arrival import JoinRequest
from fairline.events import Event, EventType
from fairline.queue import SETTINGS, Admission, Message, QueueId, QueueSettings, QueueStatus, QueueView
from fairline.room import printed
from fairline.store import AdminKey, Estimates, Hour, Pass, Role, Stats, Totals
from fairline.ticket import Reason, Status, Ticket, Went
from fairline.web.wire import Strict, moment

#: Ticket numbers are exact in every client: no more than a double holds.
LARGEST_TICKET = 2**53 - 1

Level = Annotated[int, Meta(ge=1, le=3)]
Counter = Annotated[str, Meta(max_length=60, description="where to go, such as 'Desk 2'")]


def when(ms: int | None) -> datetime | None:
    """A time, or None where it has not come."""
    return moment(ms) if ms else None


# Requests


class Nothing(Strict, frozen=True):
    """A call that takes no fields."""


class NewQueue(QueueSettings, frozen=True, kw_only=True):
    """A queue to be made: its id, and any setting."""

    id: str
    """Its name in addresses: letters, digits, `.`, `_` and `-`, at most 64, beginning with a letter or digit."""


_HINTS = get_type_hints(QueueSettings, include_extras=True)
QueueChanges = msgspec.defstruct(
    "QueueChanges",
    [(name, _HINTS[name] | UnsetType, UNSET) for name in SETTINGS],
    bases=(Strict,),
    namespace={"__doc__": "Settings to be changed: only those given."},
    frozen=True,
    kw_only=True,
)


class CallNext(Strict, frozen=True):
    """Whom to call: how many, and where to."""

    count: Annotated[int, Meta(ge=1, le=100)] = 1
    counter: Counter = ""


class CallOne(Strict, frozen=True):
    """Where to call one person to."""

    counter: Counter = ""


class Prioritise(Strict, frozen=True):
    """How far up."""

    level: Level


class LetPass(Strict, frozen=True):
    """How many others go first."""

    places: Annotated[int, Meta(ge=1, le=100)] = 1
    position: Annotated[int, Meta(ge=1)] | None = None
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


class Stock(Strict, frozen=True):
    """How much there is to sell in all, what is sold already among it; null sells without end."""

    total: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None


class Say(Strict, frozen=True):
    """What everyone who waits is shown; empty shows nothing."""

    text: Message


class NewKiosk(Strict, frozen=True):
    """A kiosk to be set up."""

    print: bool = False
    """Whether it prints each ticket without being asked, for a tablet with a printer."""
    expires_in_seconds: Annotated[int, Meta(ge=60, le=31_536_000)] = 31_536_000


class NewPass(Strict, frozen=True):
    """A priority pass to be issued."""

    level: Level
    uses: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    expires_in_seconds: Annotated[float, Meta(ge=1, le=31_536_000)] = 86_400.0


class NewKey(Strict, frozen=True):
    """An admin key to be made."""

    role: Role
    name: Annotated[str, Meta(max_length=100)] = ""


# Answers


class AdminQueue(QueueSettings, frozen=True, kw_only=True):
    """A queue as operators see it: its settings with their version, and how many are where."""

    id: str
    version: int
    waiting: int
    held: int
    admitted: int
    active: int
    stock_left: int | None

    @classmethod
    def of(cls, queue: QueueId, settings: QueueSettings, version: int, view: QueueView) -> AdminQueue:
        """A queue with what the store says of it."""
        return cls(
            **msgspec.structs.asdict(settings),
            id=queue,
            version=version,
            waiting=view.waiting,
            held=view.held,
            admitted=view.admitted,
            active=view.active,
            stock_left=view.stock_left(settings.stock),
        )


class QueueList(Struct, frozen=True):
    """All queues, by id."""

    queues: list[AdminQueue]


class Glance(Struct, frozen=True, kw_only=True):
    """A queue at a glance: what an operator looks at, and turns, on the night."""

    id: str
    name: str
    ticket_prefix: str
    """What the labels of tickets begin with: `R`, this, and the number."""
    version: int
    status: QueueStatus
    admission: Admission
    admission_rate: float
    max_active: int
    max_queue_size: int
    waiting: int
    admitted: int
    active: int
    stock: int | None
    stock_left: int | None
    message: str

    @classmethod
    def of(cls, queue: QueueId, settings: QueueSettings, version: int, view: QueueView) -> Glance:
        """A queue with what the store says of it."""
        return cls(
            id=queue,
            name=settings.name or queue,
            ticket_prefix=settings.ticket_prefix or queue.upper(),
            version=version,
            status=settings.status,
            admission=settings.admission,
            admission_rate=settings.admission_rate,
            max_active=settings.max_active,
            max_queue_size=settings.max_queue_size,
            waiting=view.waiting,
            admitted=view.admitted,
            active=view.active,
            stock=settings.stock,
            stock_left=view.stock_left(settings.stock),
            message=settings.message,
        )


class GlanceList(Struct, frozen=True):
    """All queues at a glance, by id."""

    queues: list[Glance]

    @property
    def steady(self) -> GlanceList:
        """What must change before it is told again."""
        return self


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
    leaving: bool
    held: bool
    """It waits, but is put aside."""
    counter: str | None
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
            label=printed(queue, settings, ticket),
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
            held=ticket.held,
            counter=ticket.counter,
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


class EstimatesAnswer(Struct, frozen=True):
    """How good the waits were that people were shown at joining: those of a sample who were let in since."""

    compared: int
    within_range: int
    share_within: float | None
    """The share of them who waited no less and no more than they were told."""
    mean_error_seconds: float | None
    """By how much the wait they were told was off, to either side."""

    @classmethod
    def of(cls, found: Estimates) -> EstimatesAnswer:
        """The figures by their names on the wire."""
        share = round(found.within / found.compared, 4) if found.compared else None
        return cls(found.compared, found.within, share, rounded(found.error_mean))


class StatsAnswer(Struct, frozen=True, kw_only=True):
    """A queue in figures: now, lately, and so far."""

    queue: str
    at: datetime
    waiting: int
    admitted: int
    active: int
    joined_total: int
    admitted_total: int
    returned_total: int
    completed: int
    expired: int
    expired_by_reason: dict[Reason, int]
    joins_per_minute: int
    admissions_per_minute: int
    average_wait_seconds: float | None
    wait_p50_seconds: float | None
    wait_p90_seconds: float | None
    wait_p99_seconds: float | None
    last_admission_at: datetime | None
    peak_waiting: int
    estimates: EstimatesAnswer

    @classmethod
    def of(cls, queue: QueueId, stats: Stats) -> StatsAnswer:
        """The figures by their names on the wire."""
        view, totals = stats.view, stats.totals
        return cls(
            queue=queue,
            at=moment(view.now),
            waiting=view.waiting,
            admitted=view.admitted,
            active=view.active,
            joined_total=totals.joined,
            admitted_total=totals.admitted,
            returned_total=totals.returned,
            completed=totals.completed,
            expired=totals.expired,
            expired_by_reason=_by_reason(totals),
            joins_per_minute=stats.joins_per_minute,
            admissions_per_minute=stats.admissions_per_minute,
            average_wait_seconds=rounded(totals.wait_mean),
            wait_p50_seconds=rounded(totals.wait_p50),
            wait_p90_seconds=rounded(totals.wait_p90),
            wait_p99_seconds=rounded(totals.wait_p99),
            last_admission_at=when(stats.last_admission),
            peak_waiting=totals.peak_waiting,
            estimates=EstimatesAnswer.of(totals.estimates),
        )


class QueueNow(Struct, frozen=True):
    """A queue at this moment: how it is set, and its figures."""

    glance: Glance
    stats: StatsAnswer

    @property
    def steady(self) -> QueueNow:
        """What must change before it is told again: all but the time."""
        return QueueNow(self.glance, msgspec.structs.replace(self.stats, at=moment(0)))


class CountsAnswer(Struct, frozen=True, kw_only=True):
    """The counts of some time. Waits are those of the people admitted in it."""

    joined: int
    admitted: int
    returned: int
    completed: int
    expired: int
    expired_by_reason: dict[Reason, int]
    peak_waiting: int
    average_wait_seconds: float | None
    wait_p50_seconds: float | None
    wait_p90_seconds: float | None
    wait_p99_seconds: float | None
    estimates: EstimatesAnswer

    @classmethod
    def of_totals(cls, totals: Totals, **more: Any) -> Self:
        """The figures by their names on the wire."""
        return cls(
            joined=totals.joined,
            admitted=totals.admitted,
            returned=totals.returned,
            completed=totals.completed,
            expired=totals.expired,
            expired_by_reason=_by_reason(totals),
            peak_waiting=totals.peak_waiting,
            average_wait_seconds=rounded(totals.wait_mean),
            wait_p50_seconds=rounded(totals.wait_p50),
            wait_p90_seconds=rounded(totals.wait_p90),
            wait_p99_seconds=rounded(totals.wait_p99),
            estimates=EstimatesAnswer.of(totals.estimates),
            **more,
        )


class HourAnswer(CountsAnswer, frozen=True, kw_only=True):
    """The counts of one hour. Waits are those of the people admitted in it."""

    start: datetime

    @classmethod
    def of(cls, hour: Hour) -> HourAnswer:
        """The figures by their names on the wire."""
        return cls.of_totals(hour.totals, start=moment(hour.start))


class HourList(Struct, frozen=True):
    """The hours kept, oldest first."""

    hours: list[HourAnswer]


def _by_reason(totals: Totals) -> dict[Reason, int]:
    """All reasons, those that did not occur too."""
    return {reason: totals.expired_by_reason.get(reason, 0) for reason in Reason}


def rounded(seconds: float | None) -> float | None:
    """Seconds to the millisecond."""
    return None if seconds is None else round(seconds, 3)


class EventAnswer(Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    id: str
    type: EventType
    at: datetime
    ticket: int | None
    detail: str | None

    @classmethod
    def of(cls, event: Event) -> EventAnswer:
        """An event as operators see it."""
        return cls(id=event.id, type=event.type, at=moment(event.at), ticket=event.ticket, detail=event.detail)


class EventList(Struct, frozen=True):
    """What happened, in order; `after` is what to go on from."""

    events: list[EventAnswer]
    after: str | None


class KioskAnswer(Struct, frozen=True, kw_only=True):
    """The link of a kiosk. Whoever opens it can take as many numbers as they like."""

    url: str
    expires_at: datetime


class PassAnswer(Struct, frozen=True, kw_only=True):
    """A priority pass."""

    id: str
    level: int
    uses: int
    used: int
    expires_at: datetime

    @classmethod
    def of(cls, kept: Pass) -> PassAnswer:
        """What is kept of a pass: not its text."""
        return cls(id=kept.id, level=kept.level, uses=kept.uses, used=kept.used, expires_at=moment(kept.expires))


class IssuedPass(PassAnswer, frozen=True, kw_only=True):
    """A priority pass that was issued now, with the text to be given as `priority_pass` at joining."""

    text: str = field(name="pass")


class PassList(Struct, frozen=True):
    """The priority passes that have not ended."""

    passes: list[PassAnswer]


class KeyAnswer(Struct, frozen=True, kw_only=True):
    """An admin key, without the key."""

    id: str
    role: Role
    name: str
    created_at: datetime

    @classmethod
    def of(cls, key: AdminKey) -> KeyAnswer:
        """What may be shown of a key."""
        return cls(id=key.id, role=key.role, name=key.name, created_at=moment(key.created))


class MadeKey(KeyAnswer, frozen=True, kw_only=True):
    """An admin key that was made now. The key is shown this once."""

    key: str


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Whose key a call came with."""

    id: str
    role: Role
    name: str


class KeyList(Struct, frozen=True):
    """All admin keys, oldest first."""

    keys: list[KeyAnswer]


class Generation(Struct, frozen=True):
    """Which generation of signing keys is in use, from 1."""

    generation: int
