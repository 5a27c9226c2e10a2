"""Keepers through outages, nights in which no keeper ran, and their own end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Reason, Status
from fairline.errors import StoreUnavailable
from fairline.keeper import keeper as keeper_module
from fairline.keeper.keeper import Keeper
from fairline.store import Arrival, Store, open_store
from fairline.store.valkey.embedded import EmbeddedValkey
from tests.backends import FakeClock
from tests.keeper.crew import SWEEP, TICK, OpenStores, comes_true, count_of, make, running

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
        newest_events = store.newest_events

        async def asked() -> dict[QueueId, str]:
            try:
                return await newest_events()
            except StoreUnavailable:
                refused.set()
                raise

        store.newest_events = asked  # type: ignore[method-assign]

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
    "claim_seconds": 100,
    "session_seconds": 200,
    "max_active": 2,
    "admission_rate": 2,
}


async def keep(keeper: Keeper, clock: FakeClock, seconds: int) -> None:
    """A number of seconds in which keepers run as usual."""
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
        (*ticket_statuses,) = (await store.status(queue, [1, 2, 3])).items
        return [
            (ticket_status.deadline - clock()) / 1000
            for ticket_status in ticket_statuses
            if ticket_status and ticket_status.deadline
        ]

    assert await seconds_left() == [160, 60, 50]
    clock.advance(outage)
    # All keepers come back at once, and their first rounds in any order.
    await asyncio.gather(*(step() for other in [Keeper(store) for _ in range(4)] for step in (other.tick, other.sweep)))
    await asyncio.gather(keeper.tick(), keeper.sweep())
    assert ended == {}
    assert await seconds_left() == [155, 55, 45]

    await keep(keeper, clock, 44)
    assert ended == {}
    await keep(keeper, clock, 6)
    assert ended == {3: Reason.HEARTBEAT_TIMEOUT}
    await keep(keeper, clock, 10)
    assert ended == {3: Reason.HEARTBEAT_TIMEOUT, 2: Reason.CLAIM_TIMEOUT}
    await keep(keeper, clock, 100)
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
    assert (ticket.status, ticket.deadline) == (Status.ADMITTED, clock() + 100_000)
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
    for _ in range(200):
        keepers.append(asyncio.create_task(Keeper(store, tick_seconds=0.001, sweep_seconds=0.001).run()))
        loop.call_later(chance.uniform(0.001, 0.05), keepers[-1].cancel)
        if len(keepers) % 8 == 0:
            await asyncio.sleep(chance.uniform(0, 0.03))
    _, running_on = await asyncio.wait(keepers, timeout=30)
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
    assert (await store.snapshot(queue)).waiting == 1
    for _ in range(5):
        clock.advance(5)
        await store.registry.mark_alive("web", "w:1")
        await keeper.sweep()
    assert (await store.snapshot(queue)).waiting == 0
