"""Keepers: one, two or eight of them, in real time and by a clock of ours, through outages and their own end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from fairline import keeper as keeper_module
from fairline.errors import StoreUnavailable
from fairline.events import Event, EventType
from fairline.keeper import STEP, Keeper
from fairline.queue import QueueId, checked, queue_id
from fairline.store import Arrival, Lapsed, Reply, Store, open_store
from fairline.store.valkey.embedded import EmbeddedValkey
from fairline.ticket import Action, Came, Reason, Status
from tests.backends import FakeClock, Valkey

TICK, SWEEP = 0.1, 0.2

OpenStores: TypeAlias = Callable[..., Awaitable[list[Store]]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of these tests' own: a keeper keeps all queues of a store, and here they end with each test."""
    backend = Valkey(tmp_path_factory.mktemp("keepers"))
    yield backend.start()
    backend.stop()


@pytest.fixture
async def open_stores(url: str) -> AsyncIterator[OpenStores]:
    """Opens so many stores, each with connections of its own, as workers have."""
    opened: list[Store] = []

    async def open_many(count: int, clock: FakeClock | None = None) -> list[Store]:
        opened.extend([await open_store(url, clock=clock) for _ in range(count)])
        return opened[-count:]

    yield open_many
    for queue in await opened[0].queues():
        await opened[0].delete(queue)
    for store in opened:
        await store.close()


@asynccontextmanager
async def running(*keepers: Keeper) -> AsyncIterator[None]:
    """Keepers at work; a keeper that ends by itself fails the test."""
    tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
    try:
        yield
        assert not [task for task in tasks if task.done()], "a keeper gave up"
    finally:
        for task in tasks:
            task.cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)


async def comes_true(condition: Callable[[], Awaitable[bool]], trouble: str, seconds: float = 20) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, trouble
        await asyncio.sleep(0.02)


async def make(store: Store, queue: QueueId, people: int = 0, **settings: Any) -> QueueId:
    """A queue, and people who wait in it."""
    await store.create(queue, checked(settings))
    for first in range(0, people, 500):
        await store.join(queue, [Arrival()] * min(500, people - first))
    return queue


async def count_of(store: Store, queue: QueueId, status: Status) -> int:
    view = await store.view(queue)
    return {Status.WAITING: view.waiting, Status.ADMITTED: view.admitted, Status.ACTIVE: view.active}[status]


async def all_events(store: Store, queue: QueueId) -> list[Event]:
    return await store.events(queue, None, 100_000)


async def happened(store: Store, queue: QueueId, what: EventType) -> list[Event]:
    return [event for event in await all_events(store, queue) if event.type is what]


# Letting in


@pytest.mark.parametrize("keepers", [1, 2, 8])
async def test_any_number_of_keepers_together_keep_to_rate_and_room(
    open_stores: OpenStores, queue: QueueId, keepers: int
) -> None:
    rate, burst, most, people = 100, 5, 8, 100
    stores = await open_stores(keepers)
    site = stores[0]
    told: list[int] = []
    crew = [
        Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP, on_admitted=lambda _, numbers: told.extend(numbers))
        for store in stores
    ]
    await make(site, queue, people, admission_rate=rate, burst=burst, max_active=most)
    chance = random.Random(keepers)

    async def all_served() -> bool:
        """What goes on inside: some are done at once, others stay."""
        inside = (await site.tickets(queue, Status.ADMITTED, None, 500)).tickets
        done = [ticket.number for ticket in inside if chance.random() < 0.4]
        await site.visit(queue, "start", [(number, b"them") for number in done])
        await site.act(queue, Action.COMPLETE, done)
        return (await site.view(queue)).completed == people

    async with running(*crew):
        await comes_true(all_served, "not everyone was let in")

    events = await all_events(site, queue)
    admitted = [event for event in events if event.type is EventType.ADMITTED]
    assert [event.ticket for event in admitted] == list(range(1, people + 1))
    assert sorted(told) == list(range(1, people + 1)), "each was told of once, by the keeper that did it"
    first = admitted[0].at
    for count, event in enumerate(admitted, 1):
        assert count <= burst + rate * (event.at - first) / 1000 + 1e-6, "faster than the rate"
    inside = highest = 0
    for event in events:
        inside += {EventType.ADMITTED: 1, EventType.COMPLETED: -1, EventType.EXPIRED: -1}.get(event.type, 0)
        highest = max(highest, inside)
    assert highest <= most


