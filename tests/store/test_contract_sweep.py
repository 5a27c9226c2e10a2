"""Deadlines: one per ticket, moved with every transition, ended by one sweep; and what an outage does to them."""

from __future__ import annotations

import pytest

from fairline.domain.events import EventType
from fairline.domain.ticket import Action, Reason, Status
from fairline.errors import TicketNotFound
from fairline.store import Lapsed
from tests.store.venue import MANY, NO_OUTAGE, OpenVenue, Venue

TIMES = {
    "heartbeat_interval_seconds": 10,
    "heartbeat_timeout_seconds": 60,
    "grace_seconds": 40,
    "claim_seconds": 200,
    "session_seconds": 300,
    "session_max_seconds": 1000,
    "retain_seconds": 400,
}
SECONDS = {
    Status.WAITING: 100,
    Status.ADMITTED: 200,
    Status.ACTIVE: 300,
    Status.COMPLETED: 400,
    Status.EXPIRED: 400,
}
LIVE_REASONS = {
    Status.WAITING: Reason.HEARTBEAT_TIMEOUT,
    Status.ADMITTED: Reason.CLAIM_TIMEOUT,
    Status.ACTIVE: Reason.SESSION_TIMEOUT,
}


async def test_every_state_has_its_one_deadline(venue: OpenVenue) -> None:
    for status in Status:
        v = await venue(**TIMES)
        number = await v.one(status)
        assert await v.seconds_left(number) == SECONDS[status], status


async def test_a_lapse_has_its_reason_from_the_state_it_ends(venue: OpenVenue) -> None:
    for status in LIVE_REASONS:
        v = await venue(**TIMES)
        number = await v.one(status)
        assert await v.after(SECONDS[status] - 0.001) == {}, status
        assert await v.after(0.001) == {number: LIVE_REASONS[status]}, status
        ticket = await v.ticket(number)
        assert (ticket.status, ticket.reason, ticket.ended) == (Status.EXPIRED, LIVE_REASONS[status], v.clock()), status
        assert (await v.happened(number))[-1] == ("expired", LIVE_REASONS[status]), status


async def test_who_is_called_by_hand_and_does_not_come_is_a_no_show(venue: OpenVenue) -> None:
    v = await venue(**TIMES, admission="manual")
    number = await v.one(Status.ADMITTED)
    assert await v.after(200) == {number: Reason.NO_SHOW}


