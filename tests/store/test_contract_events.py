"""Events: what happened, in order, recorded in the step in which it happened."""

from __future__ import annotations

import pytest

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Status
from fairline.errors import InvalidRequest
from fairline.store import MAX_BATCH, Arrival
from fairline.store.contract import CALLS_WITHIN
from tests.backends import START
from tests.store.venue import OpenVenue

KEPT = 100_000


async def test_a_whole_life_is_told_in_order_with_its_times(venue: OpenVenue) -> None:
    v = await venue(admission="manual")
    await v.join(priority=1)
    v.clock.advance(1)
    await v.store.prioritise(v.queue, 1, 2)
    v.clock.advance(1)
    await v.call(desk="Desk 1")
    v.clock.advance(1)
    await v.act(Action.RETURN, 1)
    v.clock.advance(1)
    await v.call(desk="Desk 2")
    v.clock.advance(1)
    await v.act(Action.RECALL, 1)
    v.clock.advance(1)
    await v.start(1)
    v.clock.advance(1)
    await v.act(Action.COMPLETE, 1)
    told = [(event.type.value, event.ticket, (event.at - START) // 1000) for event in await v.events()]
    assert told == [
        ("queue_created", None, 0),
        ("joined", 1, 0),
        ("prioritised", 1, 1),
        ("called", 1, 2),
        ("returned", 1, 3),
        ("called", 1, 4),
        ("recalled", 1, 5),
        ("started", 1, 6),
        ("completed", 1, 7),
    ]
    details = [detail for _, detail in await v.happened(1)]
    assert details[:3] == ["1", "2", "Desk 1"]
    assert details[4:6] == ["Desk 2", "Desk 2"]


async def test_the_keepers_work_is_told(venue: OpenVenue) -> None:
    v = await venue(claim_seconds=10, heartbeat_timeout_seconds=10, grace_seconds=0)
    await v.joins(2)
    await v.admit(1)
    await v.after(10)
    assert await v.happened(1) == [("joined", None), ("admitted", None), ("expired", "claim_timeout")]
    assert await v.happened(2) == [("joined", None), ("expired", "heartbeat_timeout")]


async def test_a_batch_is_told_in_the_order_of_the_batch(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(5)
    assert await v.admit() == [1, 2, 3, 4, 5]
    await v.store.act(v.queue, Action.NO_SHOW, [4, 2, 5])
    tickets = [event.ticket for event in await v.events()][1:]
    assert tickets == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 4, 2, 5]


async def test_what_is_not_done_is_not_told(venue: OpenVenue) -> None:
    v = await venue()
    await v.one(Status.COMPLETED, client=b"me")
    before = await v.events()
    await v.act(Action.COMPLETE, 1)
    await v.heartbeat(1)
    await v.admit()
    await v.sweep()
    await v.store.issue_priority_pass(v.queue, "vip", 1, 1, 60)
    assert await v.events() == before


async def test_events_go_on_after_the_last_one_seen(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(10)
    everything = await v.events()
    seen = []
    last: str | None = None
    while got := await v.store.events(v.queue, last, 3):
        assert len(got) <= 3
        seen += got
        last = got[-1].id
    assert seen == everything
    assert last is not None
    assert await v.store.events(v.queue, last, 3) == []
    await v.join()
    assert [event.ticket for event in await v.store.events(v.queue, last, 3)] == [11]


async def test_people_who_joined_together_have_one_event_each_page_by_page(venue: OpenVenue) -> None:
    for limit in (1, 2, 3, 5, 100):
        v = await venue(admission="manual")
        arrivals = [Arrival(), Arrival(), Arrival(), Arrival(priority=2), Arrival(), Arrival(client=b"me"), Arrival()]
        await v.store.join(v.queue, arrivals)
        await v.join()
        await v.call()
        told: list[Event] = []
        while page := await v.store.events(v.queue, told[-1].id if told else None, limit):
            assert len(page) <= limit, limit
            told += page
        joined = [(event.ticket, event.detail) for event in told if event.type is EventType.JOINED]
        assert joined == [(number, "2" if number == 4 else None) for number in range(1, 9)], limit
        assert [event.type for event in told[-2:]] == [EventType.JOINED, EventType.CALLED], limit
        assert len({event.id for event in told}) == len(told), limit
        assert told[-1].id == await v.store.last_event(v.queue), limit
        assert await v.store.events(v.queue, "", 100) == told, limit
        for at, event in enumerate(told):
            assert await v.store.events(v.queue, event.id, 100) == told[at + 1 :], limit
            assert not await v.store.events_lost(v.queue, event.id), limit


async def test_the_newest_event_of_each_queue_tells_that_something_happened_in_it(venue: OpenVenue) -> None:
    v = await venue(admission="manual")
    quiet = QueueId(f"{v.queue}-quiet")
    await v.store.create(quiet, checked({}))

    async def newest() -> str:
        found = await v.store.newest_events()
        assert list(found) == sorted(found)
        assert found[quiet] == before[quiet], "nothing happened in the other one"
        assert found[v.queue] == await v.store.last_event(v.queue)
        return found[v.queue]

    before = await v.store.newest_events()
    assert before.keys() >= {v.queue, quiet}
    seen = [before[v.queue]]
    for happens in (
        lambda: v.joins(2),
        lambda: v.act(Action.HOLD, 1),
        lambda: v.act(Action.RELEASE, 1),
        v.call,
        lambda: v.start(1),
        lambda: v.act(Action.COMPLETE, 1),
        v.call,
        lambda: v.act(Action.NO_SHOW, 2),
        lambda: v.act(Action.REINSTATE, 2),
        lambda: v.act(Action.CANCEL, 2),
        lambda: v.act(Action.PUT_BACK, 2),
        lambda: v.store.revoke(v.queue, 2, "shared"),
    ):
        await happens()
        seen.append(await newest())
    settings, version = (configured := await v.store.settings(v.queue)).settings, configured.version
    await v.store.configure(v.queue, settings, version)
    seen.append(await newest())
    assert len(set(seen)) == len(seen)
    await v.store.delete(quiet)
    assert quiet not in await v.store.newest_events()


async def test_a_recreated_queue_has_other_events(venue: OpenVenue) -> None:
    v = await venue()
    before = await v.store.newest_events()
    await v.store.delete(v.queue)
    v.clock.advance(0.001)
    await v.store.create(v.queue, checked({}))
    assert (await v.store.newest_events())[v.queue] != before[v.queue]


async def test_the_last_event_is_what_events_go_on_from(venue: OpenVenue) -> None:
    v = await venue()
    assert await v.store.last_event(v.queue) == (await v.events())[-1].id
    await v.joins(3)
    last = await v.store.last_event(v.queue)
    assert await v.store.events(v.queue, last, 10) == []
    await v.joins(2)
    assert [event.ticket for event in await v.store.events(v.queue, last, 10)] == [4, 5]


async def test_a_clock_that_goes_back_does_not_reorder_events(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    for _ in range(3):
        await v.join()
        v.clock.advance(-3600)
    events = await v.events()
    assert [event.ticket for event in events] == [None, 1, 2, 3]
    assert len({event.id for event in events}) == 4
    assert await v.store.events(v.queue, events[1].id, 10) == events[2:]


async def test_an_id_that_no_event_has_is_refused(venue: OpenVenue) -> None:
    v = await venue()
    for after in ("x", "1-2-3", "-1", "(1", "1 2", "1-0.x", "1-0.", "1-0.1.1", "-.1", "+.1"):
        with pytest.raises(InvalidRequest, match="after"):
            pytest.fail(f"{after!r} gave {await v.store.events(v.queue, after, 10)}")


async def test_old_events_are_trimmed_and_the_newest_are_kept(venue: OpenVenue) -> None:
    v = await venue()
    number = await v.one(Status.ADMITTED)
    batches = KEPT // MAX_BATCH + 3
    for _ in range(batches):
        v.clock.advance(1)
        await v.store.act(v.queue, Action.RECALL, [number] * MAX_BATCH)
    (oldest,) = await v.store.events(v.queue, None, 1)
    assert oldest.type is EventType.RECALLED
    kept = MAX_BATCH * (batches - (oldest.at - START) // 1000)  # in the batches after that of the oldest
    assert KEPT - MAX_BATCH <= kept <= KEPT + MAX_BATCH
    before = await v.store.last_event(v.queue)
    await v.act(Action.CANCEL, number)
    assert [event.type for event in await v.store.events(v.queue, before, 10)] == [EventType.EXPIRED]


async def test_the_last_calls_are_told_newest_first_with_what_took_them_back(venue: OpenVenue) -> None:
    v = await venue(admission="manual")
    assert await v.store.calls(v.queue, 10) == []
    await v.joins(4)
    await v.call(desk="Desk 1")
    await v.call(desk="Desk 2")
    await v.act(Action.RECALL, 1)
    await v.act(Action.RETURN, 2)
    await v.start(1)
    await v.act(Action.COMPLETE, 1)
    calls = await v.store.calls(v.queue, 10)
    assert [(call.type, call.ticket, call.detail) for call in calls] == [
        (EventType.RETURNED, 2, None),
        (EventType.RECALLED, 1, "Desk 1"),
        (EventType.CALLED, 2, "Desk 2"),
        (EventType.CALLED, 1, "Desk 1"),
    ]
    assert await v.store.calls(v.queue, 2) == calls[:2]
    assert {call.id for call in calls} <= {event.id for event in await v.events()}


async def test_calls_are_looked_for_among_the_newest_events_only(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0, max_queue_size=100_000)
    await v.one(Status.ADMITTED)
    for _ in range(CALLS_WITHIN // MAX_BATCH - 1):
        await v.joins(MAX_BATCH)
    assert [call.ticket for call in await v.store.calls(v.queue, 10)] == [1]
    await v.joins(MAX_BATCH)
    assert await v.store.calls(v.queue, 10) == []
