"""The steps of openings by keepers: each at its time and once, whatever the clock and the operators do."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta

import pytest

from fairline.domain.events import EventType
from fairline.domain.opening import After, DrawKind, Opening, milliseconds
from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.errors import DrawNotFound
from fairline.keeper.keeper import Keeper
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.store import Store
from tests.backends import START, FakeClock
from tests.keeper.crew import SWEEP, TICK, OpenStores, all_events, comes_true, happened, running
from tests.keeper.nights import (
    at,
    join,
    keep,
    line,
    night,
    plan,
    published,
    ranks,
    set_clock,
    settings_of,
    state_of,
    steps_told,
)

KEYS = Keyring(b"k" * 32)
ALL = ["prequeue_opened", "prequeue_closed", "opening_started", "opening_ended"]


# Once, and in time


async def test_each_step_is_taken_at_its_millisecond_and_not_before(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(draw_grace_seconds=30))
    for seconds, before, then in (
        (60, "scheduled", "prequeue"),
        (150, "prequeue", "open"),
        (600, "open", "ended"),
    ):
        set_clock(clock, seconds - 0.001)
        assert await keep(store, queue) == 0
        assert await state_of(store, queue) == before
        set_clock(clock, seconds)
        assert await keep(store, queue) == 1
        assert await state_of(store, queue) == then
    told = [(event.type.value, event.at) for event in await all_events(store, queue) if event.type.value in ALL]
    times = [60, 150, 150, 600]
    assert told == [(kind, START + 1000 * seconds) for kind, seconds in zip(ALL, times, strict=True)]


async def test_three_keepers_at_the_same_time_take_each_step_once(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    stores = await open_stores(3, clock)
    crew = [Keeper(store) for store in stores]
    (first, *_) = stores
    await plan(first, queue, night(add_stock=40, recheck_inside=True), stock=2)
    version = await first.version(queue)
    for seconds in (60, 90, 120, 131, 600):
        set_clock(clock, seconds)
        if seconds == 90:
            await join(first, queue, 30)
        await asyncio.gather(*(keep(each, queue, keeper) for each, keeper in zip(stores, crew, strict=True)))
    assert await steps_told(first, queue) == [(each, "op") for each in ALL]
    assert await first.version(queue) == version + 4
    assert (await settings_of(first, queue)).stock == 42
    assert sorted(await ranks(first, queue, range(1, 31))) == [*range(1, 31)]


async def test_keepers_at_work_take_the_steps_by_the_clock_of_the_store(
    open_stores: OpenStores, queue: QueueId
) -> None:
    """It is an hour ahead of the machine's, and the keepers tick once an hour: each step has a timer of its own."""

    class Ahead(FakeClock):
        def __call__(self) -> int:
            return int(1000 * time.time()) + 3_600_000

    stores = await open_stores(3, Ahead())
    (site, *_) = stores
    now = Ahead()()
    times = [datetime.fromtimestamp(now / 1000 + seconds).astimezone() for seconds in (1, 2.2, 3.4)]
    prequeue, start, end = times
    opening = Opening(id="op", prequeue_at=prequeue, starts_at=start, ends_at=end, draw=DrawKind.RANDOM)
    await plan(site, queue, opening)
    await join(site, queue, 20)
    crew = [Keeper(store, tick_seconds=3600, sweep_seconds=3600) for store in stores]

    async def it_has_ended() -> bool:
        return len(await steps_told(site, queue)) == 4

    async with running(*crew):
        await comes_true(it_has_ended, "the opening does not end")
    told = [event for event in await all_events(site, queue) if event.type.value in ALL]
    assert [event.type.value for event in told] == ALL
    for event, due in zip(told, [prequeue, start, start, end], strict=True):
        assert event.at >= milliseconds(due), event