async def test_keepers_that_tick_at_the_same_moment_admit_as_one(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    stores = await open_stores(8, clock)
    crew = [Keeper(store, tick_seconds=1) for store in stores]
    await make(stores[0], queue, 100, admission_rate=10, burst=10, max_active=35)
    so_far = []
    for _ in range(6):
        await asyncio.gather(*(keeper.tick() for keeper in crew))
        so_far.append(await count_of(stores[0], queue, Status.ADMITTED))
        clock.advance(1)
    assert so_far == [10, 20, 30, 35, 35, 35]


async def test_one_round_lets_in_everyone_who_may_go_in(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    people = 2 * STEP + 7
    await make(store, queue, people, admission_rate=100_000, max_active=100_000)
    told: list[int] = []
    await Keeper(store, on_admitted=lambda _, numbers: told.extend(numbers)).tick()
    assert told == list(range(1, people + 1))


# Ending


@pytest.mark.parametrize("keepers", [1, 2, 8])
async def test_the_silent_are_ended_once_however_many_keepers_there_are(
    open_stores: OpenStores, queue: QueueId, keepers: int
) -> None:
    stores = await open_stores(keepers)
    told: list[Lapsed] = []
    crew = [
        Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP, on_lapsed=lambda _, lapsed: told.extend(lapsed))
        for store in stores
    ]
    times = {"heartbeat_interval_seconds": 1, "heartbeat_timeout_seconds": 1, "grace_seconds": 0}
    await make(stores[0], queue, 300, status="paused", **times)
    alive = list(range(1, 301, 10))

    async def only_the_alive_are_left() -> bool:
        return (await stores[0].beat(queue, alive)).view.waiting == len(alive)

    async with running(*crew):
        await comes_true(only_the_alive_are_left, "the silent are still in the line")

    silent = [number for number in range(1, 301) if number not in alive]
    expired = await happened(stores[0], queue, EventType.EXPIRED)
    assert sorted(event.ticket or 0 for event in expired) == silent
    assert {event.detail for event in expired} == {Reason.HEARTBEAT_TIMEOUT}
    assert Counter(lapse.number for lapse in told) == Counter(silent)
    assert (await stores[0].stats(queue)).totals.expired == len(silent)


async def test_keepers_that_sweep_at_the_same_moment_end_each_once(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    stores = await open_stores(8, clock)
    told: list[Lapsed] = []
    crew = [Keeper(store, on_lapsed=lambda _, lapsed: told.extend(lapsed)) for store in stores]
    people = 2 * STEP + 7
    await make(stores[0], queue, people, heartbeat_timeout_seconds=60, grace_seconds=30)
    for seconds in range(0, 90, 5):
        await asyncio.gather(*(keeper.sweep() for keeper in crew))
        assert await count_of(stores[0], queue, Status.WAITING) == people, f"someone ended after {seconds} s"
        clock.advance(5)
    await asyncio.gather(*(keeper.sweep() for keeper in crew))
    assert sorted(lapse.number for lapse in told) == list(range(1, people + 1))
    expired = await happened(stores[0], queue, EventType.EXPIRED)
    assert sorted(event.ticket or 0 for event in expired) == list(range(1, people + 1))


# Queues that come and go


async def test_a_new_queue_is_kept_and_a_deleted_one_does_no_harm(open_stores: OpenStores, queue: QueueId) -> None:
    (store,) = await open_stores(1)
    keeper = Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP)
    first, second, third = (QueueId(f"{queue}-{n}") for n in range(3))
    await make(store, first, 1)

    def someone_is_in(name: QueueId) -> Callable[[], Awaitable[bool]]:
        async def condition() -> bool:
            return await count_of(store, name, Status.ADMITTED) == 1

        return condition

    async with running(keeper):
        await comes_true(someone_is_in(first), "the first queue is not kept")
        await make(store, second, 1)
        await comes_true(someone_is_in(second), "the new queue is not kept")
        await store.delete(first)
        await make(store, third, 1)
        await comes_true(someone_is_in(third), "a deleted queue stops the others")
        assert keeper.alive


async def test_a_queue_deleted_in_mid_round_does_not_stop_the_others(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store,) = await open_stores(1, clock)
    await make(store, queue, 1)
    names = [QueueId("a-deleted-one"), queue, QueueId("z-deleted-one")]

    async def a_moment_ago() -> list[QueueId]:
        return names

    monkeypatch.setattr(store, "queues", a_moment_ago)
    keeper = Keeper(store)
    await keeper.sweep()
    await keeper.tick()
    assert await count_of(store, queue, Status.ADMITTED) == 1
    assert keeper.alive


async def test_a_queue_that_fails_does_not_stop_the_others_and_is_not_passed_over(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store,) = await open_stores(1, clock)
    bad, good = QueueId(f"{queue}-a"), QueueId(f"{queue}-b")
    await make(store, bad, 1)
    await make(store, good, 1)
    keeper = Keeper(store)
    await keeper.sweep()
    admit = store.admit

    async def fail(name: QueueId, *args: Any, **options: Any) -> Reply[int]:
        if name == bad:
            raise StoreUnavailable("that node is gone")
        return await admit(name, *args, **options)

    monkeypatch.setattr(store, "admit", fail)
    with pytest.raises(StoreUnavailable, match="that node is gone"):
        await keeper.tick()
    assert await count_of(store, good, Status.ADMITTED) == 1
    assert not keeper.alive


# Outages


async def test_an_outage_of_the_store_is_survived(tmp_path: Path, queue: QueueId) -> None:
    server = EmbeddedValkey(tmp_path / "data", fsync="everysec")
    store = await open_store(server.start())
    try:
        keeper = Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP)
        assert not keeper.alive
        await make(store, queue, 1, admission_rate=1000)

        def inside(count: int) -> Callable[[], Awaitable[bool]]:
            async def condition() -> bool:
                return keeper.alive and await count_of(store, queue, Status.ADMITTED) == count

            return condition

        async def dead() -> bool:
            return not keeper.alive

        async with running(keeper):
            await comes_true(inside(1), "it does not keep")
            assert server.pid
            os.kill(server.pid, signal.SIGKILL)
            await comes_true(dead, "it says that it is alive though nothing can be kept")
            await asyncio.to_thread(server.start)
            await store.join(queue, [Arrival()] * 3)
            await comes_true(inside(4), "it does not go on by itself")
    finally:
        await store.close()
        server.stop()


