"""Desks: which are open, what each did, and what the wait at a walk-in line is estimated from."""

from __future__ import annotations

import heapq
import random

import msgspec
import pytest

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Status
from fairline.errors import InvalidRequest
from fairline.store import Arrival, DeskTotals, Joined, open_store
from fairline.store.constants import HOURS_KEPT, MOST_DESKS
from tests.backends import FakeClock
from tests.store.remains import desks_kept
from tests.store.venue import WALK_IN, OpenVenue, Venue


async def open_desks(v: Venue) -> dict[str, bool]:
    return {desk.name: desk.open for desk in await v.store.desks(v.queue)}


async def test_a_desk_that_is_not_named_cannot_call(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, desks=["Desk 1", "Schalter Süd"])
    await v.joins(3)
    before = await v.everything()
    for press in ({}, {"number": 2}, {"key": b"press"}):
        with pytest.raises(InvalidRequest, match="Desk 1, Schalter Süd"):
            await v.call(desk="Desk 9", **press)
    assert await v.everything() == before
    assert await v.call(desk="Schalter Süd") == [1]
    assert await v.call() == [2]


async def test_a_desk_is_open_while_it_calls(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, desks=["A", "B", "C"], desk_idle_seconds=600)
    await v.joins(3)
    assert await open_desks(v) == {"A": False, "B": False, "C": False}
    await v.call(desk="A")
    await v.store.set_desk(v.queue, "B", is_open=True)
    assert await open_desks(v) == {"A": True, "B": True, "C": False}
    assert (await v.store.snapshot(v.queue)).desks_open == 2
    await v.store.set_desk(v.queue, "A", is_open=False)
    assert await open_desks(v) == {"A": False, "B": True, "C": False}
    await v.call(desk="A")
    v.clock.advance(599)
    assert (await v.store.snapshot(v.queue)).desks_open == 2
    v.clock.advance(1)
    assert (await v.store.snapshot(v.queue)).desks_open == 0
    assert (await v.store.desks(v.queue))[0].since == v.clock() - 600_000


async def test_a_desk_that_is_not_named_cannot_open(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, desks=["A"])
    with pytest.raises(InvalidRequest, match="A"):
        await v.store.set_desk(v.queue, "B", is_open=True)


