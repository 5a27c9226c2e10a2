"""Many workers at once, each with connections of its own: every operation is one atomic step."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

import pytest

from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Status, TicketStatus
from fairline.errors import FairlineError, PassInvalid, QueueFull, RateLimited, SessionTaken, SettingsChanged
from fairline.store import Arrival, Joined, Store
from tests.backends import FakeClock
from tests.conftest import patient_store
from tests.store.venue import MANY, NO_OUTAGE, OpenVenue, Venue

LONG = bool(os.environ.get("FAIRLINE_LONG"))
Workers: TypeAlias = Callable[[int], Awaitable[list[Store]]]


@pytest.fixture(scope="module")
async def workers(backend: str, session_clock: FakeClock) -> AsyncIterator[Workers]:
    """As many stores as are asked for, each with connections of its own; later tests have the same ones."""
    opened: list[Store] = []

    async def first(count: int) -> list[Store]:
        while len(opened) < count:
            opened.append(await patient_store(backend, session_clock))
        return opened[:count]

    yield first
    for store in opened:
        await store.close()


async def warm(v: Venue, stores: Sequence[Store]) -> list[int]:
    """One join by each, in turn, which gives these numbers. What a new connection has to load at its first call would
    otherwise be most of a rush."""
    items = [item for store in stores for item in (await store.join(v.queue, [Arrival()])).items]
    return [item.ticket.number for item in items if isinstance(item, Joined)]


async def all_join(v: Venue, stores: Sequence[Store], arrival: Arrival) -> list[Joined | FairlineError]:
    """All at once, the same arrival."""
    replies = await asyncio.gather(*(store.join(v.queue, [arrival]) for store in stores))
    return [item for reply in replies for item in reply.items]


async def test_a_rush_gives_every_number_once_and_is_served_in_its_order(venue: OpenVenue, workers: Workers) -> None:
    joiners, each, batch = (64, 200, 4) if LONG else (20, 40, 4)
    v = await venue(max_active=100_000, admission_rate=100_000, join_limit_per_ip=0)
    stores = await workers(joiners)
    before = await warm(v, stores)

    async def rush(joiner: int) -> list[int]:
        numbers: list[int] = []
        for i in range(0, each, batch):
            arrivals = [Arrival(client=b"%d-%d" % (joiner, i + k)) for k in range(batch)]
            items = (await stores[joiner].join(v.queue, arrivals)).items
            numbers += [item.ticket.number for item in items if isinstance(item, Joined) and item.created]
        return numbers

    given = await asyncio.gather(*(rush(joiner) for joiner in range(joiners)))
    assert all(numbers == sorted(numbers) for numbers in given)
    everyone = [*before, *sorted(number for numbers in given for number in numbers)]
    assert everyone == list(range(1, joiners + joiners * each + 1))

    admitted: list[int] = []
    while numbers := await v.admit():
        admitted += numbers
    assert admitted == everyone


async def test_who_joins_in_a_rush_is_hardly_overtaken(venue: OpenVenue, workers: Workers) -> None:
    """A step that waits for others has its turn before those that came after it: a place in the line hangs on it."""
    joiners, each = (32, 50) if LONG else (20, 40)
    v = await venue(join_limit_per_ip=0)
    stores = await workers(joiners)
    await warm(v, stores)
    turns = count()
    waiting: dict[int, int] = {}  # who joins just now, and since which turn
    overtaken: Counter[int] = Counter()  # by turn

    async def rush(joiner: int) -> None:
        for _ in range(each):
            turn = waiting[joiner] = next(turns)
            await stores[joiner].join(v.queue, [Arrival()])
            del waiting[joiner]
            overtaken.update([turn, *(other for other in waiting.values() if other < turn)])

    await asyncio.gather(*map(rush, range(joiners)))
    passed_by = sorted(times - 1 for times in overtaken.values())
    assert passed_by[len(passed_by) * 99 // 100] < joiners


async def test_the_same_person_joining_fifty_times_at_once_holds_one_ticket(venue: OpenVenue, workers: Workers) -> None:
    v = await venue()
    stores = await workers(10)
    items = await all_join(v, stores * 5, Arrival(client=b"me"))
    joined = [item for item in items if isinstance(item, Joined)]
    assert {item.ticket.number for item in joined} == {1}
    assert Counter(item.created for item in joined) == {True: 1, False: 49}
    assert await v.line() == [1]


async def test_the_same_idempotency_key_at_once_makes_one_ticket(venue: OpenVenue, workers: Workers) -> None:
    v = await venue()
    items = await all_join(v, await workers(20), Arrival(key=b"k", fingerprint=b"f"))
    assert {item.ticket.number for item in items if isinstance(item, Joined)} == {1}
    assert len(await v.line()) == 1


async def test_of_twenty_who_want_the_last_five_exactly_five_get_one(venue: OpenVenue, workers: Workers) -> None:
    scarce: list[tuple[dict[str, Any], Arrival, type[FairlineError]]] = [
        ({"max_queue_size": 5}, Arrival(), QueueFull),
        ({"join_limit_per_ip": 5}, Arrival(address=b"home"), RateLimited),
        ({}, Arrival(pass_id="vip"), PassInvalid),
    ]
    for settings, arrival, refusal in scarce:
        v = await venue(**settings)
        await v.store.issue_priority_pass(v.queue, "vip", 1, 5, 60)
        items = await all_join(v, await workers(20), arrival)
        assert Counter(type(item) for item in items) == {Joined: 5, refusal: 15}


async def test_two_desks_never_call_the_same_person(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(admission="manual")
    await v.joins(40)
    desks = await workers(4)
    calls = await asyncio.gather(*(desk.call_next(v.queue, 2, desk=f"Desk {i}") for i, desk in enumerate(desks * 5)))
    called = [ticket.number for tickets in calls for ticket in tickets]
    assert sorted(called) == list(range(1, 41))
    assert all(tickets == sorted(tickets, key=lambda ticket: ticket.number) for tickets in calls)


async def test_sixteen_desks_at_once_call_everyone_once_and_in_order(venue: OpenVenue, workers: Workers) -> None:
    waiting, presses = (3000, 200) if LONG else (1000, 70)
    v = await venue(admission="manual", max_active=10_000, claim_seconds=3600)
    for _ in range(waiting // MANY):
        await v.joins(MANY)
    calls: list[tuple[float, float, bytes, list[int]]] = []

    async def desk(number: int, store: Store) -> None:
        for press in range(presses):
            key, began = b"%d-%d" % (number, press), time.perf_counter()
            called = await store.call_next(v.queue, 1, desk=f"Desk {number}", key=key)
            calls.append((began, time.perf_counter(), key, [ticket.number for ticket in called]))

    desks = await workers(16)
    await asyncio.gather(*(desk(number, store) for number, store in enumerate(desks)))
    numbers = [number for *_, called in calls for number in called]
    assert sorted(numbers) == list(range(1, waiting + 1))
    assert sum(not called for *_, called in calls) == 16 * presses - waiting
    # Of two calls that did not overlap, the earlier one called who came first.
    answered = sorted((ended, called[0]) for _, ended, _, called in calls if called)
    highest, rest = 0, deque(answered)
    for began, _, _, called in sorted(call for call in calls if call[3]):
        while rest and rest[0][0] < began:
            highest = max(highest, rest.popleft()[1])
        assert called[0] > highest
    for _, _, key, called in random.sample(calls, 50):
        again = await v.store.call_next(v.queue, 1, desk=f"Desk {key.partition(b'-')[0].decode()}", key=key)
        assert not called or [ticket.number for ticket in again] == called


async def test_a_press_that_arrives_twice_at_once_calls_one_person(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(admission="manual")
    await v.joins(10)
    desks = await workers(4)
    calls = await asyncio.gather(*(desk.call_next(v.queue, 1, key=b"press") for desk in desks))
    assert [[ticket.number for ticket in tickets] for tickets in calls] == [[1]] * 4


async def test_many_keepers_let_in_no_more_than_rate_and_capacity_allow(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(admission_rate=5, burst=5, max_active=12)
    await v.joins(100)
    keepers = await workers(8)
    admitted: list[list[int]] = []
    for _ in range(4):
        replies = await asyncio.gather(*(keeper.admit(v.queue, MANY) for keeper in keepers))
        admitted.append(sorted(number for reply in replies for number in reply.items))
        v.clock.advance(1)
    assert admitted == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12], []]


async def test_no_two_sweeps_report_the_same_lapse(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=0)
    await v.joins(300)
    v.clock.advance(60)
    keepers = await workers(8)
    swept = await asyncio.gather(*(keeper.sweep(v.queue, 30, every=NO_OUTAGE) for keeper in keepers * 2))
    lapsed = [lapse.number for each in swept for lapse in each.lapsed]
    assert sorted(lapsed) == list(range(1, 301))
    assert (await v.store.stats(v.queue)).totals.expired == 300


async def test_a_heartbeat_and_a_sweep_at_once_agree_about_who_lives(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=0)
    numbers = await v.joins(200)
    v.clock.advance(60)
    one, two = await workers(2)

    async def sweep() -> set[int]:
        lapsed: set[int] = set()
        for _ in range(20):
            lapsed |= {lapse.number for lapse in (await one.sweep(v.queue, 10, every=NO_OUTAGE)).lapsed}
        return lapsed

    async def heartbeat() -> set[int]:
        alive: set[int] = set()
        for number in reversed(numbers):
            (ticket_status,) = (await two.heartbeat(v.queue, [number])).items
            if ticket_status and ticket_status.status is Status.WAITING:
                alive.add(number)
        return alive

    lapsed, alive = await asyncio.gather(sweep(), heartbeat())
    assert not lapsed & alive
    assert lapsed | alive == set(numbers)
    assert set(await v.line()) == alive


async def test_a_session_is_started_by_one_browser_only(venue: OpenVenue, workers: Workers) -> None:
    v = await venue()
    number = await v.one(Status.ADMITTED)
    browsers = await workers(10)
    replies = await asyncio.gather(
        *(browser.visit(v.queue, "visit", [(number, b"%d" % i)]) for i, browser in enumerate(browsers))
    )
    outcomes = Counter(type(item) for reply in replies for item in reply.items)
    assert outcomes == {TicketStatus: 1, SessionTaken: 9}
    assert (await v.ticket(number)).page_views == 1


async def test_the_last_item_is_sold_once(venue: OpenVenue, workers: Workers) -> None:
    v = await venue(stock=1, admission_rate=1000)
    await v.joins(10)
    shops = await workers(5)
    await asyncio.gather(
        *(shop.admit(v.queue, MANY) for shop in shops), *(shop.call_next(v.queue, 1, desk="shop") for shop in shops)
    )
    (number,) = [ticket.number for ticket in await v.tickets(Status.ADMITTED)]
    await v.start(number)
    done = await asyncio.gather(*(shop.act(v.queue, Action.COMPLETE, [number]) for shop in shops))
    assert Counter(isinstance(reply.items[0], TicketStatus) for reply in done) == {True: 1, False: 4}
    assert (await v.store.snapshot(v.queue)).completed == 1


async def test_of_changes_made_at_once_one_is_kept_and_the_others_are_told(venue: OpenVenue, workers: Workers) -> None:
    v = await venue()
    version = (await v.store.settings(v.queue)).version
    stores = await workers(8)
    outcomes = await asyncio.gather(
        *(store.configure(v.queue, checked({"max_active": i + 1}), version) for i, store in enumerate(stores)),
        return_exceptions=True,
    )
    kept = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert [await v.store.settings(v.queue)] == kept
    assert sum(isinstance(outcome, SettingsChanged) for outcome in outcomes) == 7


async def test_one_store_serves_more_callers_at_once_than_it_has_connections(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(50)
    replies = await asyncio.gather(*(v.store.heartbeat(v.queue, [number]) for number in range(1, 51) for _ in range(4)))
    assert all(reply.items[0] for reply in replies)
