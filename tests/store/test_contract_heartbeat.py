"""Heartbeats, closed pages, and reading a status without a heartbeat."""

from __future__ import annotations

from fairline.domain.ticket import Action, Reason, Status
from fairline.store import MAX_BATCH
from tests.store.venue import OpenVenue

NOT_WAITING = [status for status in Status if status is not Status.WAITING]
LIVELY = {"heartbeat_interval_seconds": 10, "heartbeat_timeout_seconds": 60, "grace_seconds": 30}

# Beats


async def test_a_heartbeat_moves_the_deadline_on(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    v.clock.advance(50)
    assert await v.seconds_left(1) == 40
    ticket_status = await v.heartbeat(1)
    assert ticket_status.deadline == v.clock() + 90_000
    assert await v.seconds_left(1) == 90


async def test_who_keeps_beating_never_lapses_and_who_stops_does(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.joins(3)
    lapsed: dict[int, Reason] = {}
    for _ in range(10):
        await v.store.heartbeat(v.queue, [1, 3])
        lapsed |= await v.after(80)
    assert lapsed == {2: Reason.HEARTBEAT_TIMEOUT}
    assert await v.line() == [1, 3]


async def test_the_deadline_is_time_out_and_grace_to_the_millisecond(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    assert await v.after(89.999) == {}
    assert await v.after(0.001) == {1: Reason.HEARTBEAT_TIMEOUT}


async def test_a_heartbeat_that_comes_before_the_sweep_keeps_a_late_one(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    v.clock.advance(120)
    await v.heartbeat(1)
    assert await v.sweep() == {}
    assert await v.line() == [1]


async def test_a_heartbeat_after_the_end_brings_nobody_back(venue: OpenVenue) -> None:
    v = await venue(**LIVELY, retain_seconds=600)
    await v.join()
    await v.after(90)
    before = await v.everything()
    ticket_status = await v.heartbeat(1)
    assert (ticket_status.status, ticket_status.reason, ticket_status.position) == (
        Status.EXPIRED,
        Reason.HEARTBEAT_TIMEOUT,
        None,
    )
    assert await v.everything() == before
    await v.after(600)
    assert (await v.store.heartbeat(v.queue, [1])).items == [None]
    assert await v.tickets() == []


async def test_a_heartbeat_of_someone_who_does_not_wait_only_tells_where_they_stand(venue: OpenVenue) -> None:
    for status in NOT_WAITING:
        v = await venue()
        number = await v.one(status)
        v.clock.advance(1)
        before = await v.everything()
        assert (await v.heartbeat(number)).status is status, status
        assert await v.everything() == before, status


async def test_beats_are_answered_in_the_order_they_were_asked(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(3)
    await v.act(Action.LEAVE, 2)
    reply = await v.store.heartbeat(v.queue, [3, 99, 2, 1, 3])
    assert [ticket_status and (ticket_status.number, ticket_status.position) for ticket_status in reply.items] == [
        (3, 2),
        None,
        (2, None),
        (1, 1),
        (3, 2),
    ]
    assert reply.snapshot.waiting == 2


async def test_beats_are_no_events(venue: OpenVenue) -> None:
    v = await venue()
    await v.join()
    before = await v.events()
    await v.heartbeat(1)
    assert await v.events() == before


async def test_without_a_time_out_nobody_has_to_stay_in_touch(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    await v.join()
    assert (await v.heartbeat(1)).deadline is None
    assert await v.after(30 * 86_400) == {}
    assert await v.line() == [1]


# Closed pages


async def test_who_closes_the_page_has_the_grace_to_come_back(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.joins(2)
    ticket_status = await v.unload(1)
    assert (ticket_status.leaving, ticket_status.position, ticket_status.status) == (True, 1, Status.WAITING)
    assert await v.seconds_left(1) == 30
    v.clock.advance(29)
    assert await v.sweep() == {}
    back = await v.heartbeat(1)
    assert (back.leaving, back.position) == (False, 1)
    assert await v.seconds_left(1) == 90
    await v.heartbeat(2)
    assert await v.after(89) == {}
    assert await v.line() == [1, 2]


async def test_who_closes_the_page_and_stays_away_has_left(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    await v.unload(1)
    assert await v.after(29.999) == {}
    assert await v.after(0.001) == {1: Reason.LEFT}


async def test_a_sign_that_is_told_late_keeps_who_is_there_and_brings_nobody_back(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.joins(2)
    await v.unload(2)
    v.clock.advance(10)
    await v.store.record_heartbeats(v.queue, range(1, MAX_BATCH + 1))
    told = (await v.store.status(v.queue, [1, 2])).items
    assert [each and each.leaving for each in told] == [False, True]
    assert [await v.seconds_left(1), await v.seconds_left(2)] == [90, 20]


async def test_who_came_back_and_then_falls_silent_has_timed_out(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    await v.unload(1)
    await v.heartbeat(1)
    assert await v.after(90) == {1: Reason.HEARTBEAT_TIMEOUT}


async def test_closing_the_page_again_does_not_prolong_the_grace(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    await v.unload(1)
    v.clock.advance(20)
    assert (await v.unload(1)).leaving
    assert await v.seconds_left(1) == 10


async def test_a_closed_page_counts_where_nobody_has_to_stay_in_touch(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, grace_seconds=30)
    await v.joins(2)
    await v.store.unload(v.queue, [1, 2])
    await v.heartbeat(2)
    assert await v.after(30) == {1: Reason.LEFT}
    assert (await v.ticket(2)).deadline is None


async def test_closing_the_page_costs_only_those_who_wait(venue: OpenVenue) -> None:
    for status in NOT_WAITING:
        v = await venue()
        number = await v.one(status)
        before = await v.everything()
        assert (await v.unload(number)).status is status, status
        assert await v.everything() == before, status


async def test_who_is_admitted_after_closing_the_page_has_the_whole_claim(venue: OpenVenue) -> None:
    v = await venue(grace_seconds=30, claim_seconds=300)
    await v.join()
    await v.unload(1)
    assert await v.admit() == [1]
    ticket = await v.ticket(1)
    assert (ticket.leaving, await v.seconds_left(1)) == (False, 300)
    assert await v.after(299) == {}


async def test_a_closed_page_keeps_the_place_for_five_minutes_and_no_heartbeat_shortens_that(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.joins(2)
    closed = (await v.store.heartbeat(v.queue, [1], closing=True)).items[0]
    assert closed
    assert not closed.leaving
    assert await v.seconds_left(1) == 300
    await v.heartbeat(1)
    await v.store.record_heartbeats(v.queue, [1])
    v.clock.advance(10)
    assert (await v.heartbeat(1)).deadline == (await v.ticket(1)).deadline
    assert await v.seconds_left(1) == 290
    assert await v.after(289.999) == {2: Reason.HEARTBEAT_TIMEOUT}
    assert await v.after(0.001) == {1: Reason.HEARTBEAT_TIMEOUT}


async def test_the_page_of_someone_who_has_left_brings_nobody_back_by_closing(venue: OpenVenue) -> None:
    v = await venue(**LIVELY)
    await v.join()
    await v.unload(1)
    (closed,) = (await v.store.heartbeat(v.queue, [1], closing=True)).items
    assert closed
    assert closed.leaving
    assert await v.seconds_left(1) == 30


async def test_closing_the_page_sets_no_deadline_where_there_is_none(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    await v.join()
    (closed,) = (await v.store.heartbeat(v.queue, [1], closing=True)).items
    assert closed
    assert closed.deadline is None


# Looking


async def test_looking_changes_nothing(venue: OpenVenue) -> None:
    for status in Status:
        v = await venue()
        number = await v.one(status)
        v.clock.advance(5)
        before = await v.everything()
        (ticket_status,) = (await v.store.status(v.queue, [number])).items
        (ticket,) = (await v.store.look_up(v.queue, [number])).items
        assert ticket_status
        assert ticket
        assert (ticket_status.status, ticket_status.deadline) == (status, ticket.deadline), status
        assert await v.everything() == before, status


async def test_what_is_not_there_is_none(venue: OpenVenue) -> None:
    v = await venue()
    await v.join()
    for read in (v.store.heartbeat, v.store.status, v.store.look_up, v.store.unload):
        (there, *others) = (await read(v.queue, [1, 2, 0, -1, 2**53])).items
        assert there
        assert others == [None] * 4
