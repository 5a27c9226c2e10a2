"""Notices: written from what happened, in each person's language, with a link to their ticket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from fairline.answer import printed
from fairline.counter import Counter, move_path
from fairline.errors import QueueNotFound
from fairline.events import Event, EventType
from fairline.look import LANGUAGES
from fairline.notices import KIND_OF, NOTICE, Notice, NoticeKind, Recipient, is_true
from fairline.notices.words import Wording
from fairline.queue import QueueId, QueueSettings
from fairline.room import Room
from fairline.store import Parcel
from fairline.ticket import Person, Ticket
from fairline.webhook import delivery_id

#: How long the link works by which someone without a device of their own takes up their ticket: a day's wait.
LINK_SECONDS = 86_400
#: Where the detail of an event is the desk.
_CALLS = frozenset({EventType.CALLED, EventType.RECALLED})


class Scribe:
    """Writes the notices of a room. Without `public_url` they have no links: nobody would know where to."""

    def __init__(self, room: Room, public_url: str = "") -> None:
        self._store = room.store
        self._counter = Counter(room)
        self._public_url = public_url

    async def note_nearly(self, queue: QueueId) -> None:
        """Whoever has come to the front is told so, where the queue tells them: see `Store.note_nearly`."""
        settings = (await self._store.settings(queue)).settings
        if NoticeKind.NEARLY in settings.notices:
            await self._store.note_nearly(queue, settings.notice_place)

    async def parcels(
        self, box: str, queue: QueueId, events: Sequence[Event], reaches: Callable[[Person], bool], *, whole: bool
    ) -> list[Parcel]:
        """The notices of some events, to those whom the box reaches. Only if `whole` do they say who it is, and have
        the link, which is theirs alone."""
        settings = (await self._store.settings(queue)).settings
        wanted = [e for e in events if e.ticket is not None and KIND_OF.get(e.type) in settings.notices]
        if not wanted:
            return []
        numbers = sorted({event.ticket for event in wanted if event.ticket is not None})
        found = (await self._store.look_up(queue, numbers)).items
        tickets = {ticket.number: ticket for ticket in found if ticket and reaches(ticket.person)}
        parcels = []
        for event in wanted:
            if ticket := tickets.get(event.ticket or 0):
                notice = await self._written(box, queue, settings, event, ticket, whole)
                # Nobody is told that it is nearly their turn before they are told their number.
                parcels.append(Parcel(notice.id, notice.packed(), f"{queue} {ticket.number}"))
        return parcels

    async def is_true(self, notice: Notice) -> bool:
        """Whether there is still a point in sending it."""
        try:
            (ticket,) = (await self._store.look_up(QueueId(notice.queue), [notice.ticket])).items
        except QueueNotFound:
            return False
        return is_true(notice, ticket)

    async def _written(
        self, box: str, queue: QueueId, settings: QueueSettings, event: Event, ticket: Ticket, whole: bool
    ) -> Notice:
        kind, person = KIND_OF[event.type], ticket.person
        language = person.language or LANGUAGES[0]
        counter = event.detail if event.type in _CALLS else None
        label, position = printed(queue, settings, ticket), _position(event, ticket)
        url = self._link(queue, ticket) if whole else None
        values = {
            "queue": settings.name or queue,
            "label": label,
            "position": str(position or ""),
            "counter": counter or "",
            "to": await self._name(ticket.went.queue) if ticket.went else "",
            "there": ticket.went.label if ticket.went else "",
            "url": url or "",
        }
        wording = Wording(language, settings.texts)
        return Notice(
            id=delivery_id(box, queue, event, NOTICE),
            notice=kind,
            queue=queue,
            at=datetime.fromtimestamp(event.at / 1000, UTC),
            ticket=ticket.number,
            label=label,
            position=position,
            counter=counter,
            subject=wording.subject(kind, values),
            text=wording.text(kind, values),
            url=url,
            to=_recipient(person, language) if whole else None,
        )

    async def _name(self, queue: str) -> str:
        """What people read of another queue."""
        try:
            return (await self._store.settings(QueueId(queue))).settings.name or queue
        except QueueNotFound:
            return queue  # deleted meanwhile

    def _link(self, queue: QueueId, ticket: Ticket) -> str | None:
        """Their page, which knows their browser again. Whoever has no browser here yet, since staff put them in line,
        takes up the ticket by the link; whoever was sent on is led there by the page they have."""
        if not self._public_url:
            return None
        if ticket.client:
            return f"{self._public_url}/q/{quote(queue, safe='')}"
        there, standing = (QueueId(ticket.went.queue), ticket.went) if ticket.went else (queue, ticket)
        return self._public_url + move_path(there, self._counter.move_code(there, standing, LINK_SECONDS))


def _position(event: Event, ticket: Ticket) -> int | None:
    if event.type is EventType.NEARLY:
        return int(event.detail or 0) or None
    return ticket.position if event.type is EventType.JOINED else None


def _recipient(person: Person, language: str) -> Recipient:
    return Recipient(
        name=person.name, phone=person.phone, email=person.email, user_id=person.user_id, language=language
    )
