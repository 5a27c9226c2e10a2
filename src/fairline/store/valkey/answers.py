"""Reads the answers of the scripts: the snapshot of the queue, and rows of outcome, rank, deadline and record."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.settings_checks import stored_settings
from fairline.domain.ticket import Action, Ticket, TicketStatus
from fairline.errors import FairlineError, TicketNotFound
from fairline.store.arrivals import Arrival, Joined
from fairline.store.checks import proven
from fairline.store.constants import AGE_CLASSES
from fairline.store.refusals import refusal, refused
from fairline.store.valkey.record import new_tickets, unpack_ticket, unpack_ticket_status
from fairline.store.values import Outcomes, Reply, Revision

_SNAPSHOT = struct.Struct("<25d")
_AGES = struct.Struct(f"<{2 * AGE_CLASSES}d")


def rows_of(items: Sequence[Any], width: int) -> Iterator[tuple[Any, ...]]:
    """A flat answer in rows."""
    return zip(*[iter(items)] * width, strict=True)


def snapshot_of(packed: bytes) -> QueueSnapshot:
    """The queue at the moment of the answer, as queue.lua packs it."""
    values = _SNAPSHOT.unpack_from(packed)
    stay, leave, called, out, seen, on_hold, desks, cycles, cycle, calls = values[7:17]
    tokens, at, spread, head, passed = values[17:22]
    now, stopped, version, waiting, admitted, active, completed, passed_at, slowed_at, slowed = map(
        int, values[:7] + values[22:]
    )
    open_desks, end = int(desks), _SNAPSHOT.size
    silences: tuple[float, ...] = ()
    if open_desks:
        silences = struct.unpack_from(f"<{open_desks}d", packed, end)
        end += 8 * open_desks
    ages = _AGES.unpack_from(packed, end) if len(packed) > end else ()
    return QueueSnapshot(
        now, stopped, version, waiting, admitted, active, completed,
        stay, leave, called, out, seen, int(on_hold), open_desks, int(cycles), cycle, calls,
        tokens, int(at), spread, int(head), passed, passed_at, slowed_at, slowed,
        ages[:AGE_CLASSES], ages[AGE_CLASSES:], silences,
    )  # fmt: skip


def joins(
    queue: QueueId, arrivals: Sequence[Arrival], items: Sequence[Any], snapshot: QueueSnapshot
) -> Iterator[Joined | FairlineError]:
    """The result of each arrival."""
    coming = iter(arrivals)
    for row in rows_of(items, 6):
        if row[0] == b"row":
            for ticket in new_tickets(itertools.islice(coming, row[1]), row[2:], snapshot):
                yield Joined(ticket, created=True, proven=True)
        else:
            yield _joined(queue, next(coming), row, snapshot)
    if next(coming, None) is not None:
        raise ValueError(f"the answer has fewer items than the {len(arrivals)} arrivals")


def _joined(queue: QueueId, arrival: Arrival, row: Sequence[Any], snapshot: QueueSnapshot) -> Joined | FairlineError:
    outcome, detail, number, *rest = row
    how = outcome.decode()
    if how not in ("joined", "existing", "repeated"):
        return refusal(queue, how, detail if isinstance(detail, int) else detail.decode())
    ticket = unpack_ticket(int(number), rest, snapshot.stopped)
    return Joined(ticket, created=how == "joined", proven=proven(arrival, how, ticket), by_key=how == "repeated")


def outcomes(
    queue: QueueId, action: Action, numbers: Sequence[int], items: Sequence[Any], snapshot: QueueSnapshot
) -> Outcomes:
    """The result of an action on each ticket."""
    rows = zip(numbers, rows_of(items, 4), strict=True)
    return Reply(snapshot, [outcome(queue, action, number, row, snapshot) for number, row in rows])


def outcome(
    queue: QueueId, action: Action, number: int, row: Sequence[Any], snapshot: QueueSnapshot
) -> TicketStatus | FairlineError:
    """The result of an action on one ticket."""
    result, *rest = row
    if result == b"missing":
        return TicketNotFound(queue, number)
    ticket_status = unpack_ticket_status(number, rest, snapshot.stopped)
    if result == b"done":
        return ticket_status
    return refused(queue, action, result.decode(), ticket_status)


def same_ticket(
    queue: QueueId, joined: int | None, found: TicketStatus | FairlineError
) -> TicketStatus | FairlineError:
    """The result, or the error for another ticket if this one was not issued at `joined` (None is any time)."""
    if isinstance(found, FairlineError) or joined in (None, found.joined):
        return found
    return refused(queue, Action.START, "another", found)


def acted_ticket(queue: QueueId, action: Action, number: int, items: Sequence[Any], snapshot: QueueSnapshot) -> Ticket:
    """The ticket after an action on it; raises the error if it was refused."""
    ticket_status = outcome(queue, action, number, items, snapshot)
    if isinstance(ticket_status, FairlineError):
        raise ticket_status
    return unpack_ticket(number, items[1:], snapshot.stopped)


def tickets_of(fields: Mapping[bytes, bytes]) -> Sequence[int | None]:
    """The ticket of each event in an entry of the stream; None for an event of the queue itself."""
    first, _, last = fields[b"ticket"].partition(b"-")
    return range(int(first), int(last or first) + 1) if first else (None,)


def events_of(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Iterator[Event]:
    """The events in one entry of the stream: one event, or several joins in a row (`5-9`). The id of each but the last
    says how many events of the entry have been read with it."""
    entry, tickets = entry_id.decode(), tickets_of(fields)
    for read, ticket in enumerate(tickets, 1):
        yield Event(
            id=entry if read == len(tickets) else f"{entry}.{read}",
            type=EventType(fields[b"type"].decode()),
            at=int(fields[b"at"]),
            ticket=ticket,
            detail=fields[b"detail"].decode() or None,
        )


def revision(first_version: int, entry_id: bytes, fields: Mapping[bytes, bytes]) -> Revision:
    """One entry of the history of a queue that was created with `first_version`."""
    version = int(entry_id.partition(b"-")[0])
    settings = stored_settings(msgspec.json.decode(fields[b"settings"]))
    return Revision(version, int(fields[b"at"]), fields[b"by"].decode(), settings, first=version == first_version)
