"""The statistics of a queue: exact counts, percentiles close to the truth, by hour."""

from __future__ import annotations

import math
import random

import pytest

from fairline.domain.ticket import Action, Reason, Status
from fairline.store import Totals
from tests.backends import START
from tests.store.venue import OpenVenue, Venue

HOUR = 3_600_000
PEOPLE = 120


async def totals(v: Venue) -> Totals:
    return (await v.store.stats(v.queue)).totals


async def test_a_new_queue_has_counted_nothing(venue: OpenVenue) -> None:
    v = await venue()
    stats = await v.store.stats(v.queue)
    assert stats.totals == Totals()
    assert (stats.joins_per_minute, stats.admissions_per_minute, stats.last_admission) == (0, 0, None)
    assert await v.store.hourly(v.queue) == []


async def test_everything_that_happens_is_counted_once(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=0, claim_seconds=60)
    await v.join(client=b"me", key=b"k", fingerprint=b"f")
    await v.join(client=b"me")  # existing
    await v.join(key=b"k", fingerprint=b"f")  # a retry
    await v.joins(9)
    await v.admit(5)  # 1 to 5
    await v.act(Action.RETURN, 5)
    await v.act(Action.RECALL, 4)
    for number in (1, 2):
        await v.start(number)
        await v.act(Action.COMPLETE, number)
    await v.act(Action.LEAVE, 6)
    await v.act(Action.LEAVE, 6)  # refused
    await v.act(Action.CANCEL, 7)
    await v.store.revoke(v.queue, 8, "abuse")
    await v.act(Action.NO_SHOW, 3)
    await v.after(60)  # 4 does not claim; 5, 9 and 10 are silent
    counted = await totals(v)
    assert (counted.joined, counted.admitted, counted.returned, counted.completed) == (10, 5, 1, 2)
    assert counted.expired == 8
    assert counted.expired_by_reason == {
        Reason.LEFT: 1,
        Reason.CANCELLED: 1,
        Reason.REVOKED: 1,
        Reason.NO_SHOW: 1,
        Reason.CLAIM_TIMEOUT: 1,
        Reason.HEARTBEAT_TIMEOUT: 3,
    }
    stats = await v.store.stats(v.queue)
    assert stats.snapshot == await v.store.snapshot(v.queue)
    assert (stats.snapshot.waiting, stats.snapshot.inside) == (0, 0)