async def test_what_each_desk_did_is_counted(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(4)
    v.clock.advance(30)
    await v.call(desk="A")
    v.clock.advance(20)
    await v.start(1)
    v.clock.advance(100)
    await v.act(Action.COMPLETE, 1)
    assert (await v.ticket(1)).desk == "A"
    await v.call(desk="B")
    await v.act(Action.NO_SHOW, 2)
    v.clock.advance(3600)
    await v.call(desk="A")
    await v.act(Action.RETURN, 3)
    figures = await v.store.desk_tallies(v.queue)
    assert figures.totals == {
        "A": DeskTotals(called=2, came=1, served=1, wait_seconds=30 + 3750, claim_seconds=20, service_seconds=100),
        "B": DeskTotals(called=1, no_shows=1, wait_seconds=150),
    }
    assert [(hour.start, {name: of.called for name, of in hour.desks.items()}) for hour in figures.hours] == [
        (v.clock() // 3_600_000 * 3_600_000 - 3_600_000, {"A": 1, "B": 1}),
        (v.clock() // 3_600_000 * 3_600_000, {"A": 1}),
    ]


async def test_totals_are_kept_of_a_limited_number_of_desks_and_the_others_are_one(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(MOST_DESKS + 3)
    for n in range(MOST_DESKS + 2):
        await v.call(desk=f"Desk {n}")
    totals = (await v.store.desk_tallies(v.queue)).totals
    assert (len(totals), totals["other"].called) == (MOST_DESKS + 1, 2)
    with pytest.raises(InvalidRequest, match="50 desks"):
        await v.store.set_desk(v.queue, "One more", is_open=True)
    await v.store.set_desk(v.queue, "Desk 0", is_open=False)


async def test_a_desk_makes_room_for_another_once_the_hours_it_was_seen_in_are_not_kept(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    await v.call(desk="Desk 0")
    for n in range(1, MOST_DESKS):
        await v.store.set_desk(v.queue, f"Desk {n}", is_open=n % 2 == 0)
    v.clock.advance(HOURS_KEPT * 3600)
    await v.store.set_desk(v.queue, "Desk 1", is_open=False)
    v.clock.advance(3599.999)
    with pytest.raises(InvalidRequest, match="50 desks"):
        await v.store.set_desk(v.queue, "One more", is_open=True)
    assert len(await open_desks(v)) == MOST_DESKS
    v.clock.advance(0.001)
    await v.store.set_desk(v.queue, "Desk 2", is_open=True)  # needs no free slot: the others stay
    assert len(await open_desks(v)) == MOST_DESKS
    await v.store.set_desk(v.queue, "One more", is_open=True)
    assert await open_desks(v) == {"Desk 1": False, "Desk 2": True, "One more": True}
    assert await desks_kept(v.store, v.queue) == {"Desk 1", "Desk 2", "One more"}


async def test_a_desk_that_only_calls_has_the_place_of_one_that_was_not_seen_for_long(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(MOST_DESKS + 4)
    for n in range(MOST_DESKS - 1):
        await v.call(desk=f"Desk {n}")
    await v.call(desk="other")
    await v.call(desk="Nobody's")  # there is no slot left for it
    v.clock.advance((HOURS_KEPT + 1) * 3600)
    await v.call(desk="Desk 5")
    await v.call(desk="New")
    totals = (await v.store.desk_tallies(v.queue)).totals
    assert {name: of.called for name, of in totals.items()} == {"Desk 5": 2, "New": 1, "other": MOST_DESKS}
    assert await desks_kept(v.store, v.queue) == {"Desk 5", "New"}
    await v.call(desk="Desk 0")  # as a new one
    assert (await v.store.desk_tallies(v.queue)).totals["Desk 0"].called == 1


async def test_all_that_a_forgotten_desk_did_goes_to_the_others(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(2)
    v.clock.advance(30)
    await v.call(2, desk="Desk 0")
    v.clock.advance(20)
    await v.start(1)
    v.clock.advance(10)
    await v.act(Action.COMPLETE, 1)
    await v.act(Action.NO_SHOW, 2)
    for n in range(1, MOST_DESKS):
        await v.store.set_desk(v.queue, f"Desk {n}", is_open=False)
    did = (await v.store.desk_tallies(v.queue)).totals["Desk 0"]
    assert all(msgspec.structs.astuple(did))
    v.clock.advance((HOURS_KEPT + 1) * 3600)
    await v.store.set_desk(v.queue, "New", is_open=True)
    assert (await v.store.desk_tallies(v.queue)).totals == {"other": did}


async def test_where_desks_are_named_none_is_one_too_many(venue: OpenVenue) -> None:
    names = [f"Desk {n}" for n in range(MOST_DESKS + 2)]
    v = await venue(**WALK_IN, desks=names)
    await v.join()
    for name in names[:-1]:
        await v.store.set_desk(v.queue, name, is_open=True)
    v.clock.advance((HOURS_KEPT + 1) * 3600)
    await v.call(desk=names[-1])
    assert await desks_kept(v.store, v.queue) == {*names}
    await v.configure(desks=[])
    await v.store.set_desk(v.queue, "Any", is_open=True)
    assert await desks_kept(v.store, v.queue) == {names[-1], "Any"}


async def test_the_time_from_call_to_call_is_measured_while_people_wait(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, wait_sample=3)
    await v.joins(7)
    for seconds in (0, 100, 200, 300, 400):
        v.clock.advance(seconds)
        await v.call(desk="A")
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.cycles, snapshot.cycle_seconds) == (3, 300)  # of the last three
    await v.call(desk="B")  # its first call measures nothing
    await v.call(desk="A")
    assert (await v.store.snapshot(v.queue)).cycles == 3


async def test_the_time_a_desk_waited_for_people_is_not_measured(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    await v.call(desk="A")
    v.clock.advance(100)
    await v.join()
    v.clock.advance(50)
    await v.call(desk="A")
    assert (await v.store.snapshot(v.queue)).cycles == 0
    await v.joins(2)
    v.clock.advance(901)  # a break that nobody announced
    await v.call(desk="A")
    assert (await v.store.snapshot(v.queue)).cycles == 0


async def test_the_wait_told_in_a_walk_in_line_holds_for_four_of_five(valkey_url: str, queue: QueueId) -> None:
    """A morning in virtual time: three desks, of which one closes for an hour, and services of all lengths."""
    chance, clock = random.Random(7), FakeClock()
    store = await open_store(valkey_url, clock=clock)
    settings = checked({**WALK_IN, "desks": ["A", "B", "C"], "join_limit_per_ip": 0})
    await store.create(queue, settings)
    start, told, called = clock(), {}, {}
    # What happens next, by when: someone comes ("" for nobody's desk), or a desk is free.
    coming = [(start + round(3_600_000 * 5 * chance.random()), "") for _ in range(330)]
    soon = [*coming, *((start + n, name) for n, name in enumerate("ABC"))]
    heapq.heapify(soon)
    while soon:
        clock.now, desk = heapq.heappop(soon)
        if clock.now - start > 3_600_000 * 8:
            break
        if not desk:
            reply = await store.join(queue, [Arrival()])
            joined = reply.items[0]
            assert isinstance(joined, Joined)
            wait = Forecast(settings, reply.snapshot).wait(joined.ticket.position or 0)
            told[joined.ticket.number] = (clock.now, wait, reply.snapshot)
            continue
        if desk == "C" and 2 <= (clock.now - start) / 3_600_000 < 3:
            await store.set_desk(queue, "C", is_open=False)
            heapq.heappush(soon, (start + 3 * 3_600_000, desk))
            continue
        served = await store.call_next(queue, 1, desk=desk)
        for ticket in served:
            called[ticket.number] = clock.now
        busy = 1000 * chance.lognormvariate(5.0, 0.6) if served else 5000
        heapq.heappush(soon, (clock.now + round(busy), desk))
    judged = [
        (wait, (called[number] - at) / 1000)
        for number, (at, wait, snapshot) in told.items()
        if number in called and isinstance(wait, Wait) and snapshot.cycles >= 10
    ]
    assert len(judged) > 150
    kept = sum(wait.low <= waited <= wait.high for wait, waited in judged)
    assert kept / len(judged) >= 0.8
    widest = [wait for wait, _ in judged if wait.seconds > 600]
    assert all(wait.high - wait.low < 2 * wait.seconds for wait in widest)  # it says something, too
    await store.close()


async def test_a_desk_is_kept_with_a_ticket_that_is_served(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    await v.call(desk="A")
    (ticket_status,) = (await v.store.status(v.queue, [1])).items
    assert ticket_status
    assert ticket_status.desk == "A"
    await v.start(1)
    await v.act(Action.COMPLETE, 1)
    (ticket_status,) = (await v.store.status(v.queue, [1])).items
    assert ticket_status
    assert (ticket_status.status, ticket_status.desk) == (Status.COMPLETED, "A")