async def test_a_keeper_that_starts_while_the_store_is_away_waits_for_it(tmp_path: Path, queue: QueueId) -> None:
    server = EmbeddedValkey(tmp_path / "data", fsync="everysec")
    store = await open_store(server.start())
    try:
        await make(store, queue, 1)
        server.stop()
        keeper = Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP)
        refused = asyncio.Event()
        queues = store.queues

        async def asked() -> list[QueueId]:
            try:
                return await queues()
            except StoreUnavailable:
                refused.set()
                raise

        store.queues = asked  # type: ignore[method-assign]

        async def let_in() -> bool:
            return await count_of(store, queue, Status.ADMITTED) == 1

        async with running(keeper):
            await refused.wait()
            await asyncio.to_thread(server.start)
            await comes_true(let_in, "it does not begin by itself")
    finally:
        await store.close()
        server.stop()


TIMES = {
    "heartbeat_timeout_seconds": 60,
    "grace_seconds": 30,
    "claim_seconds": 300,
    "session_seconds": 600,
    "max_active": 2,
    "admission_rate": 2,
}


async def keep(keeper: Keeper, clock: FakeClock, seconds: int) -> None:
    """So many seconds of ordinary keeping."""
    for second in range(seconds):
        clock.advance(1)
        await keeper.tick()
        if second % 5 == 4:
            await keeper.sweep()


@pytest.mark.parametrize("outage", [60, 3600, 86_400])
async def test_nobody_ends_by_an_outage_and_everyone_keeps_the_time_they_had(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock, outage: int
) -> None:
    (store,) = await open_stores(1, clock)
    ended: dict[int, Reason] = {}
    keeper = Keeper(store, on_lapsed=lambda _, lapsed: ended.update((lapse.number, lapse.reason) for lapse in lapsed))
    await make(store, queue, 3, **TIMES)
    await keeper.sweep()
    await keeper.tick()  # 1 and 2 go in; 3 waits
    await store.visit(queue, "start", [(1, b"them")])
    await keep(keeper, clock, 40)

    async def seconds_left() -> list[float]:
        (*standings,) = (await store.rank(queue, [1, 2, 3])).items
        return [(standing.deadline - clock()) / 1000 for standing in standings if standing and standing.deadline]

    assert await seconds_left() == [560, 260, 50]
    clock.advance(outage)
    # All keepers come back at once, and their first rounds in any order.
    await asyncio.gather(*(step() for other in [Keeper(store) for _ in range(4)] for step in (other.tick, other.sweep)))
    await asyncio.gather(keeper.tick(), keeper.sweep())
    assert ended == {}
    assert await seconds_left() == [555, 255, 45]

    await keep(keeper, clock, 44)
    assert ended == {}
    await keep(keeper, clock, 6)
    assert ended == {3: Reason.HEARTBEAT_TIMEOUT}
    await keep(keeper, clock, 210)
    assert ended == {3: Reason.HEARTBEAT_TIMEOUT, 2: Reason.CLAIM_TIMEOUT}
    await keep(keeper, clock, 300)
    assert ended[1] is Reason.SESSION_TIMEOUT


