"""A queue by the minute, and how good the waits were that people were shown."""

from __future__ import annotations

import pytest

from fairline.domain.ticket import Action
from fairline.errors import InvalidRequest
from fairline.store import Estimates, EstimateSample, Point
from tests.backends import START
from tests.store.venue import OpenVenue, Venue

MINUTE = 60_000


async def by_minute(v: Venue, points: int) -> list[Point]:
    found = await v.store.series(v.queue, 1, points)
    now = v.clock() // MINUTE * MINUTE
    assert [point.start for point in found] == [now - MINUTE * back for back in reversed(range(points))]
    return found


async def test_a_new_queue_has_points_with_nothing_in_them(venue: OpenVenue) -> None:
    v = await venue()
    for point in await by_minute(v, 60):
        assert point == Point(start=point.start, waiting=0, inside=0)


async def test_every_minute_has_its_own_counts_and_waits(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100, admission_rate=100)
    await v.joins(5)
    await v.act(Action.LEAVE, 5)
    v.clock.advance(60)
    await v.joins(2)
    await v.admit(3)
    await v.start(1)
    await v.act(Action.COMPLETE, 1)
    v.clock.advance(120)
    first, second, third, present = await by_minute(v, 4)
    assert first == Point(start=first.start, waiting=4, inside=0, joined=5, expired=1, peak_waiting=5)
    assert (second.joined, second.admitted, second.completed, second.expired) == (2, 3, 1, 0)
    assert (second.waiting, second.inside, second.peak_waiting) == (3, 2, 6)
    assert second.wait_p50 == second.wait_p90 == pytest.approx(60, rel=0.1)
    assert third == Point(start=third.start, waiting=3, inside=2, peak_waiting=3)  # as it was last seen
    assert present == Point(start=present.start, waiting=3, inside=2, peak_waiting=3)


