"""Operations on the line: joining it, staying in it, and changing places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Ticket, TicketStatus
from fairline.errors import FairlineError, SettingsChanged
from fairline.store.arrivals import Arrival, EstimateSample, JoinCalendar, Joined
from fairline.store.checks import check_arrivals, check_batch, check_level, check_places, in_ms
from fairline.store.postgres.answers import acted_ticket, encode, joined, snapshot_of, ticket_of, ticket_status_of
from fairline.store.postgres.operations import Operations
from fairline.store.values import Group, Reply


class LineOperations(Operations):
    """See `contract.Store`."""

    async def join(
        self, queue: QueueId, arrivals: Sequence[Arrival], calendar: JoinCalendar | None = None
    ) -> Reply[Joined | FairlineError]:
        check_arrivals(arrivals)
        columns = (
            [a.client for a in arrivals],
            [a.user for a in arrivals],
            [a.phone for a in arrivals],
            [a.email for a in arrivals],
            [a.address for a in arrivals],
            [a.key for a in arrivals],
            [a.fingerprint for a in arrivals],
            [a.priority for a in arrivals],
            [a.pass_id for a in arrivals],
            [a.limited for a in arrivals],
            [encode(a.person).decode() for a in arrivals],
            [a.through for a in arrivals],
            [a.series for a in arrivals],
            [a.on_hold for a in arrivals],
            [encode(a.came).decode() if a.came else None for a in arrivals],
            [a.missing for a in arrivals],
            [a.group[0] if a.group else None for a in arrivals],
            [a.group[1] if a.group else None for a in arrivals],
        )
        snapshot, rows = await self._call("join", queue, *_join_calendar(calendar), *columns)
        if calendar is not None and calendar.version != snapshot[2]:
            raise SettingsChanged(calendar.version, snapshot[2])
        pairs = zip(arrivals, rows, strict=True)
        return Reply(snapshot_of(snapshot), [joined(queue, arrival, row) for arrival, row in pairs])

    async def heartbeat(
        self, queue: QueueId, numbers: Sequence[int], *, closing: bool = False
    ) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        return _ticket_statuses(await self._call("heartbeat", queue, list(numbers), closing))

    async def record_heartbeats(self, queue: QueueId, numbers: Sequence[int]) -> None:
        check_batch(numbers)
        await self._call("record_heartbeats", queue, list(numbers))

    async def status(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        return _ticket_statuses(await self._call("look_up", queue, list(numbers), False))

    async def unload(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        return _ticket_statuses(await self._call("unload", queue, list(numbers)))

    async def look_up(self, queue: QueueId, numbers: Sequence[int]) -> Reply[Ticket | None]:
        check_batch(numbers)
        snapshot, rows = await self._call("look_up", queue, list(numbers), True)
        return Reply(snapshot_of(snapshot), [ticket_of(row) if row else None for row in rows])

    async def record_estimates(self, queue: QueueId, shown: Sequence[EstimateSample]) -> None:
        check_batch(shown)
        rows = [in_ms(each) for each in shown]
        await self._call("record_estimates", queue, *([row[column] for row in rows] for column in range(6)))

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        check_level(level)
        answer = await self._call("prioritise", queue, number, level)
        return acted_ticket(queue, Action.PRIORITISE, number, answer)

    async def step_back(self, queue: QueueId, number: int, places: int, seen: int | None = None) -> Ticket:
        check_places(places)
        return acted_ticket(queue, Action.STEP_BACK, number, await self._call("step_back", queue, number, places, seen))

    async def note_nearly(self, queue: QueueId, places: int) -> list[int]:
        check_places(places)
        numbers: list[int] = await self._call("note_nearly", queue, places)
        return numbers

    async def group(self, queue: QueueId, number: int) -> Group | None:
        found = await self._call("find_group", queue, number)
        return Group(*found) if found else None

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        answer = await self._call("rebind", queue, number, joined, moved, client)
        return acted_ticket(queue, Action.HEARTBEAT, number, answer)


def _ticket_statuses(answer: Sequence[Any]) -> Reply[TicketStatus | None]:
    snapshot, rows = answer
    return Reply(snapshot_of(snapshot), [ticket_status_of(row) if row else None for row in rows])


def _join_calendar(calendar: JoinCalendar | None) -> tuple[Any, ...]:
    """The calendar as parameters of the function."""
    if calendar is None:
        return None, [], None, None, None
    spans = calendar.open
    begins, ends = (None, None) if spans is None else ([begin for begin, _ in spans], [end for _, end in spans])
    return calendar.version, list(calendar.days), begins, ends, calendar.longest
