"""PostgreSQL in trouble: killed, frozen, full, slow, restarted, a replica. Nothing half-done, nobody expired by it, and
callers meanwhile are refused within a bounded time."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from fairline.domain.queue import queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action
from fairline.errors import QueueNotFound, StoreError, StoreNotSupported, StoreUnavailable
from fairline.store import Arrival, Joined, NewDelivery, Store, open_store
from fairline.store.postgres import client as postgres_client
from fairline.store.postgres.client import connect
from fairline.store.postgres.embedded import EmbeddedPostgres
from tests.backends import FakeClock
from tests.store.postgres_trouble import (
    CALM,
    QUEUE,
    SECONDS,
    Rush,
    nothing_half_done,
    until,
    until_refused,
    wait_for_locks,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A server of our own, as the embedded store runs it, but with few connections."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("trouble"), options={"max_connections": "30"}) as started:
        yield started


@pytest.fixture
async def store(server: EmbeddedPostgres) -> AsyncIterator[Store]:
    opened = await open_store(server.start())
    await opened.create(QUEUE, checked(CALM))
    yield opened
    server.start()
    with suppress(QueueNotFound):  # whose answer was lost, so that it is asked for again
        await until(lambda: opened.delete(QUEUE))
    await opened.close()


async def test_a_kill_of_the_database_under_load_loses_nothing_and_leaves_nothing_half_done(
    server: EmbeddedPostgres, store: Store
) -> None:
    rush = Rush(store)
    running = asyncio.create_task(rush.run())
    for _ in range(3):
        before = len(rush.joined)
        await rush.until(joined=before + 200)
        assert server.pid
        refused = rush.refused
        os.kill(server.pid, signal.SIGKILL)
        await rush.until(refused=refused + 1)
        acknowledged = sorted(rush.joined.values())[-1000:]
        url = await asyncio.to_thread(server.start)
        await nothing_half_done(url)
        assert all((await until(partial(store.look_up, QUEUE, acknowledged))).items)
    rush.stop()
    await running
    assert rush.refused > 0
    assert len(set(rush.joined.values())) == len(rush.joined)
    called = [number for numbers in rush.called.values() for number in numbers]
    assert len(set(called)) == len(called)
    stats = await store.stats(QUEUE)
    assert stats.totals.joined == len(rush.joined), "a retry made a second ticket, or one was lost"
    assert stats.totals.admitted == len(called)
    await nothing_half_done(server.url)


WORKER = """
import asyncio, sys
from fairline.store import Arrival, open_store
from fairline.domain.queue import queue_id

async def work():
    store = await open_store(sys.argv[1])
    for batch in range(1_000_000):
        keys = [b"%d-%d-%d" % (int(sys.argv[2]), batch, i) for i in range(50)]
        reply = await store.join(queue_id("trouble"), [Arrival(client=key) for key in keys])
        print(*(item.ticket.number for item in reply.items), flush=True)
        await store.call_next(queue_id("trouble"), 20)

