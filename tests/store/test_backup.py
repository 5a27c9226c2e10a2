"""Backups: a store that is lost comes back as it was, on every kind of server, and nobody lapses because of the gap."""

from __future__ import annotations

import asyncio
import secrets
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psycopg
import pytest
import redis
from psycopg.sql import SQL

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Came, Status, Went
from fairline.domain.webhook import Webhook
from fairline.errors import BackupRefused, StoreError
from fairline.keeper.keeper import SWEEP_SECONDS, Keeper
from fairline.store import (
    AdminKey,
    Arrival,
    AuditedAction,
    Clock,
    DeliveryState,
    EstimateSample,
    NewDelivery,
    Role,
    Store,
    open_store,
)
from fairline.store.backup import kind_of, load, save, schema_version
from fairline.store.backup_file import BackupReader, Header, new_backup
from fairline.store.postgres.client import connect
from fairline.store.postgres.migrate import upgrade
from fairline.store.postgres.settings_columns import add_settings_columns
from tests.backends import BACKENDS, OWNERS, ROLE, FakeClock, Servers
from tests.store.venue import Venue

#: Where each store is saved, and where it is restored.
WAYS = {
    "valkey": ("valkey", "valkey"),
    "redis": ("redis", "valkey"),
    "cluster": ("cluster", "cluster"),
    "valkey-cluster": ("valkey", "cluster"),
    "cluster-valkey": ("cluster", "valkey"),
    "postgres": ("postgres", "postgres"),
    "postgres15": ("postgres", "postgres15"),
}
OWN = "1.0.0"
DAY = 86_400


class Places(NamedTuple):
    """A store that is saved, and an empty one of its own."""

    source: str
    target: str