async def test_the_peak_is_the_longest_the_line_ever_was(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(7)
    await v.admit(5)
    await v.joins(3)
    assert (await totals(v)).peak_waiting == 7
    await v.joins(4)
    assert (await totals(v)).peak_waiting == 9


async def test_waits_are_those_of_the_admitted(venue: OpenVenue) -> None:
    v = await venue(burst=100, heartbeat_timeout_seconds=0)
    await v.joins(4)
    v.clock.advance(10)
    await v.admit(1)
    v.clock.advance(20)
    await v.admit(1)
    v.clock.advance(3600)  # two still wait, and do not count
    counted = await totals(v)
    assert counted.wait_mean == 20
    assert counted.wait_p50 == pytest.approx(10, rel=0.1)
    assert counted.wait_p99 == pytest.approx(30, rel=0.1)


@pytest.mark.parametrize("scale", [5, 120, 2500])
async def test_percentiles_are_close_to_the_truth(venue: OpenVenue, scale: int) -> None:
    v = await venue(burst=1000, heartbeat_timeout_seconds=0, join_limit_per_ip=0)
    chance = random.Random(scale)
    waits = sorted(round(chance.expovariate(1 / scale), 3) for _ in range(PEOPLE))
    for wait in reversed(waits):  # who waits longest comes first
        v.clock.now = START + round((waits[-1] - wait) * 1000)
        await v.join()
    v.clock.now = START + round(waits[-1] * 1000)
    await v.admit()
    counted = await totals(v)
    assert counted.wait_mean == pytest.approx(sum(waits) / PEOPLE, abs=0.001)
    for share, found in ((0.5, counted.wait_p50), (0.9, counted.wait_p90), (0.99, counted.wait_p99)):
        assert found == pytest.approx(waits[math.ceil(share * PEOPLE) - 1], rel=0.06, abs=0.06)


async def test_who_is_let_in_at_once_has_waited_for_nothing(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(3)
    await v.admit()
    counted = await totals(v)
    assert counted.wait_mean == 0
    assert counted.wait_p50 == pytest.approx(0, abs=0.1)


async def test_the_last_minute_is_counted(venue: OpenVenue) -> None:
    v = await venue(burst=100, admission_rate=100)
    await v.joins(5)
    v.clock.advance(60)
    await v.joins(2)
    await v.admit(3)
    stats = await v.store.stats(v.queue)
    assert (stats.joins_per_minute, stats.admissions_per_minute, stats.last_admission) == (5, 3, v.clock())
    v.clock.advance(60)
    stats = await v.store.stats(v.queue)
    assert (stats.joins_per_minute, stats.admissions_per_minute) == (2, 3)
    v.clock.advance(60)
    stats = await v.store.stats(v.queue)
    assert (stats.joins_per_minute, stats.admissions_per_minute) == (0, 0)
    assert stats.last_admission == v.clock() - 120_000


async def test_each_hour_has_its_own_counts(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(3)
    v.clock.advance(3600)
    await v.joins(2)
    await v.admit(4)
    v.clock.advance(7200)
    await v.act(Action.NO_SHOW, 1)
    first, second, fourth = await v.store.hourly(v.queue)
    assert [hour.start - START for hour in (first, second, fourth)] == [0, HOUR, 3 * HOUR]
    assert first.totals == Totals(joined=3, peak_waiting=3)
    assert (second.totals.joined, second.totals.admitted, second.totals.peak_waiting) == (2, 4, 5)
    assert second.totals.wait_mean == 3600 * 3 / 4
    assert (fourth.totals.expired, fourth.totals.expired_by_reason) == (1, {Reason.NO_SHOW: 1})


async def test_the_peak_of_an_hour_is_that_of_the_line_it_began_with(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(8)
    v.clock.advance(3600)
    await v.admit(6)
    assert [hour.totals.peak_waiting for hour in await v.store.hourly(v.queue)] == [8, 8]


async def test_hours_are_kept_for_a_day_at_least_and_not_for_ever(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    await v.join()
    for _ in range(24):
        v.clock.advance(3600)
        await v.join()
        await v.sweep()
    hours = [hour.start for hour in await v.store.hourly(v.queue)]
    assert hours == [START + i * HOUR for i in range(25)]
    await v.after(5 * 86_400)
    assert await v.store.hourly(v.queue) == []
    assert (await totals(v)).joined == 25  # the whole is never forgotten


async def test_the_hours_of_eight_days_before_today_can_still_be_reported(venue: OpenVenue) -> None:
    for swept in (True, False):  # all the time, or at the end
        v = await venue(heartbeat_timeout_seconds=0, admission="manual", burst=100)
        v.clock.now = START
        await v.joins(3)
        v.clock.advance(600)
        await v.call(2, desk="A")
        await v.act(Action.NO_SHOW, 1)
        await v.act(Action.NO_SHOW, 2)
        first, second = START, START + HOUR
        before = await v.store.report(v.queue, first, second), await v.store.desk_tallies(v.queue)
        assert before[0].totals.admitted == 2, swept
        # From midnight on the first of nine days to the end of the last, in a zone where the clock is set in between.
        for _ in range(9 if swept else 1):
            await v.after(86_400 if swept else 9 * 86_400)
            await v.joins(1)
        await v.after(3600)
        assert await v.store.report(v.queue, first, second) == before[0], swept
        assert (await v.store.desk_tallies(v.queue, older=True)).hours == before[1].hours, swept
        if swept:
            week = await v.store.report(v.queue, first, None)
            assert (week.totals.joined, len(week.hours)) == (3 + 9, 10), swept
        assert first not in [hour.start for hour in await v.store.hourly(v.queue)], swept
        assert (await v.store.desk_tallies(v.queue)).hours == [], swept
        await v.after(86_400)
        assert (await v.store.report(v.queue, first, second)).hours == [], swept
        assert (await v.store.desk_tallies(v.queue, older=True)).hours == [], swept
        assert (await v.store.desk_tallies(v.queue)).totals == before[1].totals, swept


async def test_counts_outlive_the_records(venue: OpenVenue) -> None:
    v = await venue(retain_seconds=0)
    for status in (Status.COMPLETED, Status.EXPIRED):
        await v.one(status)
    before = await totals(v)
    await v.after(60)
    assert await v.tickets() == []
    assert await totals(v) == before


async def test_a_report_of_some_hours_is_what_they_come_to(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, burst=100)
    await v.joins(5)
    v.clock.advance(3600)
    await v.admit(4)
    await v.joins(1)
    v.clock.advance(3600)
    await v.joins(9)
    await v.admit(1)
    whole = await v.store.report(v.queue, None, None)
    assert whole.totals == await totals(v)
    assert whole.hours == await v.store.hourly(v.queue)
    two = await v.store.report(v.queue, START, START + 2 * HOUR)
    assert [hour.start for hour in two.hours] == [START, START + HOUR]
    assert (two.totals.joined, two.totals.admitted, two.totals.peak_waiting) == (6, 4, 5)
    assert two.totals.wait_p50 == two.totals.wait_p90 == pytest.approx(3600, rel=0.06)
    last = await v.store.report(v.queue, START + 2 * HOUR, None)
    assert (last.totals.joined, last.totals.peak_waiting) == (9, 11)
    assert last.totals.wait_mean == 7200
    assert (await v.store.report(v.queue, None, START)).totals == Totals()
