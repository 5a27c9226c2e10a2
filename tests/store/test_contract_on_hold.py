"""The walk-in line: putting on hold, stepping back, taking back, sending on."""

from __future__ import annotations

import asyncio

import pytest

from fairline.domain.ticket import Action, Came, Reason, Status, TicketStatus, Went
from fairline.errors import (
    AtCapacity,
    HolderInLine,
    InvalidRequest,
    QueueNotFound,
    TicketNotFound,
    TransitionRefused,
)
from tests.store.venue import WALK_IN, OpenVenue

# Held


async def test_who_is_on_hold_is_not_called_and_gets_the_old_place_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(4)
    await v.act(Action.HOLD, 1)
    on_hold = await v.ticket(1)
    assert (on_hold.status, on_hold.on_hold, on_hold.position) == (Status.WAITING, True, None)
    assert [(await v.ticket(n)).position for n in (2, 3, 4)] == [1, 2, 3]
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.waiting, snapshot.on_hold) == (3, 1)
    assert await v.call() == [2]
    await v.act(Action.RELEASE, 1)
    assert await v.line() == [1, 3, 4]
    assert (await v.ticket(1)).position == 1
    assert [what for what, _ in await v.happened(1)] == ["joined", "put_on_hold", "released"]


async def test_who_was_called_is_put_back_and_on_hold_in_one_step(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(2)
    await v.call(desk="A")
    await v.act(Action.HOLD, 1)
    on_hold = await v.ticket(1)
    assert (on_hold.status, on_hold.on_hold, on_hold.position, on_hold.desk) == (Status.WAITING, True, None, None)
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.waiting, snapshot.on_hold, snapshot.admitted) == (1, 1, 0)
    assert await v.call() == [2]
    await v.act(Action.RELEASE, 1)
    assert await v.line() == [1]


async def test_those_who_did_not_come_are_listed_newest_first(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=60)
    await v.joins(5)
    await v.call(4)
    await v.act(Action.NO_SHOW, 1)
    v.clock.advance(10)
    since = v.clock()
    await v.act(Action.NO_SHOW, 3)
    await v.act(Action.CANCEL, 2)
    await v.after(60)
    assert [(t.number, t.reason) for t in await v.store.missed(v.queue, since, 10)] == [
        (4, Reason.NO_SHOW),
        (3, Reason.NO_SHOW),
    ]
    assert [t.number for t in await v.store.missed(v.queue, 0, 2)] == [4, 3]
    await v.act(Action.REINSTATE, 3)
    assert [t.number for t in await v.store.missed(v.queue, 0, 10)] == [4, 1]


async def test_nobody_on_hold_is_let_in_by_itself(venue: OpenVenue) -> None:
    v = await venue(admission_rate=100)
    await v.joins(2)
    await v.act(Action.HOLD, 1)
    assert await v.admit() == [2]
    assert await v.admit() == []


async def test_what_cannot_be_done_to_someone_on_hold_is_refused_with_that_state(venue: OpenVenue) -> None:
    for action in (Action.HOLD, Action.NO_SHOW, Action.RETURN):
        v = await venue(**WALK_IN)
        await v.join()
        await v.act(Action.HOLD, 1)
        refused = await v.act(action, 1)
        assert isinstance(refused, TransitionRefused), action
        assert refused.found == "on_hold", action
        with pytest.raises(TransitionRefused, match="on hold"):
            await v.call(number=1)
        with pytest.raises(TransitionRefused, match="on hold"):
            await v.store.prioritise(v.queue, 1, 2)


