"""The board at the counter: who is called where, from the last calls and from how their tickets stand.

The calls are only the order and the count: whether someone is still on the board is read from the ticket, so a board
that missed something shows the truth with its next look.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueSettings, QueueSnapshot
from fairline.domain.ticket import Status, Ticket
from fairline.service.answers import printed_label
from fairline.service.fairline import Fairline

#: So many of those called are looked up, and so many of those at the counter or on their way.
REMEMBERED = 64
AT_MOST_SERVING = 50
#: The last few called.
LAST_CALLED = 8
_AT_DESK = (Status.ADMITTED, Status.ACTIVE)


class Call(Struct, frozen=True):
    """The newest call of a ticket, and how often it was called until then."""

    at: int
    times: int


class Calls:
    """The last calls of a queue, each ticket once, from its events in order."""

    def __init__(self, newest_first: Sequence[Event] = ()) -> None:
        self._calls: OrderedDict[int, Call] = OrderedDict()
        self._read: frozenset[str] = frozenset()
        self.add(reversed(newest_first))
        self._read = frozenset(event.id for event in newest_first)

    def add(self, events: Iterable[Event]) -> bool:
        """Take note of what happened; says whether someone was called, or a call taken back."""
        heard = False
        for event in events:
            if event.type is EventType.QUEUE_CREATED:
                # The queue was deleted and recreated: its numbers begin again.
                self._calls.clear()
                self._read = frozenset()
                heard = True
            # What was read at first may be told again by the events that follow.
            if event.ticket is None or event.id in self._read:
                continue
            if event.type in (EventType.CALLED, EventType.RECALLED):
                before = self._calls.pop(event.ticket, None)
                again = before.times if before and event.type is EventType.RECALLED else 0
                self._calls[event.ticket] = Call(event.at, again + 1)
            elif event.type is EventType.RETURNED:
                self._calls.pop(event.ticket, None)
            heard = heard or event.type is not EventType.JOINED
        while len(self._calls) > REMEMBERED:
            self._calls.popitem(last=False)
        return heard

    @property
    def numbers(self) -> list[int]:
        """The tickets, the one called last first."""
        return list(reversed(self._calls))

    def of(self, ticket: Ticket) -> Call:
        """The call of a ticket; where it is not remembered, the first one."""
        return self._calls.get(ticket.number) or Call(ticket.admitted, 1)


class BoardEntry(Struct, frozen=True):
    """One number on the board."""

    label: str
    desk: str | None
    called: Call
    status: Status


class Board(Struct, frozen=True):
    """A queue as its board shows it; of people, nothing but their labels."""

    queue: QueueId
    snapshot: QueueSnapshot
    settings: QueueSettings
    serving: list[BoardEntry]
    """Called and on their way, or at a counter; the one called last first."""
    called: list[BoardEntry]
    """The last few called, those who are done already too."""


async def read_board(service: Fairline, queue: QueueId, calls: Calls) -> Board:
    """What the board of a queue shows now, at a cost that does not grow with who waits."""
    snapshot, settings, tickets = await service.called(queue, calls.numbers)
    if settings.by_hand:
        tickets = await _with_others_inside(service, queue, snapshot, tickets)
    newest_first = sorted(tickets, key=lambda ticket: calls.of(ticket).at, reverse=True)
    shown = [
        BoardEntry(printed_label(queue, settings, ticket), ticket.desk, calls.of(ticket), ticket.status)
        for ticket in newest_first
        if ticket.status in (*_AT_DESK, Status.COMPLETED)
    ]
    return Board(
        queue,
        snapshot,
        settings,
        [each for each in shown if each.status in _AT_DESK][:AT_MOST_SERVING],
        shown[:LAST_CALLED],
    )


async def _with_others_inside(
    service: Fairline, queue: QueueId, snapshot: QueueSnapshot, tickets: list[Ticket]
) -> list[Ticket]:
    """Where staff call everyone, whoever is inside was called: also those whose call is too long ago to be known."""
    known = {ticket.number: ticket for ticket in tickets}
    if sum(ticket.status in _AT_DESK for ticket in tickets) < snapshot.inside:
        for status in _AT_DESK:
            page = await service.tickets(queue, status, None, AT_MOST_SERVING)
            known |= {ticket.number: ticket for ticket in page.tickets}
    return list(known.values())
