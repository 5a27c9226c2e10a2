"""The store on Valkey, Redis, or a cluster of either: every operation is one script."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from fairline.domain.events import Event
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action, Reason, Status, Ticket, TicketStatus, Went
from fairline.errors import (
    FairlineError,
    IdempotencyConflict,
    PriorityPassNotFound,
    QueueExists,
    QueueNotFound,
    QueuePaused,
    SettingsChanged,
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
from fairline.store.constants import MINUTE_MS
from fairline.store.contract import (
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
from fairline.store.refusals import not_a_desk, too_many_desks
from fairline.store.stats import Counts, minutes_of, series, stats_of
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats
from fairline.store.valkey.answers import (
    acted_ticket,
    joins,
    outcome,
    outcomes,
    revision,
    rows_of,
    same_ticket,
    snapshot_of,
)
from fairline.store.valkey.arrivals import pack_arrivals
from fairline.store.valkey.client import Connection, Runner, connect, mapped_errors
from fairline.store.valkey.events import EventStream
from fairline.store.valkey.keys import key, rate_key
from fairline.store.valkey.names import QueueNames
from fairline.store.valkey.outbox import ValkeyOutbox
from fairline.store.valkey.record import pack_went, unpack_came, unpack_ticket, unpack_ticket_status
from fairline.store.valkey.registry import ValkeyRegistry
from fairline.store.valkey.settings import pack_join_calendar, pack_settings, unpack_settings
from fairline.store.valkey.tallies import TallyReader

_CURSOR = re.compile(r"[1-5]:-?[0-9]{1,20}(\.[0-9]{1,20})?(e\+[0-9]{1,3})?", re.ASCII)


async def open_valkey(
    url: str, *, clock: Clock | None = None, server: EmbeddedServer | None = None, connections: int = 16
) -> ValkeyStore:
    """Open the store at `url`; it has answered when this returns."""
    store = ValkeyStore(connect(url, connections), clock, server)
    try:
        await store.time()
    except BaseException:
        await store.close()
        raise
    return store


class ValkeyStore:
    """See `contract.Store`."""

    kind: Kind = "valkey"

    def __init__(self, client: Connection, clock: Clock | None, server: EmbeddedServer | None) -> None:
        self.registry = ValkeyRegistry(client, self.time)
        self._client = client
        self._names = QueueNames(client)
        self._events = EventStream(client)
        self._tallies = TallyReader(client)
        self._runner = Runner(client)
        self.outbox = ValkeyOutbox(client, self._runner, clock)
        self._clock = clock
        self._server = server

    async def close(self) -> None:
        await self._runner.close()
        await self._client.aclose()
        if self._server:
            await asyncio.to_thread(self._server.stop)

    async def time(self) -> int:
        async with mapped_errors():
            seconds, micros = await self._client.time()
        return self._clock() if self._clock else int(seconds) * 1000 + int(micros) // 1000

    # Queues

    async def queues(self) -> list[QueueId]:
        return await self._names.all()

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        await self._names.add(queue)
        now = self._clock() if self._clock else ""
        made = await self._runner.run("create", queue, [now, by, *pack_settings(settings)])
        await self._names.add(queue)
        if not made:
            raise QueueExists(queue)

    async def settings(self, queue: QueueId) -> Configured:
        async with mapped_errors():
            found = unpack_settings(await self._client.hgetall(key(queue, "queue")))
        if found is None:
            raise QueueNotFound(queue)
        return found

    async def version(self, queue: QueueId) -> int:
        found = await self._runner.ask("HGET", key(queue, "queue"), "version")
        if found is None:
            raise QueueNotFound(queue)
        return int(found)

    async def configure(self, queue: QueueId, settings: QueueSettings, version: int, by: str = "") -> Configured:
        args = [version, REVISIONS_KEPT, by, *pack_settings(settings)]
        _, (version_found,) = await self._run("configure", queue, args)
        found = int(version_found)
        if found != version:
            raise SettingsChanged(version, found)
        return Configured(settings, version + 1)

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        async with mapped_errors():
            made = await self._client.hget(key(queue, "queue"), "created_at")
            newest = "+" if before is None else f"({before}-0"
            found = await self._client.xrevrange(key(queue, "history"), newest, "-", limit)
        if made is None:
            raise QueueNotFound(queue)
        return [revision(int(made), version, fields) for version, fields in found]

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        _, (version_found,) = await self._run("delete", queue, ["" if version is None else version])
        found = int(version_found)
        if version is not None and found != version:
            raise SettingsChanged(version, found)
        await self._names.remove(queue)

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        snapshot, _ = await self._run("look_up", queue, [])
        return snapshot

    # People who wait

    async def join(
        self, queue: QueueId, arrivals: Sequence[Arrival], calendar: JoinCalendar | None = None
    ) -> Reply[Joined | FairlineError]:
        check_arrivals(arrivals)
        packed, limits = pack_arrivals(queue, arrivals)
        snapshot, items = await self._run("join", queue, [*pack_join_calendar(calendar), *packed], limits)
        if calendar is not None and calendar.version != snapshot.version:
            raise SettingsChanged(calendar.version, snapshot.version)
        return Reply(snapshot, list(joins(queue, arrivals, items, snapshot)))

    async def heartbeat(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        return await self._ticket_statuses("heartbeat", queue, numbers)

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

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        snapshot, items = await self._run("rebind", queue, [number, joined, moved, client])
        return acted_ticket(queue, Action.HEARTBEAT, number, items, snapshot)

    # Admission

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        snapshot, items = await self._run("admit", queue, [at_most, milliseconds(every), milliseconds(lease)])
        return Reply(snapshot, [int(number) for number in items])

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        one = "" if number is None else str(number)
        fingerprint = call_fingerprint(count, number, desk)
        snapshot, items = await self._run("call", queue, [count, one, desk, key, fingerprint])
        outcome = items[0]
        if outcome == b"conflict":
            raise IdempotencyConflict
        if outcome == b"paused":
            raise QueuePaused(queue, (await self.settings(queue)).settings.status)
        if outcome == b"missing":
            raise TicketNotFound(queue, int(one))
        if outcome == b"desk":
            raise not_a_desk([name.decode() for name in items[1:]])
        tickets = [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items[1:], 4) if row[2]]
        if outcome == b"refused":
            raise TransitionRefused(Action.CALL, tickets[0].found, tickets[0].reason)
        return tickets

    # Sessions, and actions on tickets

    async def visit(
        self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]
    ) -> Reply[TicketStatus | FairlineError]:
        check_batch(visitors)
        asked = [each if isinstance(each, Visitor) else Visitor(*each) for each in visitors]
        if what != "visit" or any(each.views for each in asked):
            return await self._visit(queue, what, asked)
        # Nearly always everyone is inside already, and nothing has to be written: a cheaper script can tell.
        snapshot, items = await self._run("inside", queue, [part for each in asked for part in each[:2]])
        rows = list(rows_of(items, 4))
        others = [each for each, row in zip(asked, rows, strict=True) if not row[0]]
        # Sessions that start now change the queue, so the answer has the later snapshot.
        later = await self._visit(queue, what, others) if others else Reply(snapshot, [])
        stepped = iter(later.items)
        return Reply(
            later.snapshot,
            [
                same_ticket(queue, each.joined, outcome(queue, Action.START, each.number, row, snapshot))
                if row[0]
                else next(stepped)
                for each, row in zip(asked, rows, strict=True)
            ],
        )

    async def _visit(self, queue: QueueId, what: Visit, asked: list[Visitor]) -> Reply[TicketStatus | FairlineError]:
        args = [part for each in asked for part in (each.number, each.by, each.views, each.joined or "")]
        snapshot, items = await self._run("visit", queue, [what, *args])
        action = Action.TOUCH if what == "touch" else Action.START
        return outcomes(queue, action, [each.number for each in asked], items, snapshot)

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
        times, owners = joined or [None] * len(numbers), by or [b""] * len(numbers)
        args = [part for each in zip(numbers, (at or "" for at in times), owners, strict=True) for part in each]
        snapshot, items = await self._run("act", queue, [action.value, *args])
        return outcomes(queue, action, numbers, items, snapshot)

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        detail = f"{went.queue} {went.number}"
        snapshot, items = await self._run("transfer", queue, [number, pack_went(went), detail])
        return acted_ticket(queue, Action.TRANSFER, number, items, snapshot)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        snapshot, items = await self._run("revoke", queue, [number, reason])
        return acted_ticket(queue, Action.REVOKE, number, items, snapshot)

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        await self.snapshot(queue)
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "revoked"))
        return {int(number): reason.decode() for number, reason in sorted(found.items(), key=lambda item: int(item[0]))}

    # Keeping

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        _, (due, *lapsed) = await self._run(
            "sweep", queue, [at_most, milliseconds(every), milliseconds(lease), int(stalled)]
        )
        return Swept([Lapsed(int(n), Reason(why.decode())) for n, why in rows_of(lapsed, 2)], more=due >= at_most)

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        check_limit(limit)
        _, (wait,) = await self._run("limit", queue, [limit, milliseconds(seconds)], [rate_key(queue, who, action)])
        return float(wait) / 1000

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        _, (after, *numbers) = await self._run("close", queue, [ends, at_most, cursor or ""])
        return Closed([int(number) for number in numbers], after.decode() or None)

    # Desks

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        _, (outcome, *names) = await self._run("desk", queue, [name, int(is_open)])
        if outcome == b"desk":
            raise not_a_desk([each.decode() for each in names], "name")
        if outcome == b"full":
            raise too_many_desks()

    async def desks(self, queue: QueueId) -> list[DeskState]:
        snapshot, settings = await self.snapshot(queue), (await self.settings(queue)).settings
        async with mapped_errors():
            found = await self._client.zrange(key(queue, "desks"), 0, -1, withscores=True)
        return desk_states(settings, snapshot.now, {name.decode(): int(score) for name, score in found})

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        return (await self._counts(queue, older=older)).desk_tallies()

    # Priority passes

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        check_level(level)
        await self._run("pass", queue, [pass_id, level, uses, milliseconds(seconds)])

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        now = (await self.snapshot(queue)).now
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "passes"))
        passes = (PriorityPass(pass_id.decode(), *map(int, kept.split())) for pass_id, kept in found.items())
        return sorted((each for each in passes if each.expires > now), key=lambda each: each.id)

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        _, (found,) = await self._run("pass", queue, [pass_id, "", "", ""])
        if not found:
            raise PriorityPassNotFound(queue, pass_id)

    # Reading

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        read_cursor(_CURSOR, cursor)
        snapshot, (after, *items) = await self._run("list", queue, [status or "", cursor or "", limit])
        rows = (unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4))
        return Page(list(rows), after.decode() or None)

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        snapshot, (_, *items) = await self._run("list", queue, [Status.WAITING.value, "2:-inf", limit])
        return [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4)]

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        snapshot, items = await self._run("arriving", queue, [limit])
        return [
            Arriving(unpack_ticket(int(number), row, snapshot.stopped), unpack_came(came))
            for came, number, *row in rows_of(items, 5)
        ]

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        snapshot, items = await self._run("missed", queue, [since, limit, MISSED_LOOKED_AT])
        return [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4)]

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        return await self._events.after(queue, after, limit)

    async def last_event(self, queue: QueueId) -> str:
        return await self._events.last(queue)

    async def newest_events(self) -> dict[QueueId, str]:
        return await self._names.newest_events()

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        return await self._events.lost(queue, after)

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        return await self._events.calls(queue, limit)

    async def stats(self, queue: QueueId) -> Stats:
        snapshot, tallies = await self.snapshot(queue), self._tallies
        counts, last = await tallies.counts(queue), await tallies.last_admission(queue)
        minutes = await tallies.minutes(queue, range(snapshot.now // MINUTE_MS - 1, snapshot.now // MINUTE_MS + 1))
        return stats_of(snapshot, counts, minutes, last)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        return (await self._counts(queue)).hourly()

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        older = since is not None or until is not None
        return (await self._counts(queue, older=older)).report(since, until)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        snapshot = await self.snapshot(queue)
        minutes = await self._tallies.minutes(queue, minutes_of(step, points, snapshot.now))
        return series(snapshot, minutes, step, points)

    async def _counts(self, queue: QueueId, *, older: bool = False) -> Counts:
        await self.snapshot(queue)  # raises QueueNotFound
        return await self._tallies.counts(queue, older=older)

    async def _ticket_statuses(self, name: str, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        check_batch(numbers)
        snapshot, items = await self._run(name, queue, numbers)
        rows = zip(numbers, rows_of(items, 3), strict=True)
        return Reply(snapshot, [unpack_ticket_status(n, row, snapshot.stopped) if row[2] else None for n, row in rows])

    async def _run(
        self, name: str, queue: QueueId, args: Sequence[Any], more_keys: Sequence[str] = ()
    ) -> tuple[QueueSnapshot, list[Any]]:
        now = self._clock() if self._clock else ""
        snapshot, items = await self._runner.run(name, queue, [now, *args], more_keys)
        return snapshot_of(snapshot), items
