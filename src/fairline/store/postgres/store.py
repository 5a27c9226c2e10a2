"""The store on PostgreSQL: every operation is one function, one transaction, one round trip."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from fairline.domain.events import CALLS, Event
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import stored_settings
from fairline.domain.ticket import REASONS, Action, Came, Reason, Status, Ticket, TicketStatus, Went
from fairline.errors import (
    FairlineError,
    IdempotencyConflict,
    InvalidRequest,
    PriorityPassNotFound,
    QueueExists,
    QueuePaused,
    SettingsChanged,
    StoreNotSupported,
    TicketNotFound,
    TransitionRefused,
)
from fairline.store.checks import (
    call_fingerprint,
    check_act,
    check_arrivals,
    check_batch,
    check_level,
    check_limit,
    check_places,
    in_ms,
    milliseconds,
    read_cursor,
)
from fairline.store.contract import (
    CALLS_WITHIN,
    MISSED_LOOKED_AT,
    REVISIONS_KEPT,
    Arrival,
    Arriving,
    Clock,
    Closed,
    Configured,
    EstimateSample,
    JoinCalendar,
    Joined,
    Kind,
    Lapsed,
    Page,
    PriorityPass,
    Reply,
    Revision,
    Swept,
    Visit,
    Visitor,
)
from fairline.store.desks import DeskState, desk_states
from fairline.store.embedded import EmbeddedServer
from fairline.store.postgres.answers import (
    acted_ticket,
    decode,
    event_of,
    joined,
    outcomes,
    revision_of,
    snapshot_of,
    ticket_of,
    ticket_status_of,
)
from fairline.store.postgres.client import Client, connect, mapped_errors
from fairline.store.postgres.migrate import status as schema_status
from fairline.store.postgres.migrate import upgrade
from fairline.store.postgres.outbox import PostgresOutbox
from fairline.store.postgres.registry import PostgresRegistry
from fairline.store.refusals import not_a_desk, too_many_desks
from fairline.store.stats import Counts, series, stats_of
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats

_CURSOR = re.compile(r"([1-5]):(-?[0-9]{1,18})", re.ASCII)
_EVENT_ID = re.compile(r"[0-9]{1,18}", re.ASCII)
_json = msgspec.json.encode


async def open_postgres(
    url: str, *, clock: Clock | None = None, server: EmbeddedServer | None = None, connections: int = 8
) -> PostgresStore:
    """Open the store at `url`, upgraded to the version this code needs; it has answered when this returns."""
    await _upgrade_if_needed(url)
    store = PostgresStore(Client(url, connections), clock, server)
    try:
        await store.open()
        await store.time()
    except BaseException:
        await store.close()
        raise
    return store


async def _upgrade_if_needed(url: str) -> None:
    """Upgrade an older database if this role may; otherwise say what has to be done."""
    async with mapped_errors(), await connect(url) as connection:
        found = await schema_status(connection)
        if found.current:
            return
        may = await connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')")
        row = await may.fetchone()
        if not (row and row[0]) and not found.newer:
            raise StoreNotSupported(
                f"The database is at version {found.version} and has to be upgraded, which this role may not do. "
                "Run 'fairline db upgrade --role …' as its owner."
            )
        await upgrade(connection)


class PostgresStore:
    """See `contract.Store`."""

    kind: Kind = "postgresql"

    def __init__(self, client: Client, clock: Clock | None, server: EmbeddedServer | None) -> None:
        self.registry = PostgresRegistry(client, clock)
        self.outbox = PostgresOutbox(client, clock)
        self._client = client
        self._clock = clock
        self._server = server

    async def open(self) -> None:
        """Connect."""
        await self._client.open()

    async def close(self) -> None:
        await self._client.close()
        if self._server:
            await asyncio.to_thread(self._server.stop)

    async def time(self) -> int:
        now = int(decode(await self._client.call("store_time")))
        return self._clock() if self._clock else now

    # Queues

    async def queues(self) -> list[QueueId]:
        return [QueueId(name) for name in decode(await self._client.call("all_queues"))]

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        if not await self._call("create_queue", queue, _json(settings).decode(), by):
            raise QueueExists(queue)

    async def settings(self, queue: QueueId) -> Configured:
        version, found = decode(await self._client.call("settings", queue, queue=queue))
        return Configured(stored_settings(found), version)

    async def version(self, queue: QueueId) -> int:
        return int(await self._client.call("version_of", queue, queue=queue))

    async def configure(self, queue: QueueId, settings: QueueSettings, version: int, by: str = "") -> Configured:
        found = await self._call("configure", queue, version, _json(settings).decode(), by, REVISIONS_KEPT)
        if found != version:
            raise SettingsChanged(version, found)
        return Configured(settings, version + 1)

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        return [*map(revision_of, decode(await self._client.call("list_revisions", queue, before, limit, queue=queue)))]

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        found = decode(await self._client.call("remove_queue", queue, version, queue=queue))
        if version is not None and found != version:
            raise SettingsChanged(version, found)

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        snapshot, _ = await self._call("look_up", queue, [], False)
        return snapshot_of(snapshot)

    # People who wait

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
            [_json(a.person).decode() for a in arrivals],
            [a.through for a in arrivals],
            [a.series for a in arrivals],
            [a.on_hold for a in arrivals],
            [_json(a.came).decode() if a.came else None for a in arrivals],
            [a.missing for a in arrivals],
        )
        snapshot, rows = await self._call("join", queue, *_join_calendar(calendar), *columns)
        if calendar is not None and calendar.version != snapshot[2]:
            raise SettingsChanged(calendar.version, snapshot[2])
        pairs = zip(arrivals, rows, strict=True)
        return Reply(snapshot_of(snapshot), [joined(queue, arrival, row) for arrival, row in pairs])

    async def heartbeat(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        return _ticket_statuses(await self._call("heartbeat", queue, list(numbers)))

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
        await self._call("record_estimates", queue, *([row[column] for row in rows] for column in range(4)))

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

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        answer = await self._call("rebind", queue, number, joined, moved, client)
        return acted_ticket(queue, Action.HEARTBEAT, number, answer)

    # Admission

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        snapshot, numbers = await self._call("admit", queue, at_most, milliseconds(every), milliseconds(lease))
        return Reply(snapshot_of(snapshot), numbers)

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        fingerprint = call_fingerprint(count, number, desk)
        _, (outcome, rows) = await self._call("call_next", queue, count, number, desk, key, fingerprint)
        match outcome:
            case "conflict":
                raise IdempotencyConflict
            case "paused":
                raise QueuePaused(queue, (await self.settings(queue)).settings.status)
            case "missing":
                raise TicketNotFound(queue, number or 0)
            case "desk":
                raise not_a_desk(rows)
            case "refused":
                found = ticket_of(rows[0])
                raise TransitionRefused(Action.CALL, found.found, found.reason)
        return [ticket_of(row) for row in rows if row]

    # Sessions, and actions on tickets

    async def visit(
        self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]
    ) -> Reply[TicketStatus | FairlineError]:
        check_batch(visitors)
        each = [Visitor(*visitor) for visitor in visitors]
        numbers = [visitor.number for visitor in each]
        by, views = [visitor.by for visitor in each], [visitor.views for visitor in each]
        answer = await self._call("visit", queue, what, numbers, by, views, [visitor.joined for visitor in each])
        return outcomes(queue, Action.TOUCH if what == "touch" else Action.START, numbers, answer)

    async def act(
        self,
        queue: QueueId,
        action: Action,
        numbers: Sequence[int],
        joined: Sequence[int | None] = (),
        by: Sequence[bytes] = (),
    ) -> Reply[TicketStatus | FairlineError]:
        check_batch(numbers)
        check_act(action)
        why, many = REASONS.get(action), len(numbers)
        columns = (list(numbers), list(joined or [None] * many), list(by or [b""] * many))
        answer = await self._call("act", queue, action.value, why.value if why else None, *columns)
        return outcomes(queue, action, numbers, answer)

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        detail = f"{went.queue} {went.number}"
        answer = await self._call("transfer", queue, number, _json(went).decode(), detail)
        return acted_ticket(queue, Action.TRANSFER, number, answer)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        return acted_ticket(queue, Action.REVOKE, number, await self._call("revoke", queue, number, reason))

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        return dict(decode(await self._client.call("all_revoked", queue, queue=queue)))

    # Keeping

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        answer = await self._call("sweep", queue, at_most, milliseconds(every), milliseconds(lease), stalled)
        _, (due, lapsed) = answer
        return Swept([Lapsed(number, Reason(why)) for number, why in lapsed], more=due >= at_most)

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        check_limit(limit)
        return float(await self._call("try_limit", queue, who, action, limit, milliseconds(seconds))) / 1000

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        part, seen = map(int, cursor.split(":")) if cursor else (None, None)
        part, seen, numbers = await self._call("close_day", queue, ends, at_most, part, seen)
        return Closed(numbers, None if part is None else f"{part}:{seen}")

    # Desks

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        outcome, names = await self._call("set_desk", queue, name, is_open)
        if outcome == "desk":
            raise not_a_desk(names, "name")
        if outcome == "full":
            raise too_many_desks()

    async def desks(self, queue: QueueId) -> list[DeskState]:
        settings = (await self.settings(queue)).settings
        now, found = await self._call("all_desks", queue)
        return desk_states(settings, now, dict(found))

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        return (await self._counts(queue, older=older)).desk_tallies()

    # Priority passes

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        check_level(level)
        await self._call("issue_pass", queue, pass_id, level, uses, milliseconds(seconds))

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        return [PriorityPass(*row) for row in await self._call("all_passes", queue)]

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        if not await self._call("withdraw_pass", queue, pass_id):
            raise PriorityPassNotFound(queue, pass_id)

    # Reading

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        found = read_cursor(_CURSOR, cursor)
        part, seen = (int(found[1]), int(found[2])) if found else (None, None)
        wanted = status.value if status else None
        answer = await self._client.call("list_tickets", queue, wanted, part, seen, limit, queue=queue)
        part, seen, rows = decode(answer)
        return Page([ticket_of(row) for row in rows], None if part is None else f"{part}:{seen}")

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        answer = await self._client.call("list_tickets", queue, Status.WAITING.value, 2, None, limit, queue=queue)
        return [ticket_of(row) for row in decode(answer)[2]]

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        rows, came = decode(await self._client.call("arriving", queue, limit, queue=queue))
        pairs = zip(rows, came, strict=True)
        return [Arriving(ticket_of(row), msgspec.convert(origin, Came)) for row, origin in pairs]

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        answer = await self._client.call("missed", queue, since, limit, MISSED_LOOKED_AT, queue=queue)
        return [ticket_of(row) for row in decode(answer)]

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        if after and not _EVENT_ID.fullmatch(after):
            raise InvalidRequest("after", f"must be the id of an event; got {after!r:.80}")
        last = int(after) if after else None
        rows = decode(await self._client.call("list_events", queue, last, limit, queue=queue))
        return [event_of(row) for row in rows]

    async def last_event(self, queue: QueueId) -> str:
        return await self._client.call("last_event", queue, queue=queue)

    async def newest_events(self) -> dict[QueueId, str]:
        return {QueueId(name): str(event) for name, event in decode(await self._client.call("newest_events"))}

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        return await self._client.call("events_lost", queue, int(after), queue=queue) == "true"

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        rows = decode(await self._client.call("list_calls", queue, [*CALLS], CALLS_WITHIN, limit, queue=queue))
        return [event_of(row) for row in rows]

    async def stats(self, queue: QueueId) -> Stats:
        snapshot, last, fields, minutes = await self._call("all_counts", queue)
        return stats_of(snapshot_of(snapshot), Counts(fields), dict(minutes), last)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        return (await self._counts(queue)).hourly()

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        older = since is not None or until is not None
        return (await self._counts(queue, older=older)).report(since, until)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        snapshot, minutes = await self._call("series", queue, step * points)
        return series(snapshot_of(snapshot), dict(minutes), step, points)

    async def _counts(self, queue: QueueId, *, older: bool = False) -> Counts:
        _, _, fields, _ = await self._call("all_counts", queue)
        counts = Counts(fields)
        if not older:
            return counts
        return counts.with_older(decode(await self._client.call("older_hours", queue, queue=queue)))

    async def _call(self, name: str, queue: QueueId, *args: Any) -> Any:
        """Run an operation that takes the queue and the time."""
        now = self._clock() if self._clock else None
        return decode(await self._client.call(name, queue, now, *args, queue=queue))


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
