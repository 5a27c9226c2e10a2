"""Notices: messages to people about events of their tickets, in their language and with a link to the ticket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec
from msgspec import Struct

from fairline.domain.branding import LANGUAGES
from fairline.domain.events import Event, EventType
from fairline.domain.notices import KIND_OF, NOTICE, Notice, NoticeKind, Recipient, is_current
from fairline.domain.notices.words import Wording, number
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Person, Ticket
from fairline.domain.webhook import delivery_id
from fairline.errors import QueueNotFound
from fairline.keeper.delivery import Outcome
from fairline.keeper.start_notices import STEP, first_steps, take_step
from fairline.service.answers import printed_label
from fairline.service.fairline import Fairline
from fairline.service.walk_in import WalkIn, move_path
from fairline.store import Delivery, NewDelivery

#: The most notices to one phone or mailbox in an hour, over all queues, for tickets that people took themselves. It
#: limits a stranger who enters somebody else's number or address in every queue.
MOST_NOTICES = 20
HOUR_SECONDS = 3600.0
#: How long the link works that brings a ticket issued by staff to the person's own device: one day.
LINK_SECONDS = 86_400
#: The events whose detail is the desk.
_CALLS = frozenset({EventType.CALLED, EventType.RECALLED})


class _Type(Struct):
    type: str


_type = msgspec.json.Decoder(_Type).decode


class NoticeWriter:
    """Writes the notices of all queues. Without `public_url` they have no links."""

    def __init__(self, service: Fairline, public_url: str = "") -> None:
        self._store = service.store
        self._identity = service.identity
        self._walk_in = WalkIn(service)
        self._public_url = public_url

    async def note_nearly(self, queue: QueueId) -> None:
        """Note who has come near the front, if the queue sends that notice: see `Store.note_nearly`. Before an opening
        has started, nobody is near."""
        settings = (await self._store.settings(queue)).settings
        if NoticeKind.NEARLY in settings.notices and not settings.held_back:
            await self._store.note_nearly(queue, settings.notice_place)

    async def new_deliveries(
        self, box: str, queue: QueueId, events: Sequence[Event], reaches: Callable[[Person], bool], *, whole: bool
    ) -> list[NewDelivery]:
        """The notices for some events, to the people for whom `reaches` is true. Only if `whole` is set do they say who
        the person is and have the personal link. For the start of an opening it is the first step to those in line
        (see start_notices.py)."""
        settings = (await self._store.settings(queue)).settings
        steps = first_steps(box, queue, settings, events)
        wanted = [e for e in events if e.ticket is not None and KIND_OF.get(e.type) in settings.notices]
        if not wanted:
            return steps
        numbers = sorted({event.ticket for event in wanted if event.ticket is not None})
        found = (await self._store.look_up(queue, numbers)).items
        tickets = {ticket.number: ticket for ticket in found if ticket and reaches(ticket.person)}
        return steps + [
            await self._delivery(box, queue, settings, event, ticket, whole)
            for event in wanted
            if (ticket := tickets.get(event.ticket or 0))
        ]

    async def take_step(
        self, box: str, delivery: Delivery, reaches: Callable[[Person], bool], *, whole: bool
    ) -> Outcome | None:
        """Take the step that a delivery is, towards telling all people in line; None if it is none."""
        if _type(delivery.payload).type != STEP:
            return None

        async def write(queue: QueueId, settings: QueueSettings, event: Event, ticket: Ticket) -> NewDelivery:
            return await self._delivery(box, queue, settings, event, ticket, whole)

        return await take_step(self._store, box, delivery.payload, reaches, write)

    async def _delivery(
        self, box: str, queue: QueueId, settings: QueueSettings, event: Event, ticket: Ticket, whole: bool
    ) -> NewDelivery:
        notice = await self._write(box, queue, settings, event, ticket, whole)
        # One thread per ticket: "nearly your turn" must not arrive before the notice with the number.
        return NewDelivery(notice.id, notice.packed(), f"{queue} {ticket.number}")

    async def unsent(self, box: str, delivery: Delivery, notice: Notice, to: str) -> Outcome | None:
        """The outcome of a notice that must not be sent: it is no longer true, or this box has sent enough to the phone
        or mailbox `to` (empty if it is not known). Only the first try of a notice counts. None if it must be sent."""
        queue, held_back = QueueId(notice.queue), False
        try:
            (ticket,) = (await self._store.look_up(queue, [notice.ticket])).items
            if notice.notice is NoticeKind.NEARLY:  # an opening may have begun since
                held_back = (await self._store.settings(queue)).settings.held_back
        except QueueNotFound:
            ticket = None
        if ticket is None or held_back or not is_current(notice, ticket):
            return Outcome(sent=False, overtaken=True)
        took_it_themselves = bool(ticket.client)  # a ticket issued by staff has no client
        if to and took_it_themselves and delivery.tries == 1 and not await self._is_allowed(box, to):
            return Outcome(sent=False, limited=True)
        return None

    async def may_tell(self, box: str, to: str, once: str) -> bool:
        """Whether this box may write to a mailbox that somebody typed on a page. Of all tries with the same `once`,
        the first counts."""
        first = await self._store.registry.limit(once, f"notices:{box}", 1, HOUR_SECONDS) == 0
        return not first or await self._is_allowed(box, to)

    async def _is_allowed(self, box: str, to: str) -> bool:
        """Count one more notice to this recipient; False if the limit is reached."""
        who = self._identity.digest("notices", to).hex()
        return await self._store.registry.limit(who, f"notices:{box}", MOST_NOTICES, HOUR_SECONDS) == 0

    async def _write(
        self, box: str, queue: QueueId, settings: QueueSettings, event: Event, ticket: Ticket, whole: bool
    ) -> Notice:
        kind, person = KIND_OF[event.type], ticket.person
        language = person.language or LANGUAGES[0]
        desk = event.detail if event.type in _CALLS else None
        label, position = printed_label(queue, settings, ticket), _position(event, ticket, settings)
        rank, count = _drawn(event, ticket, settings)
        url = self._link(queue, ticket) if whole else None
        values = {
            "queue": settings.name or queue,
            "label": label,
            "position": str(position or ""),
            "rank": number(language, rank) if rank else "",
            "count": number(language, count) if rank else "",
            "desk": desk or "",
            "to": await self._name(ticket.went.queue) if ticket.went else "",
            "there": ticket.went.label if ticket.went else "",
            "url": url or "",
        }
        wording = Wording(language, settings.texts)
        return Notice(
            id=delivery_id(box, queue, event, NOTICE if event.ticket is not None else f"{NOTICE} {ticket.number}"),
            notice=kind,
            queue=queue,
            at=datetime.fromtimestamp(event.at / 1000, UTC),
            ticket=ticket.number,
            label=label,
            position=position,
            desk=desk,
            subject=wording.subject(kind, values),
            text=wording.text(kind, values),
            url=url,
            to=_recipient(person, language) if whole else None,
        )

    async def _name(self, queue: str) -> str:
        """The name of another queue as people read it."""
        try:
            return (await self._store.settings(QueueId(queue))).settings.name or queue
        except QueueNotFound:
            return queue  # deleted meanwhile

    def _link(self, queue: QueueId, ticket: Ticket) -> str | None:
        """The link to the person's page. If they joined by browser, that browser is recognised there; after a transfer
        the page leads them on. A ticket issued by staff has no browser yet: its link moves the ticket to the one that
        opens it."""
        if not self._public_url:
            return None
        if ticket.client:
            return f"{self._public_url}/q/{quote(queue, safe='')}"
        there, ticket_status = (QueueId(ticket.went.queue), ticket.went) if ticket.went else (queue, ticket)
        return self._public_url + move_path(there, self._walk_in.move_code(there, ticket_status, LINK_SECONDS))


def _position(event: Event, ticket: Ticket, settings: QueueSettings) -> int | None:
    if event.type is EventType.NEARLY:
        return int(event.detail or 0) or None
    known = event.type in (EventType.JOINED, EventType.OPENING_STARTED) and not settings.held_back
    return ticket.position if known else None


def _drawn(event: Event, ticket: Ticket, settings: QueueSettings) -> tuple[int, int]:
    """The rank of a ticket in the draw of the opening that has started, and how many were drawn; 0 if it was in
    none."""
    if event.type is not EventType.OPENING_STARTED or ticket.drawn_in != event.detail:
        return 0, 0
    return ticket.drawn_rank, next((each.count for each in settings.openings if each.id == event.detail), 0)


def _recipient(person: Person, language: str) -> Recipient:
    return Recipient(
        name=person.name, phone=person.phone, email=person.email, user_id=person.user_id, language=language
    )