async def test_a_sweep_notes_how_long_the_line_is_in_a_quiet_minute(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    await v.joins(4)
    for _ in range(3):
        await v.after(60)
    await v.admit(2)
    *quiet, present = await by_minute(v, 4)
    assert [(point.waiting, point.peak_waiting, point.joined) for point in quiet] == [(4, 4, 4), (4, 4, 0), (4, 4, 0)]
    assert (present.waiting, present.inside, present.peak_waiting, present.admitted) == (2, 2, 4, 2)


async def test_points_of_more_minutes_are_their_sum(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=1000, admission_rate=1000, join_limit_per_ip=0)
    for _ in range(20):
        await v.joins(3)
        v.clock.advance(30)
        await v.admit(2)
        v.clock.advance(30)
    points = await v.store.series(v.queue, 5, 72)
    assert len(points) == 72
    assert [point.start % (5 * MINUTE) for point in points] == [0] * 72
    assert points[-1].start <= v.clock() < points[-1].start + 5 * MINUTE
    assert sum(point.joined for point in points) == 60
    assert sum(point.admitted for point in points) == 40
    assert [point.peak_waiting for point in points[-5:]] == [7, 12, 17, 22, 20]
    assert points[-1].waiting == 20


async def test_minutes_are_kept_for_a_day_and_not_for_ever(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    await v.joins(7)
    await v.after(24 * 3600)
    day = await v.store.series(v.queue, 15, 97)
    assert sum(point.joined for point in day) == 7
    assert [point.waiting for point in day] == [7] * 97
    await v.after(3 * 3600)
    assert sum(point.joined for point in await v.store.series(v.queue, 60, 48)) == 0
    assert v.clock() - START == 27 * 3_600_000


# What people were shown


async def estimates(v: Venue) -> Estimates:
    so_far = (await v.store.stats(v.queue)).totals.estimates
    hours = await v.store.hourly(v.queue)
    assert sum(hour.totals.estimates.compared for hour in hours) == so_far.compared
    assert sum(hour.totals.estimates.within for hour in hours) == so_far.within
    return so_far


async def test_what_was_shown_is_compared_when_they_are_let_in(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(4)
    await v.store.record_estimates(
        v.queue, [EstimateSample(1, 30, 20, 40), EstimateSample(2, 30, 20, 40), EstimateSample(3, 12, 10, 20)]
    )
    assert await estimates(v) == Estimates()
    v.clock.advance(40)
    await v.admit(1)  # 1 waited for 40 s, as was just promised
    v.clock.advance(0.001)
    await v.admit(3)  # 2 a little longer; of 4 nothing is known
    found = await estimates(v)
    assert (found.compared, found.within) == (3, 1)
    assert found.error_mean == pytest.approx((10 + 10.001 + 28.001) / 3)
    assert found.wait_mean == pytest.approx(40, abs=0.01)


async def test_it_is_compared_once_and_forgotten_with_those_who_leave(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(2)
    await v.store.record_estimates(
        v.queue, [EstimateSample(1, 0, 0, 5), EstimateSample(2, 0, 0, 5), EstimateSample(99, 0, 0, 5)]
    )
    await v.act(Action.LEAVE, 2)
    await v.call(1)
    await v.act(Action.RETURN, 1)
    await v.call(1)
    assert (await estimates(v)).compared == 1


async def test_who_is_let_in_before_it_was_noted_is_compared_too(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(3)
    v.clock.advance(2)
    await v.admit(2)
    await v.act(Action.LEAVE, 3)
    v.clock.advance(60)
    await v.store.record_estimates(v.queue, [EstimateSample(number, 1, 0, 3) for number in (1, 2, 3)])
    found = await estimates(v)
    assert (found.compared, found.within, found.error_mean, found.wait_mean) == (2, 2, 1, 2)


async def test_an_outage_of_the_server_makes_no_estimate_wrong(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(1)
    await v.store.sweep(v.queue, 10)
    await v.store.record_estimates(v.queue, [EstimateSample(1, 10, 5, 20)])
    v.clock.advance(605)
    await v.store.sweep(v.queue, 10, every=5)  # no keeper ran for ten minutes
    v.clock.advance(5)
    await v.admit()
    found = await estimates(v)
    assert (found.compared, found.within, found.wait_mean) == (1, 1, 10)


async def test_the_accuracy_is_told_by_the_length_of_the_wait_and_nobody_weighs_more(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    start = v.clock()
    await v.joins(3)
    v.clock.advance(20)
    later = EstimateSample(1, 12, 5, 15, told=start + 20_000)
    shown = [EstimateSample(1, 30, 20, 45), EstimateSample(2, 60, 50, 90, weight=10), later]
    await v.store.record_estimates(v.queue, shown)
    await v.store.record_estimates(v.queue, [EstimateSample(1, 1, 1, 1, told=start + 20_000)])  # the first one stays
    v.clock.advance(20)
    await v.admit(1)  # 1 waited for 40 s, of which 20 s after they were told again
    v.clock.advance(160)
    await v.admit(1)  # 2 waited for 200 s
    found = await estimates(v)
    assert (found.compared, found.within) == (12, 1)
    assert [(a.from_seconds, a.to_seconds, a.compared, a.within) for a in found.by_wait] == [
        (0, 30, 1, 0),
        (30, 120, 1, 1),
        (120, 600, 10, 0),
    ]
    assert [a.bias_percent for a in found.by_wait] == [pytest.approx(error, rel=0.06) for error in (-40, -25, -70)]
    assert found.error_percent == pytest.approx(70, rel=0.06)
    assert found.bias_percent == pytest.approx(-70, rel=0.06)


async def test_nothing_shown_is_nothing_noted(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.record_estimates(v.queue, [])
    with pytest.raises(InvalidRequest, match="at most 1,000"):
        await v.store.record_estimates(v.queue, [EstimateSample(1, 1, 1, 1)] * 1001)
    assert await estimates(v) == Estimates()
