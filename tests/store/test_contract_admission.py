"""Letting in by the keeper: order, capacity, stock and status. The token bucket itself is in test_admission.py."""

from __future__ import annotations

import pytest

from fairline.domain.ticket import Action, Reason, Status
from tests.store.venue import OpenVenue, Venue

#: As fast as can be, so that only capacity and stock say how many.
FAST = {"admission_rate": 1000.0}


async def test_people_are_let_in_in_the_order_of_the_line(venue: OpenVenue) -> None:
    v = await venue(**FAST)
    await v.joins(5)
    await v.act(Action.LEAVE, 2)
    v.clock.advance(10)
    reply = await v.store.admit(v.queue, 3)
    assert reply.items == [1, 3, 4]
    assert (reply.snapshot.waiting, reply.snapshot.admitted, reply.snapshot.inside) == (1, 3, 3)
    ticket = await v.ticket(1)
    assert (ticket.status, ticket.position, ticket.admitted) == (Status.ADMITTED, None, v.clock())
    assert await v.admit() == [5]


async def test_nobody_waiting_is_no_error(venue: OpenVenue) -> None:
    v = await venue()
    assert await v.admit() == []
    assert await v.tickets() == []


async def test_rate_and_capacity_are_two_gates(venue: OpenVenue) -> None:
    v = await venue(admission_rate=2, burst=2, max_active=5)
    await v.joins(10)
    assert await v.admit() == [1, 2]  # the rate
    assert await v.admit() == []
    v.clock.advance(1)
    assert await v.admit() == [3, 4]
    v.clock.advance(1)
    assert await v.admit() == [5]  # the capacity
    v.clock.advance(1)
    assert await v.admit() == []


async def test_a_capacity_that_was_used_up_saves_up_no_more_than_the_burst(venue: OpenVenue) -> None:
    v = await venue(admission_rate=10, burst=5, max_active=5)
    await v.joins(40)
    assert len(await v.admit()) == 5
    v.clock.advance(2)
    await v.configure(max_active=100)
    assert len(await v.admit()) == 5


async def test_a_late_tick_loses_nothing_of_the_rate_however_small_the_burst(venue: OpenVenue) -> None:
    v = await venue(admission_rate=10, burst=1, max_active=100)
    await v.joins(60)
    assert len(await v.admit()) == 1
    for seconds, people in ((1, 10), (2, 20), (60, 20)):  # what two intervals bring, and no more
        v.clock.advance(seconds)
        assert len(await v.admit()) == people, seconds


async def test_a_rate_of_nothing_lets_in_nobody(venue: OpenVenue) -> None:
    v = await venue(admission_rate=0, burst=5)
    await v.joins(3)
    assert await v.admit() == []
    v.clock.advance(3600)
    assert await v.admit() == []
    await v.configure(admission_rate=1)
    v.clock.advance(1)
    assert (await v.admit())[0] == 1


async def test_a_clock_that_goes_back_neither_gives_nor_takes_tokens(venue: OpenVenue) -> None:
    v = await venue(admission_rate=1, burst=1)
    await v.joins(3)
    assert await v.admit() == [1]
    v.clock.advance(-3600)
    assert await v.admit() == []
    v.clock.advance(1)
    assert await v.admit() == [2]


async def test_a_clock_that_goes_back_does_not_stop_keepers_that_hold_a_lease(venue: OpenVenue) -> None:
    v = await venue(admission_rate=1, burst=1)
    await v.joins(2)
    assert (await v.store.admit(v.queue, 10, lease=0.5)).items == [1]
    v.clock.advance(-3600)
    await v.store.admit(v.queue, 10, lease=0.5)
    v.clock.advance(1)
    assert (await v.store.admit(v.queue, 10, lease=0.5)).items == [2]


async def test_a_keeper_that_comes_within_the_lease_does_nothing(venue: OpenVenue) -> None:
    v = await venue(admission_rate=10)
    await v.joins(30)
    assert len((await v.store.admit(v.queue, 5, lease=0.5)).items) == 5
    v.clock.advance(0.4)
    assert (await v.store.admit(v.queue, 5, lease=0.5)).items == []
    v.clock.advance(0.1)
    assert len((await v.store.admit(v.queue, 5, lease=0.5)).items) == 5


async def test_a_queue_that_is_not_active_and_automatic_lets_in_nobody(venue: OpenVenue) -> None:
    for settings in ({"status": "paused"}, {"status": "maintenance"}, {"admission": "manual"}):
        v = await venue(**FAST)
        await v.joins(3)
        await v.configure(**settings)
        assert await v.admit() == [], settings
        v.clock.advance(60)
        assert await v.admit() == [], settings
        assert await v.line() == [1, 2, 3], settings
        await v.configure(status="active", admission="auto")
        assert await v.admit() == [1, 2, 3], settings


# Capacity


async def completes(v: Venue, number: int) -> None:
    await v.start(number)
    await v.act(Action.COMPLETE, number)


async def does_not_show(v: Venue, number: int) -> None:
    await v.act(Action.NO_SHOW, number)


async def leaves_inside(v: Venue, number: int) -> None:
    await v.start(number)
    await v.act(Action.LEAVE, number)


