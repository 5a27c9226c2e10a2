"""The rounds of keepers: one, two or eight of them, in real time and by a clock of the test."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairline.domain.events import EventType
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.rehearsal import LEFT_OVER_MS, rehearsal_queue
from fairline.domain.ticket import Action, Came, Reason, Status
from fairline.errors import StoreUnavailable
from fairline.keeper.keeper import STEP, Keeper
from fairline.store import Arrival, Lapsed, Reply
from tests.backends import FakeClock
from tests.keeper.crew import SWEEP, TICK, OpenStores, all_events, comes_true, count_of, happened, make, running

# Letting in


@pytest.mark.parametrize("keepers", [1, pytest.param(2, marks=pytest.mark.long), 8])
async def test_any_number_of_keepers_together_keep_to_rate_and_capacity(
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
        return (await site.snapshot(queue)).completed == people

    async with running(*crew):
        await comes_true(all_served, "not everyone was let in")

    events = await all_events(site, queue)
    admitted = [event for event in events if event.type is EventType.ADMITTED]
    assert [event.ticket for event in admitted] == list(range(1, people + 1))
    assert sorted(told) == list(range(1, people + 1)), "each was reported once, by the keeper that did it"
    first = admitted[0].at
    for count, event in enumerate(admitted, 1):
        assert count <= burst + rate * (event.at - first) / 1000 + 1e-6, "faster than the rate"
    inside = highest = 0
    for event in events:
        inside += {EventType.ADMITTED: 1, EventType.COMPLETED: -1, EventType.EXPIRED: -1}.get(event.type, 0)
        highest = max(highest, inside)
    assert highest <= most


async def test_a_keeper_lets_people_in_as_soon_as_it_starts(open_stores: OpenStores, queue: QueueId) -> None:
    (store,) = await open_stores(1)
    keeper = Keeper(store, tick_seconds=3600, sweep_seconds=SWEEP)
    await make(store, queue, 1)

    async def someone_is_in() -> bool:
        return await count_of(store, queue, Status.ADMITTED) == 1

    async with running(keeper):
        await comes_true(someone_is_in, "nobody is let in before the first hour is over")


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


@pytest.mark.parametrize("keepers", [1, pytest.param(2, marks=pytest.mark.long), 8])
async def test_the_silent_are_ended_once_however_many_keepers_there_are(
    open_stores: OpenStores, queue: QueueId, keepers: int
) -> None:
    stores = await open_stores(keepers)
    told: list[Lapsed] = []
    crew = [
        Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP, on_lapsed=lambda _, lapsed: told.extend(lapsed))
        for store in stores
    ]
    times = {"heartbeat_interval_seconds": 1, "heartbeat_timeout_seconds": 3, "grace_seconds": 0}
    await make(stores[0], queue, 300, status="paused", **times)
    alive = list(range(1, 301, 10))

    async def only_the_alive_are_left() -> bool:
        return (await stores[0].heartbeat(queue, alive)).snapshot.waiting == len(alive)

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


# Queues in which nothing happens


async def test_a_queue_that_nobody_is_in_is_left_alone_until_something_happens(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store,) = await open_stores(1, clock)
    await make(store, queue)
    asked: Counter[str] = Counter()
    for name in ("admit", "snapshot", "arriving", "sweep"):
        monkeypatch.setattr(store, name, counting(getattr(store, name), asked, name))
    keeper = Keeper(store)

    async def goes_round(seconds: int) -> Counter[str]:
        asked.clear()
        for second in range(seconds):
            clock.advance(1)
            if second % 5 == 0:
                await keeper.sweep()
            await keeper.tick()
        return asked

    await goes_round(5)
    assert await goes_round(60) == {"admit": 20, "sweep": 12, "snapshot": 1, "arriving": 1}
    await store.join(queue, [Arrival()])
    await goes_round(1)
    assert await count_of(store, queue, Status.ADMITTED) == 1
    await goes_round(10)
    assert asked["admit"] == 10, "what is inside is measured as it was"


def counting(call: Callable[..., Awaitable[Any]], asked: Counter[str], name: str) -> Callable[..., Awaitable[Any]]:
    async def counted(*args: Any, **options: Any) -> Any:
        asked[name] += 1
        return await call(*args, **options)

    return counted


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

    async def a_moment_ago() -> dict[QueueId, str]:
        return dict.fromkeys(names, "1")

    monkeypatch.setattr(store, "newest_events", a_moment_ago)
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


async def test_a_sweep_finishes_transfers_that_broke_off(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    here, there = await make(store, queue, 1), await make(store, queue_id(f"{queue}-there"))
    before = (await store.look_up(here, [1])).items[0]
    assert before
    await store.join(there, [Arrival(on_hold=True, came=Came(here, 1, before.joined))])
    clock.advance(20)
    await Keeper(store).sweep()
    assert [(await store.snapshot(each)).waiting for each in (here, there)] == [0, 1]


# Rehearsals


async def test_a_keeper_deletes_what_is_left_of_a_rehearsal_and_nothing_else(open_stores: OpenStores) -> None:
    clock = FakeClock()
    (store,) = await open_stores(1, clock)
    await make(store, rehearsal_queue(clock.now - LEFT_OVER_MS - 1, "0" * 16), 3)
    running_now = await make(store, rehearsal_queue(clock.now - LEFT_OVER_MS, "1" * 16), 3)
    own = await make(store, queue_id("rehearsal-room"), 3)
    await Keeper(store).sweep()
    assert set(await store.queues()) == {running_now, own}
    clock.advance(1)
    await Keeper(store).sweep()
    assert await store.queues() == [own]