async def test_who_is_let_in_after_an_outage_has_the_time_to_come_in_and_no_more(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    keeper = Keeper(store)
    await make(store, queue, 1, **TIMES)
    await store.sweep(queue, 1, every=5)
    clock.advance(3600)
    await keeper.tick()
    (ticket,) = (await store.look_up(queue, [1])).items
    assert ticket
    assert (ticket.status, ticket.deadline) == (Status.ADMITTED, clock() + 300_000)
    await keeper.sweep()
    (after,) = (await store.look_up(queue, [1])).items
    assert after == ticket, "the sweep does not find an outage that the tick had not"


async def test_a_keeper_that_starts_after_a_long_night_ends_nobody(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    await make(store, queue, 5, status="paused")
    clock.advance(8 * 3600)
    keeper = Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP)

    async def at_work() -> bool:
        return keeper.alive

    async with running(keeper):
        await comes_true(at_work, "it does not keep")
    assert await count_of(store, queue, Status.WAITING) == 5


# Its own end


def test_alive_is_told_by_both_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(keeper_module, "time", SimpleNamespace(monotonic=lambda: now))
    keeper = Keeper(None, tick_seconds=1, sweep_seconds=5)  # type: ignore[arg-type]
    assert not keeper.alive
    told = []
    for ticked, swept in ((0, 0), (5.9, 14.9), (6, 0), (0, 15)):
        keeper.ticked_at, keeper.swept_at = now - ticked, now - swept
        told.append(keeper.alive)
    assert told == [True, True, False, False]


async def test_a_keeper_ends_when_it_is_told_to_at_whatever_moment(open_stores: OpenStores, queue: QueueId) -> None:
    (store,) = await open_stores(1)
    await make(store, queue)
    chance = random.Random(1)
    loop = asyncio.get_running_loop()
    keepers = []
    for _ in range(400):
        keepers.append(asyncio.create_task(Keeper(store, tick_seconds=0.001, sweep_seconds=0.001).run()))
        loop.call_later(chance.uniform(0.001, 0.05), keepers[-1].cancel)
        if len(keepers) % 8 == 0:
            await asyncio.sleep(chance.uniform(0, 0.03))
    _, running_on = await asyncio.wait(keepers, timeout=10)
    for keeper in running_on:
        keeper.cancel()
    assert not running_on
    assert all(keeper.cancelled() for keeper in keepers)


async def test_nobody_lapses_while_no_web_worker_can_be_reached(
    store: Store, clock: FakeClock, make_queue: Any
) -> None:
    """A keeper on a machine of its own goes on when all web workers are gone; people's time must not."""
    queue = await make_queue(heartbeat_timeout_seconds=10, grace_seconds=5)
    await store.join(queue, [Arrival()])
    keeper = Keeper(store, follows_web=True)
    await store.registry.mark_alive("web", "w:1")
    for _ in range(20):
        clock.advance(5)
        await keeper.sweep()
    assert (await store.view(queue)).waiting == 1
    for _ in range(5):
        clock.advance(5)
        await store.registry.mark_alive("web", "w:1")
        await keeper.sweep()
    assert (await store.view(queue)).waiting == 0


async def test_a_sweep_finishes_transfers_that_broke_off(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    here, there = await make(store, queue, 1), await make(store, queue_id(f"{queue}-there"))
    before = (await store.look_up(here, [1])).items[0]
    assert before
    await store.join(there, [Arrival(held=True, came=Came(here, 1, before.joined))])
    clock.advance(20)
    await Keeper(store).sweep()
    assert [(await store.view(each)).waiting for each in (here, there)] == [0, 1]