async def is_revoked(v: Venue, number: int) -> None:
    await v.store.revoke(v.queue, number, "abuse")


async def never_claims(v: Venue, number: int) -> None:
    v.clock.advance(300)
    assert (await v.sweep())[number] is Reason.CLAIM_TIMEOUT


async def overstays(v: Venue, number: int) -> None:
    await v.start(number)
    v.clock.advance(3600)
    assert (await v.sweep())[number] is Reason.SESSION_TIMEOUT


async def test_who_goes_frees_capacity_for_the_next_at_once(venue: OpenVenue) -> None:
    for goes in (completes, does_not_show, leaves_inside, is_revoked, never_claims, overstays):
        v = await venue(**FAST, max_active=1, heartbeat_timeout_seconds=0, claim_seconds=300, session_seconds=3600)
        await v.joins(3)
        assert await v.admit() == [1], goes
        assert await v.admit() == [], goes
        await goes(v, 1)
        assert await v.admit() == [2], goes
        assert await v.admit() == [], goes


async def test_who_is_returned_frees_capacity_and_is_next_again(venue: OpenVenue) -> None:
    v = await venue(**FAST, max_active=2)
    await v.joins(4)
    assert await v.admit() == [1, 2]
    await v.act(Action.RETURN, 1)
    assert await v.line() == [1, 3, 4]
    assert await v.admit() == [1]


async def test_who_starts_takes_no_capacity_twice(venue: OpenVenue) -> None:
    v = await venue(**FAST, max_active=2)
    await v.joins(3)
    await v.admit()
    await v.start(1)
    await v.start(2)
    assert await v.admit() == []
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.admitted, snapshot.active, snapshot.inside) == (0, 2, 2)


async def test_raising_and_lowering_the_capacity_counts_at_once(venue: OpenVenue) -> None:
    v = await venue(**FAST, max_active=3)
    await v.joins(10)
    assert await v.admit() == [1, 2, 3]
    await v.configure(max_active=1)
    await v.act(Action.CANCEL, 1)
    await v.act(Action.CANCEL, 2)
    assert await v.admit() == []  # one is inside still
    await v.configure(max_active=2)
    assert await v.admit() == [4]


# Stock


async def test_no_more_are_let_in_than_there_is_to_sell(venue: OpenVenue) -> None:
    v = await venue(**FAST, stock=3)
    await v.joins(6)
    assert await v.admit() == [1, 2, 3]
    await v.start(1)
    await v.act(Action.COMPLETE, 1)  # sold: gives nothing back
    assert await v.admit() == []
    await v.act(Action.NO_SHOW, 2)  # not sold: gives one back
    assert await v.admit() == [4]
    await v.start(3)
    assert await v.admit() == []  # inside, and may still buy
    await v.act(Action.LEAVE, 3)
    assert await v.admit() == [5]
    assert await v.admit() == []


async def test_what_is_left_to_sell_is_derived_from_the_states(venue: OpenVenue) -> None:
    v = await venue(**FAST, stock=5)
    await v.joins(4)
    await v.admit()
    await v.start(1)
    await v.act(Action.COMPLETE, 1)
    await v.act(Action.COMPLETE, 1)  # a second message changes nothing
    await v.start(2)
    await v.act(Action.LEAVE, 3)
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.completed, snapshot.inside, snapshot.stock_left(5)) == (1, 2, 2)


async def test_sold_out_stays_sold_out_when_the_records_are_purged(venue: OpenVenue) -> None:
    v = await venue(**FAST, stock=1, retain_seconds=0, heartbeat_timeout_seconds=0)
    await v.joins(2)
    await v.admit()
    await v.start(1)
    await v.act(Action.COMPLETE, 1)
    await v.after(60)
    assert [ticket.number for ticket in await v.tickets()] == [2]
    assert await v.admit() == []
    await v.configure(stock=2)
    assert await v.admit() == [2]


async def test_nothing_to_sell_lets_in_nobody(venue: OpenVenue) -> None:
    v = await venue(**FAST, stock=0)
    await v.joins(2)
    assert await v.admit() == []


async def test_while_the_stock_is_not_known_nobody_is_let_in(venue: OpenVenue) -> None:
    v = await venue(**FAST, stock_url="https://shop.example/stock")
    await v.joins(3)
    assert await v.admit() == []
    await v.configure(stock=2)
    assert await v.admit() == [1, 2]


# What is measured


async def test_the_view_measures_stays_and_how_the_line_drains(venue: OpenVenue) -> None:
    v = await venue(admission_rate=2, burst=2, heartbeat_timeout_seconds=0)
    await v.joins(300)
    for tick in range(60):
        v.clock.advance(1)
        for number in await v.admit():
            await v.start(number)
        if tick % 10 == 0:
            await v.act(Action.LEAVE, 300 - tick)
    v.clock.advance(20)
    for number in (1, 2):
        await v.act(Action.COMPLETE, number)
    snapshot = await v.store.snapshot(v.queue)
    assert snapshot.call_rate == pytest.approx(2, rel=0.1)
    assert snapshot.stay_seconds == pytest.approx(79)
    assert snapshot.leave_rate == pytest.approx(0.1 / 235, rel=0.15)
