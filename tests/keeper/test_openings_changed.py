"""Openings that are changed or deleted while people wait, and what an opening may do beside letting people in."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from fairline.domain.events import EventType
from fairline.domain.opening import After, DrawKind, Opening
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.ticket import Reason
from fairline.domain.tokens import Keyring
from fairline.keeper.keeper import Keeper
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.store import Store
from tests.backends import START, FakeClock
from tests.keeper.crew import OpenStores, comes_true, happened, running
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


# Changed meanwhile


async def test_deleted_in_its_prequeue_people_wait_as_they_came_and_are_let_in(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(settings={"max_active": 1}), max_active=7)
    service = Openings(Fairline(store, KEYS))
    set_clock(clock, 60)
    await keep(store, queue)
    await join(store, queue, 5)
    assert (await published(store, queue))[0].commitment
    assert (await store.admit(queue, 10)).items == []
    await service.delete(queue, "op")
    settings = await settings_of(store, queue)
    assert (settings.phase, settings.max_active, settings.openings) == ("", 7, ())
    assert await store.draw_parts(queue, "op", ["sealed"]) == {}
    assert (await store.admit(queue, 10)).items == [1, 2, 3, 4, 5]
    for seconds in (120, 600):
        set_clock(clock, seconds)
        assert await keep(store, queue) == 0


async def test_deleted_after_its_start_the_order_stays_and_what_was_published(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(), status="maintenance")
    for seconds in (60, 120):
        set_clock(clock, seconds)
        await keep(store, queue)
        if seconds == 60:
            await join(store, queue, 10)
    order = await line(store, queue)
    assert await ranks(store, queue, order) == [*range(1, 11)]
    await Openings(Fairline(store, KEYS)).delete(queue, "op")
    assert await line(store, queue) == order
    assert (await settings_of(store, queue)).status.value == "maintenance"
    state, entries = await published(store, queue)
    assert (state.count, len(entries)) == (10, 10), "everyone can still check it"


async def test_a_start_that_is_moved_while_people_wait(store: Store, queue: QueueId, clock: FakeClock) -> None:
    service = Openings(Fairline(store, KEYS))
    for moved in (90, 300):
        name = queue_id(f"{queue}-{moved}")
        clock.now = START
        await plan(store, name, night())
        set_clock(clock, 60)
        await keep(store, name)
        await join(store, name, 3)
        await service.change(name, "op", {"starts_at": at(moved)})
        set_clock(clock, moved - 0.001)
        await keep(store, name)
        assert await state_of(store, name) == "prequeue", moved
        set_clock(clock, moved)
        await keep(store, name)
        assert await state_of(store, name) == "open", moved
        assert sorted(await ranks(store, name, [1, 2, 3])) == [1, 2, 3]


async def test_settings_and_end_that_are_changed_while_it_runs(store: Store, queue: QueueId, clock: FakeClock) -> None:
    service = Openings(Fairline(store, KEYS))
    await plan(store, queue, night(settings={"max_active": 2}), max_active=7)
    await join(store, queue, 10)
    for seconds in (60, 120):
        set_clock(clock, seconds)
        await keep(store, queue)
    assert len((await store.admit(queue, 10)).items) == 2
    await service.change(queue, "op", {"settings": {"max_active": 4}, "ends_at": at(200)})
    clock.advance(1)
    assert len((await store.admit(queue, 10)).items) == 2
    set_clock(clock, 200)
    await keep(store, queue)
    clock.advance(1)
    assert len((await store.admit(queue, 10)).items) == 3
    assert await state_of(store, queue) == "ended"


async def test_settings_that_somebody_changes_while_the_steps_are_taken_are_kept(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    service = Fairline(store, KEYS)
    await plan(store, queue, night())
    for seconds in (60, 120, 600):
        set_clock(clock, seconds)
        await asyncio.gather(
            keep(store, queue),
            *(service.configure(queue, {"name": f"{seconds}"}) for _ in range(3)),
            keep(store, queue),
        )
        await keep(store, queue)
        assert (await settings_of(store, queue)).name == f"{seconds}"
    assert await steps_told(store, queue) == [(each, "op") for each in ALL]


# What it may do


async def test_sessions_from_before_end_at_the_start_if_the_opening_says_so(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    for recheck in (True, False):
        name = queue_id(f"{queue}-{recheck}".lower())
        clock.now = START
        await plan(store, name, night(recheck_inside=recheck, draw=DrawKind.NONE))
        await join(store, name, 450)
        admitted = (await store.admit(name, 450)).items
        await store.visit(name, "start", [(number, b"me") for number in admitted[:210]])
        set_clock(clock, 60)
        await keep(store, name)
        await join(store, name, 3)
        assert (await store.snapshot(name)).inside == 450
        set_clock(clock, 120)
        await keep(store, name)
        assert (await store.snapshot(name)).inside == (0 if recheck else 450)
        if recheck:
            (ended,) = (await store.status(name, [1])).items
            assert ended
            assert ended.reason is Reason.TERMINATED
        assert (await store.admit(name, 10)).items == [451, 452, 453]


async def test_waves_add_to_the_stock_one_after_the_other(store: Store, queue: QueueId, clock: FakeClock) -> None:
    waves = [
        Opening(id=f"wave-{n}", starts_at=at(60 * n), ends_at=at(60 * n + 30), add_stock=2, after=After.CLOSE)
        for n in (1, 2)
    ]
    await plan(store, queue, *waves, stock=0)
    await join(store, queue, 10)
    inside = []
    for seconds in (30, 60, 90, 120, 150):
        set_clock(clock, seconds)
        await keep(store, queue)
        await store.admit(queue, 10)
        inside.append((await store.snapshot(queue)).inside)
    assert inside == [0, 2, 2, 4, 4]
    assert (await settings_of(store, queue)).stock == 4


async def test_without_a_draw_the_order_is_that_in_which_they_came(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(draw=DrawKind.NONE))
    set_clock(clock, 60)
    await keep(store, queue)
    await join(store, queue, 5)
    set_clock(clock, 120)
    await keep(store, queue)
    assert (await store.admit(queue, 10)).items == [1, 2, 3, 4, 5]
    assert [kind for kind, _ in await steps_told(store, queue)] == ["prequeue_opened", "opening_started"]


async def test_who_comes_in_the_grace_time_is_drawn_and_who_comes_later_is_not(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    await plan(store, queue, night(draw_grace_seconds=30))
    set_clock(clock, 60)
    await keep(store, queue)
    await join(store, queue, 2)
    set_clock(clock, 149.999)
    await keep(store, queue)
    await join(store, queue, 1)
    assert (await store.admit(queue, 10)).items == []
    set_clock(clock, 150)
    await keep(store, queue)
    await join(store, queue, 1)
    assert sorted(await ranks(store, queue, [1, 2, 3, 4])) == [0, 1, 2, 3]
    assert (await line(store, queue))[-1] == 4


async def test_a_queue_in_maintenance_opens_at_opens_at(store: Store, queue: QueueId, clock: FakeClock) -> None:
    await plan(store, queue, status="maintenance", opens_at=at(60).isoformat())
    set_clock(clock, 59.999)
    assert await keep(store, queue) == 0
    set_clock(clock, 60)
    assert await keep(store, queue) == 1
    settings = await settings_of(store, queue)
    assert (settings.status.value, settings.opens_at) == ("active", "")
    assert await keep(store, queue) == 0
    assert await join(store, queue, 1)


async def test_a_queue_that_nobody_touches_opens_by_itself(open_stores: OpenStores, queue: QueueId) -> None:
    stores = await open_stores(2)
    soon = (datetime.now().astimezone() + timedelta(seconds=1)).isoformat()
    await plan(stores[0], queue, status="maintenance", opens_at=soon)

    async def it_is_open() -> bool:
        return (await settings_of(stores[0], queue)).status.value == "active"

    async with running(*(Keeper(store) for store in stores)):
        await comes_true(it_is_open, "it does not open")
    assert len(await happened(stores[0], queue, EventType.SETTINGS_CHANGED)) == 1


async def test_what_is_kept_of_old_draws_goes_with_their_openings(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    many = 22
    hour = 3600
    nights = [
        night(f"op-{n:02}", prequeue_at=at(n * hour), starts_at=at(n * hour + 60), ends_at=at(n * hour + 120))
        for n in range(1, many + 1)
    ]
    await plan(store, queue, *nights)
    await join(store, queue, 2)
    for n in range(1, many + 1):
        for seconds in (0, 60, 120):
            set_clock(clock, n * hour + seconds)
            await keep(store, queue)
    left = [each.id for each in (await settings_of(store, queue)).openings]
    assert left == [f"op-{n:02}" for n in range(3, many + 1)]
    for each in nights:
        kept = await store.draw_parts(queue, each.id, ["sealed", "frozen", "closed", "entries:0"])
        assert len(kept) == (4 if each.id in left else 0), each.id