class EmptyStores:
    """Servers for this module, which are empty whenever a test asks for one."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self._servers = servers
        self._folder = folder
        self._urls: dict[tuple[str, int], str] = {}
        self._ending = ExitStack()

    def take(self, name: str, which: int) -> str:
        if name.startswith("postgres"):
            return self._database(name)
        if (name, which) not in self._urls:
            if reason := BACKENDS[name].missing():
                pytest.skip(reason)
            backend = BACKENDS[name](self._folder / f"{name}-{which}")
            self._ending.callback(backend.stop)
            self._urls[name, which] = backend.start()
        url = self._urls[name, which]
        flush(url)
        return url

    def _database(self, name: str) -> str:
        owner, database = OWNERS[self._servers.url(name)], f"backup_{secrets.token_hex(4)}"
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}")
        self._ending.callback(drop, owner, database)
        return owner.replace("/postgres?", f"/{database}?")

    def end(self) -> None:
        self._ending.close()


def drop(owner: str, database: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {database} WITH (FORCE)")


def flush(url: str) -> None:
    """Empty a Valkey or all masters of a cluster."""
    rest = url.partition("://")[2]
    client: Any
    if "+cluster" in url:
        client = redis.RedisCluster.from_url(f"redis://{rest}")
        client.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
    else:
        client = redis.Redis.from_url(f"{'unix' if '+unix' in url else 'redis'}://{rest}")
        client.flushall()
    client.close()


def files(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def empty(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmptyStores]:
    made = EmptyStores(servers, tmp_path_factory.mktemp("backup"))
    yield made
    made.end()


@pytest.fixture(params=WAYS)
def places(request: pytest.FixtureRequest, empty: EmptyStores) -> Places:
    source, target = WAYS[request.param]
    return Places(empty.take(source, 1), empty.take(target, 2))


@pytest.fixture
def valkeys(empty: EmptyStores) -> Places:
    return Places(empty.take("valkey", 1), empty.take("valkey", 2))


@pytest.fixture
def databases(empty: EmptyStores) -> Places:
    return Places(empty.take("postgres", 1), empty.take("postgres", 2))


async def back_up(url: str, file: Path, fairline: str = OWN) -> int:
    header = Header(
        fairline=fairline,
        store=kind_of(url),
        taken_at="2026-11-20T01:00:00+00:00",
        schema=await schema_version(url),
        contains=[],
    )
    with new_backup(file, header) as writer:
        return await save(url, writer)


async def restore(file: Path, url: str, *, replace: bool = False) -> None:
    await load(url, BackupReader(file, OWN), replace=replace)


async def fill(store: Store, clock: FakeClock) -> Venue:
    """A store with people in every state, and with everything else that it keeps."""
    hall, shop = QueueId("hall"), QueueId("shop")
    for queue in (hall, shop):
        await store.create(queue, checked({"heartbeat_timeout_seconds": 60, "admission_rate": 1, "name": "Grüße"}))
    v = Venue(store, hall, clock)
    for status in Status:
        await v.one(status, client=status.encode(), key=status.encode())
    await v.joins(20, address=b"home")
    await store.prioritise(hall, 20, 2)
    await v.act(Action.HOLD, 12)
    await v.join(on_hold=True, came=Came("shop", 1, 1))
    await store.set_desk(hall, "Desk 1", is_open=True)
    await store.issue_priority_pass(hall, "vip", 1, 3, 40 * DAY)
    await store.revoke(hall, 3, "abuse")
    await store.record_estimates(hall, [EstimateSample(6, 1, 1, 1)])
    await store.call_next(hall, 2, desk="Desk 1", key=b"press")
    await store.limit(hall, "ip:1", "verify", 1, 60)
    await store.freeze_draw(hall, "night")
    await store.keep_draw(hall, "night", {"seed": b"\0\xff\n\\N"})
    registry = store.registry
    await registry.put_admin_key(AdminKey(id="k1", role=Role.ADMIN, name="first", digest="d" * 64, created=1))
    await registry.put_webhook(Webhook(id="w1", url="https://shop.example/hook", secret="s" * 32, created=1))
    await registry.record(AuditedAction(key="k1", name="first", role=Role.ADMIN, action="queue.called", queue=hall))
    await registry.rotate()
    await store.outbox.open("w1", {hall: await store.last_event(hall)})
    await store.outbox.take("w1", shop, None, await store.last_event(shop), [NewDelivery("d1", "{}", "t")], 100)
    return v


async def kept(store: Store) -> Any:
    """All that can be read of a store, as plain values."""
    found: dict[str, Any] = {}
    for queue in await store.queues():
        v = Venue(store, queue, FakeClock())
        found[queue] = [
            await store.settings(queue),
            await v.tickets(Status.WAITING),
            await v.tickets(),
            await store.on_hold(queue, 100),
            await store.arriving(queue, 100),
            [(e.type, e.at, e.ticket, e.detail) for e in await store.events(queue, None, 1000)],
            len(await store.events(queue, await store.outbox.cursor("w1", queue), 1000)),
            await store.history(queue, None, 100),
            await store.passes(queue),
            await store.revoked(queue),
            await store.desks(queue),
            await store.hourly(queue),
            await store.desk_tallies(queue),
            await store.draw_members(queue, 0, 100),
            await store.draw_parts(queue, "night", ["seed"]),
            await store.report(queue, None, None),
        ]
    registry = store.registry
    found[""] = [
        await registry.admin_keys(),
        await registry.webhooks(),
        await registry.audit(None, None, 100),
        await registry.generation(),
        await store.outbox.deliveries("w1", DeliveryState.PENDING, None, 100),
    ]
    return msgspec.to_builtins(found, enc_hook=str)


def event_number(event_id: str) -> tuple[int, ...]:
    """An id of an event in a form that can be compared."""
    return tuple(map(int, event_id.split("-")))


@asynccontextmanager
async def opened(url: str, clock: Clock | None = None) -> AsyncIterator[Store]:
    store = await open_store(url, clock=clock)
    try:
        yield store
    finally:
        await store.close()


async def test_a_lost_store_comes_back_as_it_was_and_nobody_lapses_because_of_the_gap(
    places: Places, tmp_path: Path, clock: FakeClock
) -> None:
    async with opened(places.source, clock) as store:
        v = await fill(store, clock)
        for queue in await store.queues():
            await store.sweep(queue, 100)
        before, line = await kept(store), await v.line()
        left = {number: await v.seconds_left(number) for number in line}
    assert await back_up(places.source, tmp_path / "b") == 2
    async with opened(places.source, clock) as store:
        await Venue(store, v.queue, clock).join(client=b"late")  # what comes after the backup is lost
        last = event_number(await store.last_event(v.queue))

    await restore(tmp_path / "b", places.target)
    async with opened(places.target, clock) as store:
        assert await kept(store) == before

        # Ten days later, a server starts again. Nobody who waited, was called or was inside has lapsed.
        v = Venue(store, v.queue, clock)
        clock.advance(10 * DAY)
        lapsed: list[int] = []
        keeper = Keeper(store, on_lapsed=lambda _, found: lapsed.extend(each.number for each in found))
        await keeper.sweep()
        assert lapsed == []
        assert (await v.line())[: len(line)] == line
        for number, seconds in left.items():
            assert (await v.seconds_left(number) or 0) >= (seconds or 0) - SWEEP_SECONDS
        # Who was here is known, everyone else comes behind them, and a call is not done twice.
        again = await v.join(client=b"waiting")
        assert (again.created, again.ticket.number) == (False, 1)
        new = await v.join(client=b"new")
        assert event_number(await store.last_event(v.queue)) > last, "the id of a lost event is given again"
        assert (await v.line())[-1] == new.ticket.number == max(each.number for each in await v.tickets())
        await store.call_next(v.queue, 2, desk="Desk 1", key=b"press")
        assert (await v.line())[0] == line[0]
        entry = AuditedAction(key="k1", name="first", role=Role.ADMIN, action="queue.called", queue=v.queue)
        await store.registry.record(entry)
        assert len(await store.registry.audit(None, None, 100)) == 2
        assert await store.outbox.due(["w1"]) == ["w1"]
        assert set(line) <= set(await v.after(120)), "deadlines are kept, and come in the end"


async def test_a_transfer_during_a_backup_neither_doubles_a_person_nor_loses_one(
    valkeys: Places, tmp_path: Path, clock: FakeClock
) -> None:
    """Somebody goes back and forth between the first and the last queue to be read."""
    names = [QueueId(f"q{i}") for i in range(8)]
    async with opened(valkeys.source) as store:
        for queue in names:
            await store.create(queue, checked({"admission": "manual", "heartbeat_timeout_seconds": 0}))
        for queue in names[1:-1]:
            for _ in range(3):
                await store.join(queue, [Arrival() for _ in range(1000)])
        first = (await Venue(store, names[0], clock).join()).ticket
        over = asyncio.Event()

        async def wander() -> None:
            here, there, ticket = names[0], names[-1], first
            while not over.is_set():
                came = Came(here, ticket.number, ticket.joined)
                new = (await Venue(store, there, clock).join(on_hold=True, came=came)).ticket
                await store.transfer(here, ticket.number, Went(there, new.number, new.joined, "label"))
                await store.act(there, Action.RELEASE, [new.number])
                here, there, ticket = there, here, new
                await asyncio.sleep(0.03)

        wandering = asyncio.create_task(wander())
        for i in range(8):
            await back_up(valkeys.source, tmp_path / f"b{i}")
        over.set()
        await wandering

    for i in range(8):
        flush(valkeys.target)
        await restore(tmp_path / f"b{i}", valkeys.target)
        async with opened(valkeys.target) as restored:
            later = FakeClock(await restored.time() + 20_000)
        async with opened(valkeys.target, later) as restored:
            await Keeper(restored).sweep()
            lines = {queue: await Venue(restored, queue, later).line() for queue in (names[0], names[-1])}
        assert sum(map(len, lines.values())) == 1, lines


async def test_a_file_that_is_damaged_or_too_new_is_refused_before_anything_is_changed(
    valkeys: Places, tmp_path: Path, clock: FakeClock
) -> None:
    async with opened(valkeys.source, clock) as store:
        await fill(store, clock)
    file, spoiled = tmp_path / "b", tmp_path / "spoiled"
    await back_up(valkeys.source, file)
    whole = file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for at in (*range(0, len(whole), len(whole) // 40), len(whole) - 1):
        for text in (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :], whole[:at]):
            spoiled.write_bytes(text)
            with pytest.raises(BackupRefused):
                BackupReader(spoiled, OWN)
    spoiled.write_bytes(whole + b"x")
    with pytest.raises(BackupRefused, match="damaged"):
        BackupReader(spoiled, OWN)
    for old, new in ((b'"version":1', b'"version":2'), (b'"fairline":"1.0.0"', b'"fairline":"1.0.1"')):
        spoiled.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(BackupRefused, match="that version or a later one"):
            BackupReader(spoiled, OWN)
    with pytest.raises(BackupRefused, match="exists already"):
        await back_up(valkeys.source, file)
    assert file.read_bytes() == whole
    assert files(tmp_path) == ["b", "spoiled"]


async def test_a_store_that_is_not_empty_is_left_alone_unless_it_is_to_be_replaced(
    places: Places, tmp_path: Path, clock: FakeClock
) -> None:
    async with opened(places.source, clock) as store:
        await fill(store, clock)
        before = await kept(store)
    await back_up(places.source, tmp_path / "b")
    async with opened(places.target, clock) as store:
        await store.create(QueueId("other"), checked({}))
        with pytest.raises(BackupRefused, match="not empty"):
            await restore(tmp_path / "b", places.target)
        assert await store.queues() == ["other"]
    await restore(tmp_path / "b", places.target, replace=True)
    async with opened(places.target, clock) as store:
        assert await kept(store) == before

    async with opened(places.target) as running:
        await running.registry.mark_alive("web", "machine:1")
    with pytest.raises(BackupRefused, match="A Fairline runs on this store"):
        await restore(tmp_path / "b", places.target, replace=True)


async def test_a_backup_goes_only_where_it_belongs(valkeys: Places, databases: Places, tmp_path: Path) -> None:
    for url in (valkeys.source, databases.source):
        async with opened(url) as store:
            await store.create(QueueId("hall"), checked({}))
    await back_up(valkeys.source, tmp_path / "v")
    await back_up(databases.source, tmp_path / "p")
    with pytest.raises(BackupRefused, match="embedded, Valkey or Redis"):
        await restore(tmp_path / "v", databases.target)
    with pytest.raises(BackupRefused, match="embedded-postgres or PostgreSQL"):
        await restore(tmp_path / "p", valkeys.target)
    with pytest.raises(StoreError, match="unavailable"):
        await restore(tmp_path / "v", "valkey://127.0.0.1:9")


async def test_a_backup_of_an_older_schema_is_upgraded(databases: Places, tmp_path: Path, clock: FakeClock) -> None:
    async with await connect(databases.source) as connection:
        await upgrade(connection, upto=1)
        await connection.execute("SET search_path = fairline")
        await connection.execute(SQL(add_settings_columns(frozenset({"name", "opening_hours"}))))
        await connection.execute("INSERT INTO queues (id, version, created, name) VALUES ('old', 1, 1, 'Old')")
        await connection.execute("INSERT INTO tallies (queue, swept_at, turns) SELECT key, 1, '{0,0,0}' FROM queues")
        await connection.execute("INSERT INTO admin_keys VALUES ('k', 'admin', 'old', 'd', 1)")
    await back_up(databases.source, tmp_path / "b")
    for prepared in (False, True):
        if prepared:
            async with await connect(databases.target) as connection:
                await upgrade(connection, role=ROLE)
        await restore(tmp_path / "b", databases.target, replace=prepared)
        url = databases.target.replace("//fairline@", f"//{ROLE}@") if prepared else databases.target
        async with opened(url, clock) as store:  # a role that might run Fairline on it before still may
            assert [key.name for key in await store.registry.admin_keys()] == ["old"]
            assert (await store.settings(QueueId("old"))).settings.name == "Old"
            await fill(store, clock)


async def test_a_role_that_may_not_read_the_tables_is_told_who_may(servers: Servers, tmp_path: Path) -> None:
    with pytest.raises(BackupRefused, match="owner of the schema"):
        await back_up(servers.url("postgres"), tmp_path / "b")
    assert files(tmp_path) == []
