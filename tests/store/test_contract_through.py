"""Going straight through: joining and being let in, in one step, while nobody waits and there is capacity."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairline.domain.ticket import Action, Status
from fairline.errors import AtCapacity, InvalidRequest
from fairline.store import Arrival, Joined
from tests.store.venue import OpenVenue, Venue

FAST = {"admission_rate": 1000.0}


async def go(v: Venue, **arrival: Any) -> Joined | None:
    """One arrival that goes through, or is refused for want of capacity; nothing else may become of it."""
    outcome = await v.try_join(through=True, **arrival)
    assert isinstance(outcome, Joined | AtCapacity)
    return outcome if isinstance(outcome, Joined) else None


async def test_nobody_is_let_in_and_put_on_hold_at_once(venue: OpenVenue) -> None:
    v = await venue(**FAST)
    with pytest.raises(InvalidRequest, match="goes straight in"):
        await v.store.join(v.queue, [Arrival(), Arrival(through=True, on_hold=True)])
    assert await v.line() == []


async def test_with_capacity_and_nobody_waiting_one_is_let_in_at_once(venue: OpenVenue) -> None:
    v = await venue(**FAST, claim_seconds=300)
    joined = await go(v, client=b"me")
    assert joined
    assert (joined.created, joined.proven) == (True, True)
    assert (joined.ticket.status, joined.ticket.position, joined.ticket.admitted) == (
        Status.ADMITTED,
        None,
        v.clock(),
    )
    assert await v.seconds_left(1) == 300
    assert await v.happened(1) == [("joined", None), ("admitted", None)]
    stats = await v.store.stats(v.queue)
    assert (stats.totals.joined, stats.totals.admitted) == (1, 1)


async def test_nobody_goes_past_people_who_wait(venue: OpenVenue) -> None:
    v = await venue(**FAST)
    await v.joins(1)
    assert await go(v) is None
    assert await v.line() == [1]
    await v.admit()
    assert await go(v)


async def test_capacity_stock_and_rate_are_those_of_everyone(venue: OpenVenue) -> None:
    many: list[dict[str, Any]] = [{"max_active": 2}, {"stock": 2}, {"admission_rate": 0.001, "burst": 2}]
    for settings in many:
        v = await venue(**{**FAST, **settings})
        outcomes = (await v.store.join(v.queue, [Arrival(through=True)] * 5)).items
        assert [type(outcome) for outcome in outcomes] == [Joined, Joined, AtCapacity, AtCapacity, AtCapacity], settings
        assert len(await v.tickets()) == 2, settings  # nothing is left of those who were answered so
        await v.joins(1)
        assert await v.admit() == [], settings


async def test_where_nobody_is_let_in_nobody_goes_through(venue: OpenVenue) -> None:
    closed: list[dict[str, Any]] = [
        {"status": "paused"},
        {"admission": "manual"},
        {"admission_rate": 0},
        {"stock_url": "https://stock.example/"},
    ]
    for settings in closed:
        v = await venue(**settings)
        assert await go(v) is None, settings
        assert await v.tickets() == [], settings


async def test_the_rate_recovers_with_time_whichever_way_people_come(venue: OpenVenue) -> None:
    v = await venue(admission_rate=1, burst=1)
    assert await go(v)
    assert await go(v) is None
    v.clock.advance(1)
    await v.joins(2)
    assert await v.admit() == [2]
    v.clock.advance(1)
    assert await v.admit() == [3]
    v.clock.advance(0.5)
    assert await go(v) is None
    v.clock.advance(0.5)
    assert await go(v)


async def test_a_keeper_goes_on_however_many_go_through(venue: OpenVenue) -> None:
    """Its lease is its own: those who go through do not hold it up."""
    v = await venue(**FAST)
    await v.store.admit(v.queue, 10, lease=0.5)
    for _ in range(5):
        v.clock.advance(0.2)
        assert await go(v)
    await v.joins(1)
    assert (await v.store.admit(v.queue, 10, lease=0.5)).items == [6]


async def test_who_has_a_ticket_gets_it_as_it_is(venue: OpenVenue) -> None:
    v = await venue(**FAST)
    assert await go(v, client=b"me")
    again = await go(v, client=b"me")
    assert again
    assert (again.created, again.ticket.number, again.ticket.status) == (False, 1, Status.ADMITTED)
    await v.act(Action.LEAVE, 1)
    await v.configure(status="paused")
    await v.join(client=b"you")
    waits = await go(v, client=b"you")
    assert waits
    assert (waits.ticket.number, waits.ticket.status) == (2, Status.WAITING)


async def test_many_at_once_never_take_more_than_there_is(venue: OpenVenue) -> None:
    v = await venue(**FAST, max_active=20)
    outcomes = await asyncio.gather(*(go(v) for _ in range(100)))
    assert len([outcome for outcome in outcomes if outcome]) == 20
    assert (await v.store.snapshot(v.queue)).inside == 20
