"""The board of a walk-in line: which ticket is called to which desk.

The recent calls only give the order and how often a ticket was called. Whether a ticket is still on the board is read
from its status, so a board that missed an event is correct again with its next read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Status, Ticket
from fairline.service.answers import printed_label
from fairline.service.fairline import Fairline

#: How many of the last called tickets are remembered.
REMEMBERED = 64
#: How many tickets are shown that are called or served now.
AT_MOST_SERVING = 50
#: How many of the last calls are shown.
LAST_CALLED = 8
_AT_DESK = (Status.ADMITTED, Status.ACTIVE)


class Call(Struct, frozen=True):
    """The newest call of a ticket, and how often it has been called."""

    at: int
    times: int


class Calls:
    """The last calls of a queue, each ticket once, built from the queue's events in order."""

    def __init__(self, newest_first: Sequence[Event] = ()) -> None:
        self._calls: OrderedDict[int, Call] = OrderedDict()
        self._read: frozenset[str] = frozenset()
        self.add(reversed(newest_first))
        self._read = frozenset(event.id for event in newest_first)

    def add(self, events: Iterable[Event]) -> bool:
        """Process events; return whether the board may have changed."""
        changed = False
        for event in events:
            if event.type is EventType.QUEUE_CREATED:
                # The queue was deleted and recreated: its numbers begin again.
                self._calls.clear()
                self._read = frozenset()
                changed = True
            # The event stream may repeat events that were read at the start.
            if event.ticket is None or event.id in self._read:
                continue
            if event.type in (EventType.CALLED, EventType.RECALLED):
                before = self._calls.pop(event.ticket, None)
                again = before.times if before and event.type is EventType.RECALLED else 0
                self._calls[event.ticket] = Call(event.at, again + 1)
            elif event.type is EventType.RETURNED:
                self._calls.pop(event.ticket, None)
            changed = changed or event.type is not EventType.JOINED
        while len(self._calls) > REMEMBERED:
            self._calls.popitem(last=False)
        return changed

    @property
    def numbers(self) -> list[int]:
        """The numbers of the tickets, the last called first."""
        return list(reversed(self._calls))

    def of(self, ticket: Ticket) -> Call:
        """The last call of a ticket; if it is not remembered, its first call."""
        return self._calls.get(ticket.number) or Call(ticket.admitted, 1)


class BoardEntry(Struct, frozen=True):
    """One number on the board."""

    label: str
    desk: str | None
    called: Call
    status: Status


class Board(Struct, frozen=True):
    """The content of a queue's board. Of people, it only has the labels."""

    queue: QueueId
    snapshot: QueueSnapshot
    settings: QueueSettings
    serving: list[BoardEntry]
    """Called and on their way, or at a desk; the last called first."""
    called: list[BoardEntry]
    """The last calls, including those that are already completed."""


async def read_board(service: Fairline, queue: QueueId, calls: Calls) -> Board:
    """Read the board of a queue. The cost does not grow with the length of the line."""
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
    """Add tickets whose call is too long ago to be remembered: where staff call, everyone inside was called."""
    known = {ticket.number: ticket for ticket in tickets}
    if sum(ticket.status in _AT_DESK for ticket in tickets) < snapshot.inside:
        for status in _AT_DESK:
            page = await service.tickets(queue, status, None, AT_MOST_SERVING)
            known |= {ticket.number: ticket for ticket in page.tickets}
    return list(known.values())
