"""Reads what the operations answer: JSON arrays in the order of the functions `view_of`, `standing` and `whole`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueView, remembered
from fairline.domain.ticket import Action, Person, Reason, Standing, Status, Ticket, Went
from fairline.errors import FairlineError, TicketNotFound
from fairline.store.checks import proven
from fairline.store.contract import Arrival, Joined, Reply, Revision
from fairline.store.refusals import refusal, refused

decode = msgspec.json.Decoder().decode
_STATUS = {status.value: status for status in Status}
_REASON: dict[str | None, Reason | None] = {None: None, **{reason.value: reason for reason in Reason}}


def view_of(fields: Sequence[Any]) -> QueueView:
    """The queue at the moment of the answer."""
    *counts, stay, leave, called, out, seen, held, desks, cycles, cycle, calls = fields
    now, stopped, version, waiting, admitted, active, completed = counts
    measured = (float(stay), float(leave), float(called), float(out), float(seen))
    at_desks = (held, desks, cycles, float(cycle), float(calls))
    return QueueView(now, stopped, version, waiting, admitted, active, completed, *measured, *at_desks)


def standing_of(row: Sequence[Any]) -> Standing:
    """Where a ticket stands."""
    number, status, level, joined, reason, rank, deadline, leaving, desk, held, serial, moved = row
    return Standing(
        number=number,
        status=_STATUS[status],
        priority=level,
        joined=joined,
        reason=_REASON[reason],
        position=rank,
        deadline=deadline,
        leaving=leaving,
        desk=desk,
        held=held,
        serial=serial,
        moved=moved,
    )


def ticket_of(row: Sequence[Any]) -> Ticket:
    """All that is kept of a ticket."""
    number, status, level, joined, reason, rank, deadline, leaving, *more = row
    desk, held, serial, moved, place, admitted, started, ended, views, client, person, went = more
    return Ticket(
        number=number,
        status=_STATUS[status],
        priority=level,
        joined=joined,
        reason=_REASON[reason],
        position=rank,
        deadline=deadline,
        leaving=leaving,
        desk=desk,
        held=held,
        serial=serial,
        moved=moved,
        place=float(place),
        admitted=admitted,
        started=started,
        ended=ended,
        page_views=views,
        client=bytes.fromhex(client),
        person=Person(**person),
        went=Went(**went) if went else None,
    )


def joined(queue: QueueId, arrival: Arrival, row: Sequence[Any]) -> Joined | FairlineError:
    """What became of one arrival."""
    outcome, detail, found = row
    if found is None:
        return refusal(queue, outcome, detail)
    ticket = ticket_of(found)
    return Joined(
        ticket, created=outcome == "joined", proven=proven(arrival, outcome, ticket), by_key=outcome == "again"
    )


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
    standing = standing_of(row)
    return standing if outcome == "done" else refused(queue, action, outcome, standing)


def whole_ticket(queue: QueueId, action: Action, number: int, answer: Sequence[Any]) -> Ticket:
    """The ticket an action on one was done to, or the error it met."""
    _, (outcome, row) = answer
    if row is None:
        raise TicketNotFound(queue, number)
    ticket = ticket_of(row)
    if outcome != "done":
        raise refused(queue, action, outcome, ticket)
    return ticket


def event_of(row: Sequence[Any]) -> Event:
    """One entry of the outbox."""
    event_id, kind, at, ticket, detail = row
    return Event(id=str(event_id), type=EventType(kind), at=at, ticket=ticket, detail=detail)


def revision_of(row: Sequence[Any]) -> Revision:
    """One row of the history."""
    version, at, by, settings, first = row
    return Revision(version, at, by, remembered(settings), first)