async def test_who_is_not_on_hold_cannot_be_released(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    assert isinstance(await v.act(Action.RELEASE, 1), TransitionRefused)


async def test_who_is_on_hold_still_has_the_deadline_of_someone_who_waits(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=30)
    await v.join(client=b"c")
    await v.act(Action.HOLD, 1)
    await v.after(80)
    ticket_status = await v.heartbeat(1)
    assert (ticket_status.on_hold, ticket_status.position) == (True, None)
    assert await v.after(89) == {}
    assert await v.after(1) == {1: Reason.HEARTBEAT_TIMEOUT}
    assert (await v.join(client=b"c")).created


async def test_a_listing_has_those_on_hold_after_the_line(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(5)
    await v.act(Action.HOLD, 2)
    await v.act(Action.HOLD, 4)
    await v.call()
    for page in (1, 2, 100):
        assert [t.number for t in await v.tickets(Status.WAITING, page)] == [3, 5, 2, 4]
        assert [t.number for t in await v.tickets(None, page)] == [3, 5, 2, 4, 1]
    assert [t.number for t in await v.store.on_hold(v.queue, 10)] == [2, 4]
    assert [t.number for t in await v.store.on_hold(v.queue, 1)] == [2]


# Stepping back


async def test_who_steps_back_is_just_behind_those_who_go_ahead(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(5)
    ticket = await v.store.step_back(v.queue, 2, 2)
    assert ticket.position == 4
    assert await v.line() == [1, 3, 4, 2, 5]
    assert (await v.happened(2))[-1] == ("stepped_back", "2")
    await v.join()
    assert await v.line() == [1, 3, 4, 2, 5, 6]


async def test_nobody_steps_back_at_the_end_of_the_line(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(3)
    assert (await v.store.step_back(v.queue, 2, 50)).position == 3
    before = await v.everything()
    assert (await v.store.step_back(v.queue, 2, 1)).position == 3
    assert await v.everything() == before


async def test_a_repeated_press_steps_back_once(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(5)
    for _ in range(3):
        await v.store.step_back(v.queue, 1, 1, seen=1)
    assert await v.line() == [2, 1, 3, 4, 5]


async def test_an_equal_who_comes_later_stays_behind_who_stepped_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(6)
    await v.join(priority=3)
    await v.store.step_back(v.queue, 7, 2)
    await v.join(priority=3)
    assert await v.line() == [1, 2, 7, 8, 3, 4, 5, 6]


async def test_many_who_step_back_at_once_are_all_still_there(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(20)
    await asyncio.gather(*(v.store.step_back(v.queue, n, 1 + n % 4) for n in range(1, 21)))
    line = await v.line()
    assert sorted(line) == [*range(1, 21)]
    assert [(await v.ticket(n)).position for n in line] == [*range(1, 21)]
    assert await v.call(20) == line


async def test_nobody_steps_back_behind_none_or_too_many(venue: OpenVenue) -> None:
    for places in (0, -1, 101):
        v = await venue(**WALK_IN)
        await v.joins(2)
        with pytest.raises(InvalidRequest, match="1 to 100"):
            await v.store.step_back(v.queue, 1, places)


# A no-show, taken back


async def test_a_no_show_is_taken_back_to_the_same_desk(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=60, desks=["Desk 1"])
    await v.join(client=b"c")
    await v.call(desk="Desk 1")
    v.clock.advance(30)
    before = (await v.store.stats(v.queue)).totals, await v.store.desk_tallies(v.queue)
    await v.act(Action.NO_SHOW, 1)
    v.clock.advance(3600)
    await v.act(Action.REINSTATE, 1)
    ticket = await v.ticket(1)
    assert (ticket.status, ticket.reason, ticket.desk, ticket.ended) == (Status.ADMITTED, None, "Desk 1", 0)
    assert await v.seconds_left(1) == 60
    assert not (await v.join(client=b"c")).created
    after = (await v.store.stats(v.queue)).totals, await v.store.desk_tallies(v.queue)
    assert (after[0].expired_by_reason, after[0].admitted) == (before[0].expired_by_reason, before[0].admitted)
    assert after[1].totals == before[1].totals
    assert (await v.happened(1))[-1] == ("reinstated", "Desk 1")


async def test_a_call_that_nobody_came_to_in_time_is_a_no_show_that_can_be_taken_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=60)
    await v.join()
    await v.call(desk="A")
    assert await v.after(60) == {1: Reason.NO_SHOW}
    await v.act(Action.REINSTATE, 1)
    assert (await v.ticket(1)).status is Status.ADMITTED


async def test_only_a_no_show_can_be_taken_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    number = await v.one(Status.EXPIRED)
    refused = await v.act(Action.REINSTATE, number)
    assert isinstance(refused, TransitionRefused)
    assert "cancelled" in refused.message


async def test_a_no_show_who_joined_again_is_not_taken_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join(client=b"c")
    await v.call()
    await v.act(Action.NO_SHOW, 1)
    assert (await v.join(client=b"c")).created
    before = await v.everything()
    assert isinstance(await v.act(Action.REINSTATE, 1), HolderInLine)
    assert await v.everything() == before


async def test_a_no_show_is_taken_back_only_where_there_is_capacity(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, max_active=1)
    await v.joins(2)
    await v.call()
    await v.act(Action.NO_SHOW, 1)
    await v.call()
    assert isinstance(await v.act(Action.REINSTATE, 1), AtCapacity)


# A removal, taken back


async def test_who_was_removed_is_put_back_at_the_old_place_as_if_nothing_had_happened(venue: OpenVenue) -> None:
    for removed, admitted in (("waiting", 0), ("called", 1), ("on_hold", 0)):
        v = await venue(**WALK_IN | {"heartbeat_timeout_seconds": 60, "grace_seconds": 30}, desks=["A"])
        for client in (b"a", b"b", b"c"):
            await v.join(client=client)
        await v.store.admit(v.queue, 0, every=1, lease=0)  # measures the line from here on
        v.clock.advance(10)
        await v.store.admit(v.queue, 0, every=1, lease=0)
        if removed == "called":
            await v.call(number=2, desk="A")
        elif removed == "on_hold":
            await v.act(Action.HOLD, 2)
        before, left = (await v.store.stats(v.queue)).totals, await v.store.snapshot(v.queue)
        await v.act(Action.CANCEL, 2)
        v.clock.advance(20)
        assert await v.line() == [1, 3], removed
        assert isinstance(await v.act(Action.PUT_BACK, 2), TicketStatus), removed
        ticket = await v.ticket(2)
        assert (ticket.status, ticket.position, ticket.reason, ticket.ended) == (Status.WAITING, 2, None, 0), removed
        assert (ticket.admitted, ticket.desk, await v.seconds_left(2)) == (0, None, 90), removed
        assert (await v.happened(2))[-1] == ("put_back", None), removed
        after, snapshot = (await v.store.stats(v.queue)).totals, await v.store.snapshot(v.queue)
        assert after.expired_by_reason == before.expired_by_reason == {}, removed
        assert after.returned == admitted, removed
        assert (snapshot.waiting, snapshot.inside, snapshot.on_hold) == (3, 0, 0), removed
        # Of those who left the line, only what has faded in 20 seconds and was not measured yet is missing.
        assert snapshot.leave_rate == pytest.approx(left.leave_rate, abs=0.01), removed
        assert sum(snapshot.left_by_age) == pytest.approx(sum(left.left_by_age), abs=0.05), removed
        assert not (await v.join(client=b"b")).created, removed
        assert isinstance(await v.act(Action.PUT_BACK, 2), TransitionRefused), removed
        assert await v.call(3) == [1, 2, 3], removed


async def test_who_is_put_back_is_alone_in_the_line_from_then_on(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    await v.call(desk="A")
    await v.act(Action.CANCEL, 1)
    v.clock.advance(30)
    await v.act(Action.PUT_BACK, 1)
    assert (await v.store.snapshot(v.queue)).silences == (0,)
    v.clock.advance(7)
    assert (await v.store.snapshot(v.queue)).silences == (7,)


async def test_only_a_removal_is_put_back_and_only_while_its_holder_has_no_other_ticket(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, retain_seconds=600)
    await v.join(client=b"c")
    await v.act(Action.LEAVE, 1)
    refused = await v.act(Action.PUT_BACK, 1)
    assert isinstance(refused, TransitionRefused)
    assert "left" in refused.message
    await v.join(client=b"c")
    await v.act(Action.CANCEL, 2)
    await v.join(client=b"c")
    before = await v.everything()
    assert isinstance(await v.act(Action.PUT_BACK, 2), HolderInLine)
    assert await v.everything() == before
    await v.after(600)
    assert isinstance(await v.act(Action.PUT_BACK, 2), TicketNotFound)


# Sent on


async def test_who_was_sent_on_is_remembered_with_where_they_went(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join(client=b"c")
    went = Went("passports", 12, v.clock(), "RPASS-A0012")
    ticket = await v.store.transfer(v.queue, 1, went)
    assert (ticket.status, ticket.reason, ticket.went) == (Status.EXPIRED, Reason.TRANSFERRED, went)
    assert (await v.happened(1))[-1] == ("transferred", "passports 12")
    before = await v.everything()
    assert await v.store.transfer(v.queue, 1, went) == ticket
    assert await v.everything() == before
    with pytest.raises(TransitionRefused, match="transferred"):
        await v.store.transfer(v.queue, 1, Went("other", 1, 1, "R"))
    assert (await v.join(client=b"c")).created


async def test_who_joins_on_hold_count_waits_for_the_release(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    joined = await v.join(on_hold=True, key=b"k", fingerprint=b"f")
    assert (joined.ticket.on_hold, joined.ticket.position) == (True, None)
    assert (await v.join(on_hold=True, key=b"k", fingerprint=b"f")).by_key
    await v.join()
    assert await v.line() == [1, 3]
    await v.act(Action.RELEASE, 2)
    assert await v.line() == [1, 2, 3]


async def test_who_is_on_the_way_from_another_queue_is_listed_until_released_or_ended(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    came = [Came("elsewhere", number, 100 + number) for number in range(12)]
    for each in came:
        await v.join(on_hold=True, came=each)
    await v.join(on_hold=True)
    found = await v.store.arriving(v.queue, 100)
    assert [(each.ticket.number, each.came) for each in found] == list(enumerate(came, 1))
    assert found[0].ticket == await v.ticket(1)
    assert [each.ticket.number for each in await v.store.arriving(v.queue, 3)] == [1, 2, 3]
    await v.act(Action.RELEASE, 1)
    await v.act(Action.HOLD, 1)  # by staff, who mean it
    await v.store.act(v.queue, Action.CANCEL, range(2, 12))
    assert [each.ticket.number for each in await v.store.arriving(v.queue, 100)] == [12]
    await v.store.delete(v.queue)
    with pytest.raises(QueueNotFound):
        await v.store.arriving(v.queue, 100)
