"""Reads the answers of the operations: JSON arrays as `snapshot_of`, `ticket_status` and `full_ticket` build them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.settings_checks import stored_settings
from fairline.domain.ticket import Action, Person, Reason, Status, Ticket, TicketStatus, Went
from fairline.errors import FairlineError, TicketNotFound
from fairline.store.arrivals import Arrival, Joined
from fairline.store.checks import proven
from fairline.store.refusals import refusal, refused
from fairline.store.values import Outcomes, Reply, Revision

decode = msgspec.json.Decoder().decode
encode = msgspec.json.encode
_STATUS = {status.value: status for status in Status}
_REASON: dict[str | None, Reason | None] = {None: None, **{reason.value: reason for reason in Reason}}


def snapshot_of(fields: Sequence[Any]) -> QueueSnapshot:
    """The queue at the moment of the answer."""
    counts, measured, (on_hold, desks, cycles, cycle, calls) = fields[:7], map(float, fields[7:12]), fields[12:17]
    tokens, tokens_at, spread, head_joined, passed, *noted = fields[17:25]
    by_age = (tuple(map(float, each)) for each in fields[25:])
    values: tuple[Any, ...] = (
        *counts, *measured, on_hold, desks, cycles, float(cycle), float(calls),
        float(tokens), tokens_at, float(spread), head_joined, float(passed), *noted, *by_age,
    )  # fmt: skip
    return QueueSnapshot(*values)


def ticket_status_of(row: Sequence[Any]) -> TicketStatus:
    """The status of a ticket."""
    number, status, level, joined, reason, rank, deadline, leaving, desk, on_hold, serial, moved, *drawn = row
    drawn_rank, drawn_in = drawn
    return TicketStatus(
        number=number,
        status=_STATUS[status],
        priority=level,
        joined=joined,
        reason=_REASON[reason],
        position=rank,
        deadline=deadline,
        leaving=leaving,
        desk=desk,
        on_hold=on_hold,
        serial=serial,
        moved=moved,
        drawn_rank=drawn_rank or 0,
        drawn_in=drawn_in or "",
    )


def ticket_of(row: Sequence[Any]) -> Ticket:
    """A full ticket."""
    place, admitted, started, ended, views, client, person, went = row[14:]
    return Ticket(
        **asdict(ticket_status_of(row[:14])),
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
    """The result of one arrival."""
    outcome, detail, found = row
    if found is None:
        return refusal(queue, outcome, detail)
    ticket = ticket_of(found)
    return Joined(
        ticket, created=outcome == "joined", proven=proven(arrival, outcome, ticket), by_key=outcome == "repeated"
    )


def outcomes(queue: QueueId, action: Action, numbers: Sequence[int], answer: Sequence[Any]) -> Outcomes:
    """The result of an action on each ticket."""
    snapshot, rows = answer
    return Reply(
        snapshot_of(snapshot), [_outcome(queue, action, n, *row) for n, row in zip(numbers, rows, strict=True)]
    )


def _outcome(
    queue: QueueId, action: Action, number: int, outcome: str, row: Sequence[Any] | None
) -> TicketStatus | FairlineError:
    if row is None:
        return TicketNotFound(queue, number)
    ticket_status = ticket_status_of(row)
    return ticket_status if outcome == "done" else refused(queue, action, outcome, ticket_status)


def acted_ticket(queue: QueueId, action: Action, number: int, answer: Sequence[Any]) -> Ticket:
    """The ticket after an action on it; raises the error if it was refused."""
    _, (outcome, row) = answer
    if row is None:
        raise TicketNotFound(queue, number)
    ticket = ticket_of(row)
    if outcome != "done":
        raise refused(queue, action, outcome, ticket)
    return ticket


def event_of(row: Sequence[Any]) -> Event:
    """One event."""
    event_id, kind, at, ticket, detail = row
    return Event(id=str(event_id), type=EventType(kind), at=at, ticket=ticket, detail=detail)


def revision_of(row: Sequence[Any]) -> Revision:
    """One revision of the settings."""
    version, at, by, settings, first = row
    return Revision(version, at, by, stored_settings(settings), first)
