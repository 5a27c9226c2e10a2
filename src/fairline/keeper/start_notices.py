"""Tells the people in a line that an opening has started, in steps.

The start of an opening is one event, and the people in line may be hundreds of thousands, of whom few left an address.
So the event becomes one delivery in the outbox: a step. When it is due, it reads some of the line, puts the notices to
those people into the outbox, and behind them the next step. A keeper that dies begins its step again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairline.domain.events import Event, EventType
from fairline.domain.notices import NoticeKind
from fairline.domain.opening import OpeningState, milliseconds
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Person, Status, Ticket
from fairline.errors import QueueNotFound
from fairline.keeper.delivery import Outcome
from fairline.store import NewDelivery, Store

#: The type of a step among the deliveries of an outbox.
STEP = "notice_step"
#: How many people of the line one step reads.
PEOPLE = 500
#: How many deliveries may wait in an outbox for a step to add its own, and how soon it tries again.
PENDING = 9_000
PAUSE_SECONDS = 1.0
DONE = Outcome(sent=False, done=True)

Write = Callable[[QueueId, QueueSettings, Event, Ticket], Awaitable[NewDelivery]]


class StartStep(Struct, frozen=True, kw_only=True):
    """The people in line from `cursor` on are to be told that an opening has started."""

    type: str = STEP
    notice: NoticeKind = NoticeKind.OPENING_STARTED
    queue: str
    at: datetime
    """When the opening started."""
    event: str
    """The event of the start, from which the ids of the notices are made."""
    opening: str
    cursor: str = ""
    """Where in the line it continues; empty at its front."""

    def delivery(self, box: str) -> NewDelivery:
        """The step in an outbox."""
        which = f"{box} {self.queue} {self.event} {self.at} {self.cursor}"
        return NewDelivery(sha256(which.encode()).hexdigest()[:32], msgspec.json.encode(self).decode())


_step = msgspec.json.Decoder(StartStep).decode


def first_steps(box: str, queue: QueueId, settings: QueueSettings, events: Sequence[Event]) -> list[NewDelivery]:
    """The first step for each start among some events, if the queue sends that notice."""
    if NoticeKind.OPENING_STARTED not in settings.notices:
        return []
    return [
        StartStep(
            queue=queue, at=datetime.fromtimestamp(event.at / 1000, UTC), event=event.id, opening=event.detail or ""
        ).delivery(box)
        for event in events
        if event.type is EventType.OPENING_STARTED
    ]


async def take_step(store: Store, box: str, payload: str, reaches: Callable[[Person], bool], write: Write) -> Outcome:
    """Put the notices to some people, and the next step, into the outbox. `write` writes one notice."""
    step = _step(payload)
    queue, at = QueueId(step.queue), milliseconds(step.at)
    try:
        settings = (await store.settings(queue)).settings
        if not _is_open(settings, step.opening):
            return DONE
        page = await store.tickets(queue, Status.WAITING, step.cursor or None, PEOPLE)
        event = Event(step.event, EventType.OPENING_STARTED, at, detail=step.opening)
        there = [ticket for ticket in page.tickets if ticket.joined <= at]
        to_tell = [ticket for ticket in there if reaches(ticket.person) and not ticket.on_hold]
        new_deliveries = [await write(queue, settings, event, ticket) for ticket in to_tell]
    except QueueNotFound:
        return DONE
    if page.cursor is not None and (there or not page.tickets):  # behind those who joined later, nobody was there
        new_deliveries.append(replace(step, cursor=page.cursor).delivery(box))
    if not new_deliveries:
        return DONE
    seen = await store.outbox.cursor(box, queue)
    if seen is None or not await store.outbox.take(box, queue, seen, seen, new_deliveries, PENDING):
        return Outcome(sent=False, later=PAUSE_SECONDS)  # the outbox is full, or just took events
    return DONE


def _is_open(settings: QueueSettings, opening: str) -> bool:
    return any(each.id == opening and each.state is OpeningState.OPEN for each in settings.openings)
