"""Operations on the line: joining it, staying in it, and changing places."""

from __future__ import annotations

from collections.abc import Sequence

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Ticket, TicketStatus
from fairline.errors import FairlineError, SettingsChanged
from fairline.store.arrivals import Arrival, EstimateSample, JoinCalendar, Joined
from fairline.store.checks import check_arrivals, check_batch, check_level, check_places, in_ms
from fairline.store.valkey.answers import acted_ticket, joins, rows_of
from fairline.store.valkey.arrivals import pack_arrivals
from fairline.store.valkey.operations import Operations
from fairline.store.valkey.record import unpack_ticket, unpack_ticket_status
from fairline.store.valkey.settings import pack_join_calendar
from fairline.store.values import Group, Reply


class LineOperations(Operations):
    """See `contract.Store`."""

    async def join(
        self, queue: QueueId, arrivals: Sequence[Arrival], calendar: JoinCalendar | None = None
    ) -> Reply[Joined | FairlineError]:
        check_arrivals(arrivals)
        packed, limits = pack_arrivals(queue, arrivals)
        snapshot, items = await self._run("join", queue, [*pack_join_calendar(calendar), *packed], limits)
        if calendar is not None and calendar.version != snapshot.version:
            raise SettingsChanged(calendar.version, snapshot.version)
        return Reply(snapshot, list(joins(queue, arrivals, items, snapshot)))

    async def heartbeat(
        self, queue: QueueId, numbers: Sequence[int], *, closing: bool = False
    ) -> Reply[TicketStatus | None]:
        return await self._ticket_statuses("heartbeat", queue, numbers, "1" if closing else "")

    async def record_heartbeats(self, queue: QueueId, numbers: Sequence[int]) -> None:
        check_batch(numbers)
        await self._run("record_heartbeats", queue, numbers)

    async def status(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        return await self._ticket_statuses("look_up", queue, numbers)

    async def unload(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        return await self._ticket_statuses("unload", queue, numbers)

    async def look_up(self, queue: QueueId, numbers: Sequence[int]) -> Reply[Ticket | None]:
        check_batch(numbers)
        snapshot, items = await self._run("look_up", queue, numbers)
        rows = zip(numbers, rows_of(items, 3), strict=True)
        return Reply(snapshot, [unpack_ticket(n, row, snapshot.stopped) if row[2] else None for n, row in rows])

    async def record_estimates(self, queue: QueueId, shown: Sequence[EstimateSample]) -> None:
        check_batch(shown)
        await self._run("record_estimates", queue, [part for each in shown for part in in_ms(each)])

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        check_level(level)
        snapshot, items = await self._run("prioritise", queue, [number, level])
        return acted_ticket(queue, Action.PRIORITISE, number, items, snapshot)

    async def step_back(self, queue: QueueId, number: int, places: int, seen: int | None = None) -> Ticket:
        check_places(places)
        snapshot, items = await self._run("step_back", queue, [number, places, "" if seen is None else seen])
        return acted_ticket(queue, Action.STEP_BACK, number, items, snapshot)

    async def note_nearly(self, queue: QueueId, places: int) -> list[int]:
        check_places(places)
        _, numbers = await self._run("nearly", queue, [places])
        return [int(number) for number in numbers]

    async def group(self, queue: QueueId, number: int) -> Group | None:
        _, found = await self._run("group", queue, [number])
        return Group(*map(int, found)) if found else None

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        snapshot, items = await self._run("rebind", queue, [number, joined, moved, client])
        return acted_ticket(queue, Action.HEARTBEAT, number, items, snapshot)

    async def _ticket_statuses(
        self, name: str, queue: QueueId, numbers: Sequence[int], *args: str
    ) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        snapshot, items = await self._run(name, queue, [*args, *numbers])
        rows = zip(numbers, rows_of(items, 3), strict=True)
        return Reply(snapshot, [unpack_ticket_status(n, row, snapshot.stopped) if row[2] else None for n, row in rows])
