"""Limits over a sliding window: exact, and only what was allowed counts."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidRequest, QueueFull, RateLimited
from fairline.store import Arrival, Joined, Store
from tests.store.venue import OpenVenue, Venue

HOME: dict[str, Any] = {"address": b"home"}
#: The limits on joins: by what, what sets it, and its window in seconds.
KINDS = [
    ("address", "join_limit_per_ip", 60),
    ("phone", "join_limit_per_phone", 3600),
    ("email", "join_limit_per_email", 3600),
]


async def wait_of(v: Venue, **arrival: object) -> float:
    """Try to join; the seconds to wait, 0 where it was allowed."""
    outcome = await v.try_join(**arrival)
    if isinstance(outcome, RateLimited):
        assert outcome.retry_after
        return outcome.retry_after
    assert isinstance(outcome, Joined)
    return 0


async def test_joins_are_limited_exactly_over_a_sliding_window(venue: OpenVenue) -> None:
    for detail, setting, window in KINDS:
        v = await venue(**{setting: 3})
        me = {detail: b"me"}
        third = window / 3
        for _ in range(3):  # at 0, 1/3 and 2/3
            assert await wait_of(v, **me) == 0, detail
            v.clock.advance(third)
        v.clock.advance(-0.001)
        assert await wait_of(v, **me) == pytest.approx(0.001), detail
        v.clock.advance(0.001)
        assert await wait_of(v, **me) == 0, detail
        assert await wait_of(v, **me) == pytest.approx(third), detail
        v.clock.advance(third)
        assert await wait_of(v, **me) == 0, detail


async def test_the_refusal_says_who_is_limited(venue: OpenVenue) -> None:
    for detail, setting, window in KINDS:
        v = await venue(**{setting: 1})
        await v.join(**{detail: b"me"})
        refused = await v.try_join(**{detail: b"me"})
        assert isinstance(refused, RateLimited), detail
        assert (refused.who, refused.retry_after) == (detail, window), detail


async def test_refused_tries_are_not_counted(venue: OpenVenue) -> None:
    for detail, setting, window in KINDS:
        v = await venue(**{setting: 2})
        me = {detail: b"me"}
        await v.joins(2, **me)
        before = await v.everything()
        for _ in range(20):
            assert await wait_of(v, **me) > 0, detail
        assert await v.everything() == before, detail
        v.clock.advance(window)
        await v.joins(2, **me)


async def test_no_limit_where_it_is_set_to_nothing(venue: OpenVenue) -> None:
    for detail, setting, _ in KINDS:
        v = await venue(**{setting: 0})
        await v.joins(200, **{detail: b"me"})


async def test_within_one_batch_the_limit_is_exact(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=3)
    arrivals = [Arrival(**HOME), Arrival(**HOME), Arrival(address=b"other"), Arrival(**HOME), Arrival(**HOME)]
    items = (await v.store.join(v.queue, arrivals)).items
    assert [type(item) for item in items] == [Joined, Joined, Joined, Joined, RateLimited]


async def test_staff_are_neither_limited_nor_counted(venue: OpenVenue) -> None:
    for detail, setting, _ in KINDS:
        v = await venue(**{setting: 2})
        desk = {detail: b"desk"}
        await v.joins(10, limited=False, **desk)
        await v.joins(2, **desk)
        assert await wait_of(v, **desk) > 0, detail
        await v.joins(10, limited=False, **desk)


async def test_others_are_not_limited_by_one_who_is(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1)
    await v.join(**HOME)
    assert await wait_of(v, **HOME) > 0
    assert await wait_of(v, address=b"other") == 0
    assert await wait_of(v) == 0  # whose address is not known is not limited by it


async def test_who_only_gets_the_ticket_again_is_not_counted(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=2)
    for _ in range(5):
        assert await wait_of(v, client=b"me", **HOME) == 0
        assert await wait_of(v, key=b"k", fingerprint=b"f", **HOME) == 0
    assert await wait_of(v, **HOME) > 0


async def test_who_is_over_the_limit_still_gets_the_ticket_they_hold(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1)
    await v.join(client=b"me", **HOME)
    assert await wait_of(v, client=b"you", **HOME) > 0
    assert (await v.join(client=b"me", **HOME)).ticket.number == 1


async def test_a_join_refused_for_another_reason_is_not_counted(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1, join_limit_per_phone=1, max_queue_size=1)
    await v.join()
    assert isinstance(await v.try_join(**HOME), QueueFull)
    await v.configure(max_queue_size=10)
    await v.join(phone=b"mine")
    assert await wait_of(v, phone=b"mine", **HOME) > 0  # by the phone: the address is not counted
    assert await wait_of(v, **HOME) == 0


async def test_a_lowered_limit_holds_at_once(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=4)
    for _ in range(4):  # at 0, 10, 20 and 30 s
        await v.join(**HOME)
        v.clock.advance(10)
    await v.configure(join_limit_per_ip=2)
    assert await wait_of(v, **HOME) == 40  # until only the last one of them counts
    v.clock.advance(40)
    assert await wait_of(v, **HOME) == 0
    assert await wait_of(v, **HOME) > 0


# Any other action


async def test_a_try_is_counted_up_to_the_limit(venue: OpenVenue) -> None:
    v = await venue()
    waits = []
    for _ in range(4):
        waits.append(await v.store.limit(v.queue, "ip:1", "verify", 3, 10))
        v.clock.advance(1)
    assert waits == [0, 0, 0, 7]


async def test_a_queue_that_is_recreated_counts_no_try_of_the_one_before(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1, join_limit_per_phone=1)
    settings = (await v.store.settings(v.queue)).settings
    me = {**HOME, "phone": b"mine"}
    for _ in range(3):
        assert await wait_of(v, **me, client=b"1") == 0
        assert await wait_of(v, **me, client=b"2") > 0
        assert await v.store.limit(v.queue, "ip:1", "verify", 1, 60) == 0
        assert await v.store.limit(v.queue, "ip:1", "verify", 1, 60) == 60
        await v.store.delete(v.queue)
        v.clock.advance(0.001)
        await v.store.create(v.queue, settings)


async def test_limits_are_apart_by_who_what_and_queue(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1)
    assert await v.store.limit(v.queue, "ip:1", "verify", 1, 10) == 0
    assert await v.store.limit(v.queue, "ip:1", "verify", 1, 10) == 10
    assert await v.store.limit(v.queue, "ip:2", "verify", 1, 10) == 0
    assert await v.store.limit(v.queue, "ip:1", "leave", 1, 10) == 0
    other = type(v.queue)(f"{v.queue}-other")
    await v.store.create(other, (await v.store.settings(v.queue)).settings)
    assert await v.store.limit(other, "ip:1", "verify", 1, 10) == 0


async def test_no_window_has_more_than_the_limit_and_nobody_is_refused_before(venue: OpenVenue) -> None:
    for seed in range(3):
        v = await venue()
        chance, allowed = random.Random(seed), list[int]()
        for _ in range(150):
            v.clock.advance(chance.expovariate(1))
            inside = [at for at in allowed if at > v.clock() - 10_000]
            wait = await v.store.limit(v.queue, "ip:1", "verify", 5, 10)
            if len(inside) < 5:
                assert wait == 0, seed
                allowed.append(v.clock())
            else:
                assert wait == pytest.approx((inside[-5] + 10_000 - v.clock()) / 1000), seed


async def test_a_limit_of_nothing_is_refused(store: Store, queue: QueueId) -> None:
    await store.create(queue, checked({}))
    with pytest.raises(InvalidRequest, match="limit"):
        await store.limit(queue, "ip:1", "try", 0, 60)