asyncio.run(work())
"""


async def test_a_kill_of_a_worker_in_mid_transaction_leaves_nothing_half_done(
    server: EmbeddedPostgres, store: Store
) -> None:
    acknowledged: list[int] = []
    for turn in range(4):
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, server.url, str(turn), stdout=subprocess.PIPE
        )
        assert worker.stdout
        for _ in range(4):
            acknowledged += map(int, (await worker.stdout.readline()).split())
        await asyncio.sleep(0.002 * turn)
        worker.kill()
        said, _ = await worker.communicate()
        whole = said[: said.rfind(b"\n") + 1]  # the last line may be cut off
        acknowledged += map(int, whole.split())
    # What it was at goes on to its end in the database, or is undone: the next one only has to wait for it.
    await store.join(QUEUE, [Arrival()])
    await nothing_half_done(server.url)
    for first in range(0, len(acknowledged), 1000):
        assert all((await store.look_up(QUEUE, acknowledged[first : first + 1000])).items)


async def test_a_restart_is_waited_out_and_expires_nobody(server: EmbeddedPostgres, store: Store) -> None:
    clock = FakeClock(await store.time())
    keeper = await open_store(server.url, clock=clock)
    try:
        await keeper.join(QUEUE, [Arrival(client=b"%d" % i) for i in range(50)])
        assert (await keeper.sweep(QUEUE, 1000, every=5)).lapsed == []
        await asyncio.to_thread(server.stop)
        with pytest.raises(StoreUnavailable) as refused:
            await keeper.heartbeat(QUEUE, [1])
        assert refused.value.retry_after
        clock.advance(3600)  # longer than anyone may be silent
        await asyncio.to_thread(server.start)
        assert (await until(lambda: keeper.sweep(QUEUE, 1000, every=5))).lapsed == []
        snapshot = await keeper.snapshot(QUEUE)
        assert (snapshot.waiting, snapshot.stopped) == (50, 3_595_000)
    finally:
        await keeper.close()


async def test_a_database_that_is_frozen_is_given_up_within_a_bounded_time(
    server: EmbeddedPostgres, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_client, "ANSWER_SECONDS", 1.0)
    (joined,) = (await store.join(QUEUE, [Arrival()])).items
    assert isinstance(joined, Joined)
    async with await connect(server.url) as other:
        found = await other.execute(
            """SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"""
        )
        frozen = [pid for (pid,) in await found.fetchall()]
    assert frozen
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable, match="no answer within"):
            await store.heartbeat(QUEUE, [joined.ticket.number])
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    assert (await until(lambda: store.heartbeat(QUEUE, [joined.ticket.number]))).items[0]


async def test_a_lock_that_someone_else_holds_is_not_waited_for_for_ever(
    server: EmbeddedPostgres, store: Store
) -> None:
    impatient = await open_store(f"{server.url}&options=-c%20lock_timeout%3D200")
    try:
        async with await connect(server.url) as other, other.transaction():
            await other.execute("SELECT 1 FROM fairline.tallies FOR UPDATE")
            with pytest.raises(StoreUnavailable, match="lock timeout"):
                await impatient.join(QUEUE, [Arrival()])
            assert (await impatient.snapshot(QUEUE)).waiting == 0  # reading waits for nobody
        assert len((await impatient.join(QUEUE, [Arrival()])).items) == 1
    finally:
        await impatient.close()


async def test_a_person_in_line_whom_someone_else_holds_does_not_hold_up_a_desk(
    server: EmbeddedPostgres, store: Store
) -> None:
    await store.join(QUEUE, [Arrival()] * 3)
    async with await connect(server.url) as other, other.transaction():
        await other.execute("SELECT 1 FROM fairline.line WHERE number = 1 FOR UPDATE")
        assert [ticket.number for ticket in await store.call_next(QUEUE, 1)] == [2]
    assert [ticket.number for ticket in await store.call_next(QUEUE, 2)] == [1, 3]


async def test_a_sign_of_life_that_a_sweep_has_to_wait_for_is_honoured(server: EmbeddedPostgres, store: Store) -> None:
    clock = FakeClock(await store.time())
    keeper = await open_store(server.url, clock=clock)
    try:
        await keeper.join(QUEUE, [Arrival(), Arrival()])
        clock.advance(90)
        async with await connect(server.url) as watch, await connect(server.url) as worker, worker.transaction():
            await worker.execute("SELECT fairline.heartbeat(%s, %s, '{1}', false)", [QUEUE, clock()])
            sweeping = asyncio.create_task(keeper.sweep(QUEUE, 10, every=1e9))
            await wait_for_locks(watch, 1)
            assert not sweeping.done()
        assert [lapse.number for lapse in (await sweeping).lapsed] == [2]
    finally:
        await keeper.close()


async def test_nobody_is_nearly_there_before_they_joined(server: EmbeddedPostgres, store: Store) -> None:
    """A notice that is older than its ticket is never sent: so the event has the time after the queue's lock."""
    await store.join(QUEUE, [Arrival()])
    async with await connect(server.url) as watch, await connect(server.url) as other, other.transaction():
        await other.execute("SELECT fairline.locked(%s)", [QUEUE])
        marking = asyncio.create_task(store.note_nearly(QUEUE, 1))
        await wait_for_locks(watch, 1)
        waited_until = await store.time()
    assert await marking == [1]
    nearly = (await store.events(QUEUE, None, 100))[-1]
    assert (nearly.type, nearly.ticket) == ("nearly", 1)
    assert nearly.at >= waited_until


