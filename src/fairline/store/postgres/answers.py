"""Reads what the operations answer: JSON arrays in the order of the functions `view_of`, `standing` and `whole`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairline.errors import FairlineError, SessionTaken, TicketNotFound, TransitionRefused
from fairline.events import Event, EventType
from fairline.queue import QueueId, QueueView
from fairline.store.contract import Arrival, Joined, Reply
from fairline.store.refusals import refusal
from fairline.ticket import Action, Person, Reason, Standing, Status, Ticket

decode = msgspec.json.Decoder().decode
_STATUS = {status.value: status for status in Status}
_REASON: dict[str | None, Reason | None] = {None: None, **{reason.value: reason for reason in Reason}}


def view_of(fields: Sequence[Any]) -> QueueView:
    """The queue at the moment of the answer."""
    now, stopped, version, waiting, admitted, active, completed, *measured = fields
    return QueueView(now, stopped, version, waiting, admitted, active, completed, *map(float, measured))


def standing_of(row: Sequence[Any]) -> Standing:
    """Where a ticket stands."""
    number, status, level, joined, reason, rank, deadline, leaving = row
    return Standing(
        number=number,
        status=_STATUS[status],
        priority=level,
        joined=joined,
        reason=_REASON[reason],
        position=rank,
        deadline=deadline,
        leaving=leaving,
    )


def ticket_of(row: Sequence[Any]) -> Ticket:
    """All that is kept of a ticket."""
    number, status, level, joined, reason, rank, deadline, leaving, *more = row
    place, admitted, started, ended, views, counter, client, person = more
    return Ticket(
        number=number,
        status=_STATUS[status],
        priority=level,
        joined=joined,
        reason=_REASON[reason],
        position=rank,
        deadline=deadline,
        leaving=leaving,
        place=float(place),
        admitted=admitted,
        started=started,
        ended=ended,
        page_views=views,
        counter=counter,
        client=bytes.fromhex(client),
        person=Person(**person),
    )


def joined(queue: QueueId, arrival: Arrival, row: Sequence[Any]) -> Joined | FairlineError:
    """What became of one arrival."""
    outcome, detail, found = row
    if found is None:
        return refusal(queue, outcome, detail)
    ticket = ticket_of(found)
    same_client = arrival.client != b"" and arrival.client == ticket.client
    return Joined(ticket, created=outcome == "joined", proven=outcome != "held" or same_client)


def outcomes(
    queue: QueueId, action: Action, numbers: Sequence[int], answer: Sequence[Any]
) -> Reply[Standing | FairlineError]:
    """What became of an action on each ticket."""
    view, rows = answer
    return Reply(view_of(view), [_outcome(queue, action, n, *row) for n, row in zip(numbers, rows, strict=True)])


def _outcome(
    queue: QueueId, action: Action, number: int, outcome: str, row: Sequence[Any] | None
) -> Standing | FairlineError:
    if row is None:
        return TicketNotFound(queue, number)
    if outcome == "taken":
        return SessionTaken()
    return standing_of(row) if outcome == "done" else TransitionRefused(action, row[1])


def whole_ticket(queue: QueueId, action: Action, number: int, answer: Sequence[Any]) -> Ticket:
    """The ticket an action on one was done to, or the error it met."""
    _, (outcome, row) = answer
    if row is None:
        raise TicketNotFound(queue, number)
    if outcome != "done":
        raise TransitionRefused(action, row[1])
    return ticket_of(row)


def event_of(row: Sequence[Any]) -> Event:
    """One entry of the outbox."""
    event_id, kind, at, ticket, detail = row
    return Event(id=str(event_id), type=EventType(kind), at=at, ticket=ticket, detail=detail)
