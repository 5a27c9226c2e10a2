"""Admission over simulated hours: the rate is kept to the person, capacity and stock are never exceeded.

The contract suite has the rules one by one, on every store; here they are held against time, keepers and accidents.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action
from fairline.store import MAX_BATCH, Arrival, Store
from tests.backends import START, FakeClock
from tests.conftest import MakeQueue, OpenStore

#: Nobody expires and nothing is full, unless a test says so.
OPEN = {
    "max_active": 10_000_000,
    "max_queue_size": 10_000_000,
    "heartbeat_timeout_seconds": 0,
    "claim_seconds": 86_400,
    "join_limit_per_ip": 0,
}
MANY = 10_000
#: How much longer the hours are with `FAIRLINE_LONG=1`.
STRETCH = 54 if os.environ.get("FAIRLINE_LONG") else 1


class CrowdedQueue:
    """A queue whose people are let in, and the count of those who were."""

    def __init__(self, store: Store, queue: QueueId, clock: FakeClock) -> None:
        self.store, self.queue, self.clock = store, queue, clock
        self.admitted = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return (self.clock() - START) / 1000

    async def crowd(self, count: int) -> None:
        """This many join."""
        for first in range(0, count, MAX_BATCH):
            await self.store.join(self.queue, [Arrival()] * min(MAX_BATCH, count - first))

    async def tick(self, every: float = 1.0, lease: float = 0.0) -> list[int]:
        """The tickets admitted now."""
        numbers = (await self.store.admit(self.queue, MANY, every=every, lease=lease)).items
        self.admitted += len(numbers)
        return numbers

    async def ticks(self, seconds: float, every: float = 1.0) -> list[int]:
        """Time goes on, with a tick at the end of each interval; how many went in at each."""
        counts = []
        for _ in range(round(seconds / every)):
            self.clock.advance(every)
            counts.append(len(await self.tick(every)))
        return counts

    async def visit_and(self, action: Action, numbers: list[int]) -> None:
        """They come in, and go."""
        await self.store.visit(self.queue, "start", [(number, b"") for number in numbers])
        await self.store.act(self.queue, action, numbers)

    async def configure(self, **changes: Any) -> None:
        now = await self.store.settings(self.queue)
        await self.store.configure(self.queue, checked(changes, now.settings), now.version)


MakeCrowdedQueue: TypeAlias = Callable[..., Awaitable[CrowdedQueue]]


@pytest.fixture(scope="session")
def backend(valkey_url: str) -> str:
    """Hours take a while: on the plain Valkey only."""
    return valkey_url


@pytest.fixture
def crowded(store: Store, make_queue: MakeQueue, clock: FakeClock) -> MakeCrowdedQueue:
    """A queue with a crowd before it: `d = await crowded(5000, admission_rate=3)`."""

    async def make(crowd: int, **settings: Any) -> CrowdedQueue:
        made = CrowdedQueue(store, await make_queue(**{**OPEN, **settings}), clock)
        await made.crowd(crowd)
        return made

    return make


def keepers(count: int, seconds: float, seed: int) -> list[float]:
    """When each of a number of keepers ticks: every second, from a moment of its own, each time up to 0.4 s late."""
    chance = random.Random(seed)
    due = [(chance.random(), keeper) for keeper in range(count)]
    ticks = []
    while due[0][0] < seconds:
        at, keeper = heapq.heappop(due)
        ticks.append(at + chance.random() * 0.4)
        heapq.heappush(due, (at + 1, keeper))
    return sorted(ticks)


# The rate


@pytest.mark.timeout(180 * STRETCH)
@pytest.mark.parametrize(
    ("count", "seconds", "rate"), [(1, 200, 10), (2, 100, 10), (8, 30, 10), (2, 100, 0.3), (8, 20, 7.77)]
)
async def test_the_rate_is_kept_to_the_person_by_any_number_of_keepers(
    crowded: MakeCrowdedQueue, count: int, seconds: float, rate: float
) -> None:
    seconds *= STRETCH
    d = await crowded(int(rate * seconds) + 100, admission_rate=rate)
    ticks, burst = keepers(count, seconds, seed=count), max(1, rate)
    since = int(ticks[0] * 1000) / 1000
    for at in ticks:
        d.clock.now = START + int(at * 1000)
        await d.tick(lease=0.5)
        allowed = burst + rate * (d.seconds - since)
        # Someone else may have had the lease for half a second; else nobody is let in too early or too late.
        assert allowed - rate * 0.5 - 1 - 1e-6 <= d.admitted <= allowed + 1e-6


@pytest.mark.parametrize("rate", [0.3, 7.77])
@pytest.mark.parametrize(("every", "seconds"), [(0.001, 0.3), (0.25, 40), (1.0, 150), (10.0, 1200)])
async def test_the_rate_is_exact_however_often_it_is_ticked(
    crowded: MakeCrowdedQueue, rate: float, every: float, seconds: float
) -> None:
    d = await crowded(int(rate * seconds) + 100, admission_rate=rate)
    await d.tick(every)
    await d.ticks(seconds, every)
    exact = max(1, rate) + rate * seconds
    assert exact - 1 - 1e-6 <= d.admitted <= exact + 1e-6


async def test_late_ticks_lose_nothing_up_to_twice_the_interval(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(1000, admission_rate=3.3)
    await d.tick()
    chance = random.Random(1)
    for _ in range(150):
        d.clock.advance(chance.uniform(0.1, 2))
        await d.tick()
    assert d.admitted == math.floor(3.3 + 3.3 * d.seconds)


async def test_a_rate_that_is_changed_counts_from_then_on(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(1500, admission_rate=10)
    assert len(await d.tick()) == 10
    assert await d.ticks(20) == [10] * 20
    await d.configure(admission_rate=50)
    assert await d.ticks(20) == [50] * 20
    await d.configure(admission_rate=0.5)
    assert sum(await d.ticks(20)) == 10
    await d.configure(admission_rate=10)
    assert await d.ticks(20) == [10] * 20


async def test_a_rate_of_nought_lets_nobody_in(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(100, admission_rate=0)
    assert not await d.tick()
    assert sum(await d.ticks(3600, 60)) == 0


@pytest.mark.parametrize("burst", [None, 100])
async def test_a_rate_that_falls_to_nought_lets_nobody_in_any_more(
    crowded: MakeCrowdedQueue, burst: float | None
) -> None:
    d = await crowded(0, admission_rate=10, burst=burst)
    await d.ticks(60)
    await d.configure(admission_rate=0)
    await d.crowd(200)
    assert not await d.tick()
    assert sum(await d.ticks(60)) == 0
    await d.configure(admission_rate=10)
    assert sum(await d.ticks(5)) <= (burst or 10) + 50


# The burst


@pytest.mark.parametrize(
    ("rate", "burst", "most"), [(10, None, 10), (10, 1, 1), (10, 25, 25), (0.3, None, 1), (2, 3.9, 3)]
)
async def test_after_idling_no_more_go_in_at_once_than_the_burst(
    crowded: MakeCrowdedQueue, rate: float, burst: float | None, most: int
) -> None:
    d = await crowded(0, admission_rate=rate, burst=burst)
    await d.ticks(600, 10)
    await d.crowd(500)
    assert len(await d.tick()) == most
    await d.ticks(100)
    assert d.admitted <= (burst or max(1, rate)) + rate * 100


async def test_nobody_is_let_in_faster_after_hours_without_ticks(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(0, admission_rate=10)
    await d.tick()
    d.clock.advance(7200)
    await d.crowd(500)
    assert len(await d.tick()) == 10
    assert await d.ticks(5) == [10] * 5


async def test_a_small_burst_does_not_slow_down_the_rate(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(500, admission_rate=10, burst=1)
    assert len(await d.tick()) == 1
    assert await d.ticks(40) == [10] * 40


async def test_a_full_capacity_saves_up_no_more_than_the_burst(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(500, admission_rate=10, max_active=30)
    await d.tick()
    inside = [*range(1, 31)]
    await d.ticks(600, 10)
    assert d.admitted == 30
    await d.visit_and(Action.COMPLETE, inside)
    assert len(await d.tick()) == 10
    assert await d.ticks(4) == [10, 10, 0, 0]


@pytest.mark.parametrize("stop", [{"status": "paused"}, {"status": "maintenance"}, {"admission": "manual"}])
async def test_a_pause_saves_up_no_more_than_the_burst(crowded: MakeCrowdedQueue, stop: dict[str, str]) -> None:
    d = await crowded(500, admission_rate=10)
    await d.tick()
    await d.configure(**stop)
    assert sum(await d.ticks(600, 10)) == 0
    await d.configure(status="active", admission="auto")
    assert await d.ticks(5) == [10] * 5


# Accidents


@pytest.mark.parametrize(("rate", "burst"), [(10, None), (10, 50), (0.3, None), (7.77, 1)])
async def test_after_an_outage_of_ten_minutes_there_is_no_flood(
    crowded: MakeCrowdedQueue, rate: float, burst: float | None
) -> None:
    d = await crowded(700, admission_rate=rate, burst=burst)
    await d.tick()
    await d.ticks(30)
    d.clock.advance(600)
    before = d.admitted
    most = max(burst or max(1, rate), math.ceil(2 * rate))
    assert len(await d.tick()) <= most
    await d.ticks(30)
    assert d.admitted - before <= most + rate * 30


async def test_a_clock_set_back_gives_nothing_away_and_stops_nothing(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(1500, admission_rate=10)
    await d.tick()
    assert await d.ticks(60) == [10] * 60
    for back in (0.2, 30, 86_400):
        d.clock.advance(-back)
        assert not await d.tick(lease=0.5)
        assert await d.ticks(20) == [10] * 20


async def test_a_clock_set_forward_is_an_outage_and_no_more(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(500, admission_rate=10)
    await d.tick()
    await d.ticks(10)
    d.clock.advance(86_400)
    assert len(await d.tick()) <= 20
    d.clock.advance(-86_399)
    assert len(await d.tick()) <= 10
    assert await d.ticks(20) == [10] * 20


# Capacity and stock


@pytest.mark.parametrize(("count", "seconds"), [(1, 60), (2, 40), (8, 15)])
async def test_no_more_are_inside_than_allowed_while_people_come_and_go(
    crowded: MakeCrowdedQueue, count: int, seconds: float
) -> None:
    d = await crowded(1500, admission_rate=20, max_active=50)
    chance = random.Random(count)
    inside: set[int] = set()
    full = 0
    for at in keepers(count, seconds, seed=count):
        d.clock.now = START + int(at * 1000)
        inside.update(await d.tick(lease=0.5))
        assert len(inside) <= 50
        full += len(inside) == 50
        leaving = chance.sample(sorted(inside), min(len(inside), chance.randint(0, 12 // count)))
        await d.visit_and(chance.choice([Action.COMPLETE, Action.LEAVE, Action.TERMINATE]), leaving)
        await d.store.act(d.queue, Action.CANCEL, [chance.randint(1250, 1500)])  # someone who waits
        inside.difference_update(leaving)
        snapshot = await d.store.snapshot(d.queue)
        assert snapshot.inside == len(inside)
    assert full > 20, "capacity was never the gate, so nothing was tested"


async def test_stock_is_sold_to_the_last_piece_and_not_beyond(crowded: MakeCrowdedQueue) -> None:
    d = await crowded(1000, admission_rate=20, max_active=40, stock=300)
    chance = random.Random(3)
    for _ in range(100):
        d.clock.advance(1)
        for number in await d.tick():
            await d.visit_and(chance.choice([Action.COMPLETE, Action.COMPLETE, Action.LEAVE]), [number])
        snapshot = await d.store.snapshot(d.queue)
        assert snapshot.completed + snapshot.inside <= 300
    end = await d.store.snapshot(d.queue)
    assert end.completed == 300
    assert end.waiting > 0
    await d.configure(stock=310)
    assert sum(await d.ticks(10)) == 10


async def test_keepers_that_tick_at_the_same_moment_share_one_bucket_and_one_capacity(
    crowded: MakeCrowdedQueue, another_store: OpenStore
) -> None:
    d = await crowded(400, admission_rate=100, max_active=250)
    others = [CrowdedQueue(await another_store(), d.queue, d.clock) for _ in range(8)]
    seen: list[int] = []
    for _ in range(5):
        together = await asyncio.gather(*(other.tick() for other in others))
        numbers = [number for some in together for number in some]
        assert len(numbers) <= 100
        seen += numbers
        d.clock.advance(1)
    assert sorted(seen) == [*range(1, 251)], "the first 250, each of them once"