@pytest.mark.parametrize("first", ["taken", "settled"])
async def test_the_next_of_a_thread_is_due_though_the_one_before_is_settled_meanwhile(
    server: EmbeddedPostgres, store: Store, first: str
) -> None:
    box, outbox = secrets.token_hex(6), store.outbox
    await outbox.open(box, {QUEUE: "0"})
    assert await outbox.take(box, QUEUE, "0", "1", [NewDelivery("joined", "{}", "someone")], 10)
    (joined,) = await outbox.claim(box, 10, 30)
    take = "SELECT fairline.outbox_take(%s, NULL, %s, '1', '2', 10, 20000, '{called}', '{text}', '{someone}')"
    settle = "SELECT fairline.outbox_settle(%s, NULL, %s, 1, 'sent', 0, '')"
    async with await connect(server.url) as watch, await connect(server.url) as other, other.transaction():
        if first == "taken":
            await other.execute(take, [box, QUEUE])
            second = asyncio.create_task(outbox.settle_sent(box, joined))
        else:
            await other.execute(settle, [box, joined.id])
            second = asyncio.create_task(
                outbox.take(box, QUEUE, "1", "2", [NewDelivery("called", "{}", "someone")], 10)
            )
        await wait_for_locks(watch, 1)
    assert await second
    assert [each.id for each in await outbox.claim(box, 10, 30)] == ["called"]
    await outbox.drop(box)


async def test_an_outbox_can_be_removed_while_what_became_of_a_delivery_is_noted(
    server: EmbeddedPostgres, store: Store
) -> None:
    box, outbox = secrets.token_hex(6), store.outbox
    await outbox.open(box, {QUEUE: "0"})
    assert await outbox.take(
        box, QUEUE, "0", "1", [NewDelivery(each, "{}", "someone") for each in ("joined", "called")], 10
    )
    (joined,) = await outbox.claim(box, 10, 30)
    async with await connect(server.url) as watch, await connect(server.url) as other, other.transaction():
        await other.execute("SELECT 1 FROM fairline.deliveries WHERE id = 'called' FOR UPDATE")
        settling = asyncio.create_task(outbox.settle_dead(box, joined, "answered 410"))
        await wait_for_locks(watch, 1)  # it has come as far as the one that follows
        dropping = asyncio.create_task(outbox.drop(box))
        await wait_for_locks(watch, 2)
    assert await settling
    await dropping
    assert await outbox.cursor(box, QUEUE) is None


async def test_a_statement_that_takes_too_long_is_ended(server: EmbeddedPostgres, store: Store) -> None:
    async with await connect(server.url) as connection:
        found = await connection.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
        assert await found.fetchone() == ("5s", "3s")
    impatient = await open_store(f"{server.url}&options=-c%20statement_timeout%3D40")
    try:
        async with await connect(server.url) as other, other.transaction():
            await other.execute("SELECT fairline.locked(%s)", [QUEUE])  # so that it takes too long on any machine
            with pytest.raises(StoreUnavailable, match="statement timeout"):
                await impatient.join(QUEUE, [Arrival()] * 1000)
    finally:
        await impatient.close()
    await nothing_half_done(server.url)