async def test_the_deadline_of_an_earlier_state_ends_nobody(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(3)
    v.clock.advance(99)
    await v.admit()
    assert await v.after(199) == {}  # long past the deadline of waiting
    await v.start(1)
    await v.act(Action.RETURN, 2)
    assert await v.after(1) == {3: Reason.CLAIM_TIMEOUT}
    assert await v.after(98) == {}
    assert await v.after(1) == {2: Reason.HEARTBEAT_TIMEOUT}
    assert await v.after(200) == {1: Reason.SESSION_TIMEOUT}


async def test_the_dead_are_not_let_in(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(2)
    v.clock.advance(60)
    await v.heartbeat(2)
    await v.after(40)
    assert await v.line() == [2]
    assert await v.admit() == [2]


async def test_a_lapse_is_reported_once(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(3)
    assert list(await v.after(100)) == [1, 2, 3]
    assert await v.sweep() == {}
    assert [event.type for event in await v.events()].count(EventType.EXPIRED) == 3
    assert (await v.store.stats(v.queue)).totals.expired == 3


async def test_a_sweep_goes_on_where_the_last_one_stopped(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(5)
    v.clock.advance(100)
    steps = [await v.store.sweep(v.queue, 2, every=NO_OUTAGE) for _ in range(3)]
    assert [(len(step.lapsed), step.more) for step in steps] == [(2, True), (2, True), (1, False)]
    assert {lapse.number for step in steps for lapse in step.lapsed} == {1, 2, 3, 4, 5}


async def test_a_keeper_that_comes_within_the_lease_does_nothing(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.join()
    v.clock.advance(99)
    await v.sweep()
    v.clock.advance(2)
    assert (await v.store.sweep(v.queue, MANY, every=5, lease=2.5)).lapsed == []
    v.clock.advance(0.5)
    assert (await v.store.sweep(v.queue, MANY, every=5, lease=2.5)).lapsed == [Lapsed(1, Reason.HEARTBEAT_TIMEOUT)]


async def test_a_clock_that_goes_back_does_not_stop_the_sweep(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.sweep()
    v.clock.advance(-3600)
    await v.join()
    lapsed: list[Lapsed] = []
    for _ in range(30):
        v.clock.advance(5)
        lapsed += (await v.store.sweep(v.queue, MANY, every=5, lease=2.5)).lapsed
    assert lapsed == [Lapsed(1, Reason.HEARTBEAT_TIMEOUT)]


async def test_a_clock_that_goes_back_ends_nobody_early(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(3)
    await keep(v, 10)
    v.clock.advance(-3600)
    await v.heartbeat(2)  # before the next sweep
    await v.join()
    await v.act(Action.LEAVE, 3)
    assert await keep(v, 85) == {}
    assert await keep(v, 10) == {1: Reason.HEARTBEAT_TIMEOUT}
    assert await keep(v, 15) == {2: Reason.HEARTBEAT_TIMEOUT, 4: Reason.HEARTBEAT_TIMEOUT}
    assert (await v.ticket(3)).status is Status.EXPIRED


async def test_what_has_ended_is_purged_when_it_was_kept_long_enough(venue: OpenVenue) -> None:
    for status in (Status.COMPLETED, Status.EXPIRED):
        v = await venue(**TIMES)
        number = await v.one(status)
        assert await v.after(399.999) == {}, status
        assert (await v.ticket(number)).status is status, status
        assert await v.after(0.001) == {}, status  # a purge is no lapse
        assert (await v.store.look_up(v.queue, [number])).items == [None], status
        assert await v.tickets() == [], status
        assert isinstance(await v.act(Action.LEAVE, number), TicketNotFound), status
        assert (await v.join()).ticket.number == number + 1, status


async def test_where_nothing_is_kept_the_next_sweep_purges(venue: OpenVenue) -> None:
    v = await venue(**(TIMES | {"retain_seconds": 0}))
    await v.join()
    assert await v.after(100) == {1: Reason.HEARTBEAT_TIMEOUT}
    assert await v.after(5) == {}
    assert await v.tickets() == []


async def test_new_times_hold_from_the_next_sign_of_life(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.joins(2)
    await v.configure(heartbeat_timeout_seconds=500)
    await v.heartbeat(2)
    assert await v.after(100) == {1: Reason.HEARTBEAT_TIMEOUT}
    assert await v.seconds_left(2) == 440


# Outages: nobody expires because we were away


async def keep(v: Venue, seconds: float) -> dict[int, Reason]:
    """A keeper at work, sweeping every five seconds."""
    lapsed: dict[int, Reason] = {}
    for _ in range(round(seconds / 5)):
        v.clock.advance(5)
        lapsed |= {lapse.number: lapse.reason for lapse in (await v.store.sweep(v.queue, MANY, every=5)).lapsed}
    return lapsed


async def test_who_lives_at_an_outage_keeps_the_time_they_had(venue: OpenVenue) -> None:
    for status in LIVE_REASONS:
        v = await venue(**TIMES)
        number = await v.one(status)
        assert await keep(v, 50) == {}, status
        v.clock.advance(3600)
        swept = await v.store.sweep(v.queue, MANY, every=5)
        assert swept.lapsed == [], status
        left = SECONDS[status] - 55  # five of the seconds we were away would have passed in any case
        assert await v.seconds_left(number) == left, status
        assert (await v.store.snapshot(v.queue)).stopped == 3_595_000, status
        assert await keep(v, left - 5) == {}, status
        assert await keep(v, 5) == {number: LIVE_REASONS[status]}, status


async def test_what_has_ended_is_kept_through_an_outage(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    number = await v.one(Status.COMPLETED)
    v.clock.advance(3600)
    await v.store.sweep(v.queue, MANY, every=5)
    await keep(v, 390)
    assert (await v.ticket(number)).status is Status.COMPLETED
    await keep(v, 5)
    assert await v.tickets() == []


async def test_an_outage_does_not_prolong_the_longest_stay_by_more_than_itself(venue: OpenVenue) -> None:
    v = await venue(**(TIMES | {"session_seconds": 1000}))
    number = await v.one(Status.ACTIVE)
    await keep(v, 500)
    v.clock.advance(3600)
    await v.store.sweep(v.queue, MANY, every=5)
    await v.touch(number)
    assert await v.seconds_left(number) == 495


async def test_an_outage_is_told(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    v.clock.advance(65)
    await v.store.sweep(v.queue, MANY, every=5)
    event = (await v.events())[-1]
    assert (event.type, event.ticket, event.detail, event.at) == (EventType.CLOCK_STOPPED, None, "60", v.clock())


async def test_outages_add_up(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    for _ in range(3):
        v.clock.advance(1005)
        await v.store.sweep(v.queue, MANY, every=5)
        await keep(v, 20)
    assert (await v.store.snapshot(v.queue)).stopped == 3_000_000


async def test_who_joins_in_an_outage_has_the_whole_time_after_it(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    v.clock.advance(3600)
    await v.join()  # the web answers while all keepers are away
    v.clock.advance(3600)
    assert (await v.store.sweep(v.queue, MANY, every=5)).lapsed == []
    left = await v.seconds_left(1)
    assert left is not None
    assert left >= 95


async def test_a_sweep_that_is_a_little_late_is_no_outage(venue: OpenVenue) -> None:
    for late in (5, 6, 7.4):
        v = await venue(**TIMES)
        await v.join()
        for _ in range(3):
            v.clock.advance(late)
            await v.store.sweep(v.queue, MANY, every=5)
        assert (await v.store.snapshot(v.queue)).stopped == 0, late
        assert await v.seconds_left(1) == pytest.approx(100 - 3 * late), late


async def test_the_second_keeper_to_come_back_finds_no_outage_any_more(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    v.clock.advance(3605)
    await v.store.sweep(v.queue, MANY, every=5)
    await v.store.sweep(v.queue, MANY, every=5)
    v.clock.advance(1)
    await v.store.sweep(v.queue, MANY, every=5)
    assert (await v.store.snapshot(v.queue)).stopped == 3_600_000


async def test_one_queues_outage_is_not_anothers(venue: OpenVenue) -> None:
    v = await venue(**TIMES)
    await v.join()
    other = Venue(v.store, type(v.queue)(f"{v.queue}-other"), v.clock)
    await v.store.create(other.queue, (await v.store.settings(v.queue)).settings)
    await other.join()
    await keep(v, 95)
    assert await keep(v, 5) == {1: Reason.HEARTBEAT_TIMEOUT}
    assert (await v.store.sweep(other.queue, MANY, every=5)).lapsed == []
    assert await other.line() == [1]
