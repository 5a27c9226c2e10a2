"""The day of a walk-in line: its labels, its hours, and who is sent home at its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from fairline.domain.ticket import Action, Reason, Status
from fairline.errors import InvalidRequest, QueueClosed, SettingsChanged
from fairline.store import Arrival, JoinCalendar, Joined
from tests.conftest import OpenStore
from tests.store.venue import WALK_IN, OpenVenue, Venue, calendar

# Labels


async def test_without_series_and_days_a_label_is_the_number(venue: OpenVenue) -> None:
    v = await venue()
    assert (await v.join()).ticket.serial == ""


async def test_each_series_has_its_own_count(venue: OpenVenue) -> None:
    v = await venue(series=["A", "B"])
    serials = [(await v.join(series=series)).ticket.serial for series in ("A", "B", "", "B", "A")]
    assert serials == ["A0001", "B0001", "A0002", "B0002", "A0003"]
    assert (await v.ticket(4)).serial == (await v.heartbeat(4)).serial == "B0002"


async def test_a_series_that_is_not_there_is_refused(venue: OpenVenue) -> None:
    v = await venue(series=["A", "B"])
    refused = await v.try_join(series="C")
    assert isinstance(refused, InvalidRequest)
    assert "A, B" in refused.message


async def serials(v: Venue, count: int, now: JoinCalendar) -> list[str]:
    reply = await v.store.join(v.queue, [Arrival()] * count, now)
    return [item.ticket.serial for item in reply.items if isinstance(item, Joined)]


async def test_labels_begin_again_each_day(venue: OpenVenue) -> None:
    for series, first in ((["A"], "A0001"), ([], "000001")):
        v = await venue(label_restart="daily", series=series, **WALK_IN)
        yesterday = await calendar(v)
        assert (await serials(v, 2, yesterday))[0] == first, series
        v.clock.advance(86_400)
        # The step goes by the store's clock: what was worked out just before midnight holds just after it.
        assert await serials(v, 1, yesterday) == [first], series
        assert (await serials(v, 2, await calendar(v)))[0] != first, series
        # A worker whose clock is behind cannot begin yesterday again.
        v.clock.advance(-3600 * 12)
        assert first not in await serials(v, 1, await calendar(v)), series


async def test_a_change_of_the_rule_gives_no_label_twice_on_one_day(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    labels = []
    for settings in ({}, {"label_restart": "daily"}, {"label_restart": "never"}, {"label_restart": "daily"}):
        await v.configure(**settings)
        for _ in range(2):
            (joined,) = (await v.store.join(v.queue, [Arrival()], await calendar(v))).items
            assert isinstance(joined, Joined)
            labels.append(joined.ticket.serial or f"{joined.ticket.number:06d}")
    assert len(set(labels)) == len(labels) == 8


async def test_labels_are_unbroken_however_many_join_at_once(venue: OpenVenue, another_store: OpenStore) -> None:
    v = await venue(series=["A", "B"], join_limit_per_ip=0, **WALK_IN)
    stores = [await another_store() for _ in range(3)]
    replies = await asyncio.gather(
        *(each.join(v.queue, [Arrival(series="AB"[i % 2])] * 5) for i in range(6) for each in stores)
    )
    serials = [item.ticket.serial for reply in replies for item in reply.items if isinstance(item, Joined)]
    assert sorted(serials) == [f"{name}{n:04d}" for name in "AB" for n in range(1, 46)]


# Hours


async def test_outside_of_the_hours_nobody_new_is_taken(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    now = v.clock()
    spans = ((now - 1000, now + 5000), (now + 10_000, now + 20_000))
    open_now = await calendar(v, open=spans)

    async def come(client: bytes, **more: Any) -> object:
        (item,) = (await v.store.join(v.queue, [Arrival(client=client, **more)], open_now)).items
        return item

    assert isinstance(await come(b"early"), Joined)
    v.clock.advance(5)
    closed = await come(b"late")
    assert isinstance(closed, QueueClosed)
    assert not closed.early
    again = await come(b"early")
    assert isinstance(again, Joined)
    assert not again.created
    assert isinstance(await come(b"staff", limited=False), Joined)
    v.clock.advance(5)
    assert isinstance(await come(b"late"), Joined)


async def test_the_line_is_as_long_as_can_be_served_and_no_longer(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    reply = await v.store.join(v.queue, [Arrival()] * 5, await calendar(v, longest=3))
    assert [isinstance(item, Joined) for item in reply.items] == [True] * 3 + [False] * 2
    refused = reply.items[-1]
    assert isinstance(refused, QueueClosed)
    assert refused.early


async def test_terms_of_other_settings_do_nothing(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    old = await calendar(v)
    await v.configure(name="Another")
    before = await v.everything()
    with pytest.raises(SettingsChanged):
        await v.store.join(v.queue, [Arrival()], old)
    assert await v.everything() == before


async def test_at_the_end_of_the_day_everyone_who_waits_is_sent_home_once(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(5)
    await v.act(Action.HOLD, 2)
    await v.call(desk="A")
    await v.start(1)
    ends = v.clock()
    v.clock.advance(60)
    await v.join()
    numbers, cursor = [], None
    while True:
        closed = await v.store.close_day(v.queue, ends, 2, cursor)
        numbers += closed.numbers
        cursor = closed.cursor
        if cursor is None:
            break
    assert sorted(numbers) == [2, 3, 4, 5]
    assert {(await v.ticket(n)).reason for n in numbers} == {Reason.CLOSED}
    assert ((await v.ticket(1)).status, await v.line()) == (Status.ACTIVE, [6])
    before = await v.everything()
    again = await v.store.close_day(v.queue, ends, 100)
    assert (again.numbers, again.cursor) == ([], None)
    assert await v.everything() == before


async def test_many_keepers_end_a_day_once(venue: OpenVenue, another_store: OpenStore) -> None:
    v = await venue(**WALK_IN)
    await v.joins(30)
    stores = [await another_store() for _ in range(4)]
    closed = await asyncio.gather(*(each.close_day(v.queue, v.clock(), 500) for each in stores))
    assert sorted(number for each in closed for number in each.numbers) == [*range(1, 31)]
    ended = Counter(event.ticket for event in await v.events() if event.type == "expired")
    assert set(ended.values()) == {1}