async def test_where_all_connections_are_taken_the_refusal_is_clear_and_ends_with_the_cause(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await connect(server.url) as owner:
        await owner.execute("CREATE ROLE poor LOGIN CONNECTION LIMIT 3")
        await owner.execute("GRANT fairline TO poor")
    url = server.url.replace("//fairline@", "//poor@")
    monkeypatch.setattr(postgres_client, "POOL_SECONDS", 30)  # however slow the machine
    store = await open_store(url)
    monkeypatch.setattr(postgres_client, "POOL_SECONDS", 0.5)
    try:
        taken = [await connect(url)]
        assert await store.queues() == []
        with pytest.raises(StoreUnavailable, match="too many connections"):
            await open_store(url)
        # One connection, and the one that waits for the disk, serve all callers, one after the other.
        assert await asyncio.gather(*(store.queues() for _ in range(20))) == [[]] * 20
        for each in taken:
            await each.close()
        assert await until(store.queues) == []
    finally:
        await store.close()


async def test_a_server_that_became_a_replica_is_left_and_found_again(server: EmbeddedPostgres, store: Store) -> None:
    async with await connect(server.url) as owner:
        await owner.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        await owner.execute("SELECT pg_reload_conf()")
        try:
            assert "read-only" in await until_refused(lambda: store.join(QUEUE, [Arrival()]))
        finally:
            await owner.execute("SET default_transaction_read_only = off")
            await owner.execute("ALTER SYSTEM RESET default_transaction_read_only")
            await owner.execute("SELECT pg_reload_conf()")
    assert (await until(lambda: store.join(QUEUE, [Arrival()]))).items


async def test_an_event_wakes_the_listeners_and_tells_them_no_details(server: EmbeddedPostgres, store: Store) -> None:
    async with await connect(server.url) as listener:
        await listener.execute("LISTEN fairline_events")
        await store.join(QUEUE, [Arrival()] * 3)
        await store.heartbeat(QUEUE, [1])  # no event
        await store.act(QUEUE, Action.LEAVE, [1])
        async with await connect(server.url) as other:
            await other.execute("NOTIFY fairline_events, 'the end'")
        heard: list[str] = []
        async for note in listener.notifies(timeout=SECONDS):
            heard.append(note.payload)
            if note.payload == "the end":
                break
        queue, *others = heard
        assert queue.isdigit()  # its key, not what happened
        assert others == [queue, "the end"]


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("postgresql://nobody-there@127.0.0.1:1/x", StoreUnavailable, "refused"),
        ("postgresql://host:port/x", StoreError, "port"),
        ("postgresql://x@/x?nonsense=1", StoreNotSupported, "nonsense"),
    ],
)
async def test_an_address_that_cannot_be_used_is_explained(url: str, error: type[StoreError], says: str) -> None:
    with pytest.raises(error, match=says):
        await open_store(url)


async def test_a_database_or_role_that_is_not_there_is_named(server: EmbeddedPostgres) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        await open_store(server.url.replace("/postgres?", "/nowhere?"))
    with pytest.raises(StoreError, match="stranger"):
        await open_store(server.url.replace("//fairline@", "//stranger@"))


async def test_a_deleted_queue_is_gone_for_calls_under_way(store: Store) -> None:
    other = queue_id("short-lived")
    await store.create(other, checked(CALM))
    await store.join(other, [Arrival()] * 1000)
    outcomes = await asyncio.gather(
        *(store.heartbeat(other, [i]) for i in range(1, 20)), store.delete(other), return_exceptions=True
    )
    assert [o for o in outcomes if isinstance(o, Exception) and not isinstance(o, QueueNotFound)] == []


async def test_the_embedded_one_is_opened_by_its_name(tmp_path: Path) -> None:
    store = await open_store("embedded-postgres", data=tmp_path)
    await store.create(QUEUE, checked({}))
    await store.close()
    again = await open_store("embedded-postgres", data=tmp_path)
    try:
        assert await again.queues() == [QUEUE]
    finally:
        await again.close()
