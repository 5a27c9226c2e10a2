"""What the estimates of waits are made from, in every store."""

from __future__ import annotations

import pytest

from fairline.domain.estimate import Forecast
from fairline.domain.ticket import Action
from fairline.domain.waits import Cause
from tests.store.venue import OpenVenue


async def test_the_next_token_is_part_of_the_wait(venue: OpenVenue) -> None:
    v = await venue(admission_rate=0.1, burst=1, heartbeat_timeout_seconds=0)
    await v.joins(3)
    assert len(await v.admit(5)) == 1  # the bucket was full
    for left in (10, 9, 5, 1):
        snapshot = await v.store.snapshot(v.queue)
        wait = Forecast((await v.store.settings(v.queue)).settings, snapshot).wait(1)
        assert wait is not None
        assert wait.low <= left <= wait.high < left + 2
        v.clock.advance({10: 1, 9: 4, 5: 4, 1: 1}[left])
    assert len(await v.admit(5)) == 1


async def test_what_slows_the_line_is_noted_with_its_cause(venue: OpenVenue) -> None:
    v = await venue(admission_rate=10, max_active=100)
    changes: list[tuple[dict[str, object], Cause | None]] = [
        ({"admission_rate": 9}, None),
        ({"admission_rate": 5}, Cause.RATE_CHANGED),
        ({"max_active": 50}, Cause.CAPACITY_REDUCED),
        ({"status": "paused"}, Cause.PAUSED),
        ({"status": "active"}, None),
    ]
    for change, cause in changes:
        v.clock.advance(60)
        await v.configure(**change)
        snapshot = await v.store.snapshot(v.queue)
        noted = list(Cause)[snapshot.slowed - 1] if snapshot.slowed_at == v.clock() else None
        assert noted is cause, change


async def test_a_desk_that_closes_slows_the_line(venue: OpenVenue) -> None:
    v = await venue(admission="manual", heartbeat_timeout_seconds=0)
    await v.store.set_desk(v.queue, "A", is_open=False)  # it was not open
    assert (await v.store.snapshot(v.queue)).slowed_at == 0
    await v.store.set_desk(v.queue, "A", is_open=True)
    await v.store.set_desk(v.queue, "A", is_open=False)
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.slowed_at, list(Cause)[snapshot.slowed - 1]) == (v.clock(), Cause.DESK_CLOSED)


async def test_a_desk_is_silent_only_while_people_wait(venue: OpenVenue) -> None:
    v = await venue(admission="manual", heartbeat_timeout_seconds=0)
    await v.joins(3)
    await v.call(desk="A")
    v.clock.advance(30)
    await v.call(desk="B")
    v.clock.advance(5)
    assert (await v.store.snapshot(v.queue)).silences == (35, 5)
    await v.call(desk="B")
    assert (await v.store.snapshot(v.queue)).silences == (0, 0)  # nobody waits
    v.clock.advance(100)
    await v.join()
    v.clock.advance(7)
    assert (await v.store.snapshot(v.queue)).silences == (7, 7)


async def test_who_leaves_is_counted_by_the_age_they_had(venue: OpenVenue) -> None:
    v = await venue(admission_rate=0.001, burst=1, heartbeat_timeout_seconds=0)
    await v.joins(4)
    await v.admit(1)  # the bucket was full
    v.clock.advance(10)
    await v.admit(1)
    await v.act(Action.LEAVE, 2)
    v.clock.advance(90)
    await v.admit(1)
    await v.act(Action.LEAVE, 3)
    snapshot = await v.store.snapshot(v.queue)
    assert [round(left) for left in snapshot.left_by_age] == [1, 0, 1, 0, 0, 0, 0, 0]
    assert snapshot.waited_by_age[0] == pytest.approx(30, rel=0.2)  # three people for ten seconds
    assert snapshot.waited_by_age[1] == 0  # no keeper ran for longer than a minute, so that is not measured


async def test_how_many_go_ahead_is_measured(venue: OpenVenue) -> None:
    v = await venue(admission_rate=0.001, burst=1, heartbeat_timeout_seconds=0)
    await v.joins(10)
    assert (await v.store.snapshot(v.queue)).passed_at == 0
    await v.admit(1)
    v.clock.advance(50)
    await v.admit(1)
    await v.join(priority=3)
    snapshot = await v.store.snapshot(v.queue)
    assert snapshot.passed_at == v.clock()
    assert 0 < snapshot.pass_rate < 0.1