async def test_admission_begins_with_the_draw_and_nobody_is_lost_or_twice(
    open_stores: OpenStores, queue: QueueId
) -> None:
    stores = await open_stores(3)
    (site, *_) = stores
    now = datetime.now().astimezone()
    second = timedelta(seconds=1)
    opening = Opening(id="op", prequeue_at=now, starts_at=now + 1.5 * second, draw=DrawKind.RANDOM)
    await plan(site, queue, opening, admission_rate=1000.0, burst=1000.0, max_active=10_000)
    await join(site, queue, 300)

    async def all_are_in() -> bool:
        return (await site.snapshot(queue)).admitted == 310

    async with running(*(Keeper(store, tick_seconds=TICK, sweep_seconds=SWEEP) for store in stores)):
        await comes_true(lambda: in_phase(site, queue, "prequeue"), "the pre-queue does not open")
        assert (await site.snapshot(queue)).admitted == 0
        await comes_true(lambda: in_phase(site, queue, "open"), "it does not start")
        await join(site, queue, 10)
        await comes_true(all_are_in, "not everyone is let in")
    order = [event.ticket or 0 for event in await happened(site, queue, EventType.ADMITTED)]
    assert await ranks(site, queue, order) == [*range(1, 301), *[0] * 10]
    assert sorted(order) == [*range(1, 311)]


async def test_nobody_is_let_in_while_a_prequeue_that_is_due_has_not_opened_yet(
    open_stores: OpenStores, queue: QueueId, clock: FakeClock
) -> None:
    (store,) = await open_stores(1, clock)
    await plan(store, queue, night())
    await join(store, queue, 5)
    set_clock(clock, 60)
    keeper = Keeper(store)
    for _ in range(3):
        await keeper.tick()
        clock.advance(1)
    await keep(store, queue, keeper)
    await keeper.tick()
    assert (await store.snapshot(queue)).admitted == 0
    assert await state_of(store, queue) == "prequeue"


async def in_phase(store: Store, queue: QueueId, phase: str) -> bool:
    return (await settings_of(store, queue)).phase == phase


# Outages


async def test_after_an_outage_the_steps_that_were_missed_are_taken_in_order(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(settings={"max_active": 3}))
    await join(store, queue, 5)
    set_clock(clock, 599)
    assert await keep(store, queue) == 2
    assert await steps_told(store, queue) == [(each, "op") for each in ALL[:3]]
    assert sorted(await ranks(store, queue, range(1, 6))) == [1, 2, 3, 4, 5]
    assert len((await store.admit(queue, 10)).items) == 3


async def test_nobody_lapses_because_fairline_was_away_when_the_prequeue_closed(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(), heartbeat_timeout_seconds=60, grace_seconds=0)
    set_clock(clock, 60)
    await store.sweep(queue, 100)
    await keep(store, queue)
    await join(store, queue, 5)
    set_clock(clock, 500)  # nobody swept, so the clock of the queue stood still
    await keep(store, queue)
    state, _ = await published(store, queue)
    assert state.count == 5


async def test_those_who_vanished_before_the_draw_are_not_in_it_and_come_back_behind(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(), heartbeat_timeout_seconds=30, grace_seconds=0)
    set_clock(clock, 60)
    await keep(store, queue)
    await store.sweep(queue, 100)
    for name in (b"a", b"b", b"c"):
        await join(store, queue, 1, client=name)
    for seconds in range(60, 121, 4):
        set_clock(clock, seconds)
        await store.heartbeat(queue, [1, 3])
        if seconds < 90:
            await store.sweep(queue, 100)
        else:  # the last sweep was a while ago, and the keeper lets them lapse before it draws
            await store.sweep(queue, 0)
    await keep(store, queue)
    state, _ = await published(store, queue)
    assert state.count == 2
    assert await join(store, queue, 1, client=b"b") == [4]
    assert (await line(store, queue))[-1] == 4


async def test_an_opening_that_was_over_when_a_keeper_came_has_been_missed(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    wave = Opening(id="wave", starts_at=at(700), ends_at=at(900), settings={"max_active": 7}, add_stock=5)
    await plan(store, queue, night(after=After.CLOSE, add_stock=40), wave, status="active")
    set_clock(clock, 800)
    await keep(store, queue)
    settings = await settings_of(store, queue)
    missed, current = settings.openings
    assert (missed.state.value, missed.missed, current.state.value) == ("ended", True, "open")
    assert (settings.max_active, settings.stock, settings.status.value) == (7, 5, "active")
    assert await steps_told(store, queue) == [("opening_started", "wave")]
    with pytest.raises(DrawNotFound):
        await published(store, queue)
    set_clock(clock, 900)
    await keep(store, queue)
    assert (await settings_of(store, queue)).status.value == "maintenance", "as the missed one left it"


# Clocks


async def test_a_clock_that_is_set_back_takes_no_step_back_and_none_twice(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(add_stock=5))
    for seconds, state in ((60, "prequeue"), (10, "prequeue"), (120, "open"), (59, "open"), (130, "open")):
        set_clock(clock, seconds)
        await keep(store, queue)
        assert await state_of(store, queue) == state, seconds
    set_clock(clock, 600)
    await keep(store, queue)
    set_clock(clock, 30)
    assert await keep(store, queue) == 0
    assert await steps_told(store, queue) == [(each, "op") for each in ALL]
    assert (await settings_of(store, queue)).stock == 5


async def test_a_keeper_at_work_survives_a_clock_that_is_set_back(open_stores: OpenStores, queue: QueueId) -> None:
    """It asks the store no more often for that than it has to."""
    clock = FakeClock()
    (store,) = await open_stores(1, clock)
    await plan(store, queue, Opening(id="op", starts_at=at(5)), status="paused")
    await join(store, queue, 1)  # a queue in which nobody waits has no tick
    keeper = Keeper(store, tick_seconds=3600, sweep_seconds=3600)
    async with running(keeper):
        await comes_true(lambda: planned(keeper, queue), "the opening is not noticed")
        clock.advance(4.9)
        await keeper.tick()
        clock.advance(-3600)
        taken = 0
        take = keeper.openings.take

        async def counted(queue: QueueId) -> bool:
            nonlocal taken
            taken += 1
            return await take(queue)

        async def looked() -> bool:
            return taken > 0

        keeper.openings.take = counted  # type: ignore[method-assign]
        await comes_true(looked, "the timer does not go off")
        await asyncio.sleep(0.3)
        assert taken <= 3
        clock.advance(3600.2)
        await keeper.tick()
        await comes_true(lambda: in_phase(store, queue, "open"), "it does not start")


async def planned(keeper: Keeper, queue: QueueId) -> bool:
    return queue in keeper.openings._plans


@pytest.mark.parametrize(
    ("prequeue", "start", "end"),
    [
        # Berlin goes from 02:00 to 03:00 in the last night of March, and from 03:00 to 02:00 in that of October.
        ("2027-03-28T01:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00"),
        ("2027-10-31T02:30:00+02:00", "2027-10-31T02:00:00+01:00", "2027-10-31T02:30:00+01:00"),
        # Midnight in Auckland and in Honolulu, an hour of the same day in UTC.
        ("2027-02-13T23:30:00+13:00", "2027-02-14T00:00:00+13:00", "2027-02-14T00:30:00+13:00"),
        ("2027-02-13T23:30:00-10:00", "2027-02-14T00:00:00-10:00", "2027-02-14T10:30:00Z"),
    ],
    ids=["spring", "autumn", "Auckland", "Honolulu"],
)
async def test_an_opening_is_as_long_as_its_times_with_their_offsets_say(
    store: Store, queue: QueueId, clock: FakeClock, prequeue: str, start: str, end: str
) -> None:
    begins = milliseconds(datetime.fromisoformat(prequeue))
    await plan(store, queue)
    service = Openings(Fairline(store, KEYS))
    fields = {"prequeue_at": prequeue, "starts_at": start, "ends_at": end}
    made = await service.create(queue, {name: datetime.fromisoformat(text) for name, text in fields.items()})
    found = []
    for minutes in (-0.01, 0, 29.99, 30, 59.99, 60):
        clock.now = begins + round(60_000 * minutes)
        await keep(store, queue)
        found.append(await state_of(store, queue, made.opening.id))
    assert found == ["scheduled", "prequeue", "prequeue", "open", "open", "ended"]
