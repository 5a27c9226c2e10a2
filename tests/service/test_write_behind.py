"""Heartbeats and page views of people in line and inside: written together, soon, and none lost when a worker ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Reason, TicketStatus
from fairline.domain.tokens import Keyring
from fairline.errors import StoreUnavailable
from fairline.service import write_behind
from fairline.service.fairline import Fairline
from fairline.store import Arrival, Store, Visit, Visitor, open_store
from tests.web.inside import until

QUEUE = QueueId("inside")


@pytest.fixture
async def store(module_valkey_url: str) -> AsyncIterator[Store]:
    opened = await open_store(module_valkey_url)
    yield opened
    await opened.delete(QUEUE)
    await opened.close()


async def inside(store: Store, people: int, **settings: object) -> Fairline:
    """A service with people inside, each known as `me`."""
    service = Fairline(store, Keyring(b"x" * 32))
    await service.create(QUEUE, {"max_active": 5000, **settings})
    await store.join(QUEUE, [Arrival()] * people)
    for _ in range(0, people, 100):
        await store.call_next(QUEUE, 100)
    for number in range(1, people + 1):
        await service.start(QUEUE, number, "me")
    return service


async def views(store: Store, number: int = 1) -> int:
    (ticket,) = (await store.look_up(QUEUE, [number])).items
    assert ticket
    return ticket.page_views


async def test_page_views_are_counted_within_about_a_second(store: Store) -> None:
    service = await inside(store, 1)
    for _ in range(5):
        await service.visit(QUEUE, 1, "me")

    async def counted() -> bool:
        return await views(store) == 5

    await until(counted)
    for _ in range(2):
        await service.visit(QUEUE, 1, "me")
    await service.close()
    assert await views(store) == 7


async def test_to_close_writes_what_is_left(store: Store) -> None:
    service = await inside(store, 1)
    await service.visit(QUEUE, 1, "me")
    await service.close()
    assert await views(store) == 1


async def _is_past(store: Store, moment: int) -> bool:
    return await store.time() > moment


async def test_a_session_that_is_about_to_end_is_kept_alive_at_once(store: Store) -> None:
    service = await inside(store, 1, session_seconds=3)
    (before,) = (await store.look_up(QUEUE, [1])).items
    started = await store.time()
    await until(lambda: _is_past(store, started))  # a visit in the same millisecond moves no deadline
    await service.visit(QUEUE, 1, "me")
    (after,) = (await store.look_up(QUEUE, [1])).items
    assert before
    assert after
    assert before.deadline
    assert after.deadline
    assert (after.page_views, after.deadline > before.deadline) == (1, True)
    await service.close()


async def test_more_than_one_batch_is_written_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "WRITTEN_AT_ONCE", 2)
    service = await inside(store, 5)
    for number in (1, 2, 3, 4, 5, 5):
        await service.visit(QUEUE, number, "me")
    await service.close()
    assert [await views(store, number) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 2]


async def test_an_outage_of_the_store_is_waited_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await inside(store, 1)
    await service.visit(QUEUE, 1, "me")
    visit, tries = store.visit, 0

    async def away(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "visit", away)
    await until(lambda: tries == 2)
    monkeypatch.setattr(store, "visit", visit)
    await service.visit(QUEUE, 1, "me")
    await service.close()
    assert await views(store) == 2


async def test_who_leaves_one_queue_does_not_wait_for_the_signs_of_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, other = await inside(store, 1), QueueId("other")
    await service.create(other, {"admission": "manual"})
    await store.join(other, [Arrival()])
    await store.call_next(other, 1)
    await service.visit(other, 1, "me")
    visit, answers = store.visit, asyncio.Event()

    async def hangs(queue: QueueId, what: Visit, visitors: Sequence[Visitor]) -> object:
        if queue == other:
            await answers.wait()
        return await visit(queue, what, visitors)

    monkeypatch.setattr(store, "visit", hangs)
    async with asyncio.timeout(20):
        assert (await service.leave(QUEUE, 1)).ticket_status.reason is Reason.LEFT
    answers.set()
    await service.close()
    await store.delete(other)


async def test_who_leaves_does_not_overtake_their_own_signs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await inside(store, 1)
    visit, act = store.visit, store.act
    begun, answers, done = asyncio.Event(), asyncio.Event(), []

    async def slow(queue: QueueId, what: Visit, visitors: Sequence[Visitor]) -> object:
        if what == "touch":
            begun.set()
            await answers.wait()
            done.append("touch")
        return await visit(queue, what, visitors)

    async def noted(*asked: Any) -> object:
        done.append("act")
        return await act(*asked)

    monkeypatch.setattr(store, "visit", slow)
    monkeypatch.setattr(store, "act", noted)
    await service.visit(QUEUE, 1, "me")
    await begun.wait()
    leaving = asyncio.ensure_future(service.leave(QUEUE, 1))
    for _ in range(100):  # it has every chance to go ahead
        await asyncio.sleep(0)
    answers.set()
    await leaving
    assert done == ["touch", "act"]
    assert await views(store) == 1
    await service.close()


async def waiting(store: Store, **settings: object) -> Fairline:
    """A service in whose queue one person waits."""
    service = Fairline(store, Keyring(b"x" * 32))
    await service.create(QUEUE, {"admission": "manual", **settings})
    await store.join(QUEUE, [Arrival()])
    return service


async def ticket_status(store: Store) -> TicketStatus:
    (found,) = (await store.status(QUEUE, [1])).items
    assert found
    return found


async def deadline(store: Store) -> int:
    found = (await ticket_status(store)).deadline
    assert found is not None
    return found


async def test_a_heartbeat_is_written_within_about_a_second(store: Store) -> None:
    service = await waiting(store)
    before = await deadline(store)
    assert (await service.heartbeat(QUEUE, 1)).ticket_status.position == 1

    async def has_moved() -> bool:
        return await deadline(store) > before

    await until(has_moved)
    before = await deadline(store)
    await service.heartbeat(QUEUE, 1)
    await service.close()
    assert await deadline(store) > before


async def test_the_heartbeats_of_a_second_are_one_call(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await waiting(store)
    await store.join(QUEUE, [Arrival()] * 9)
    keep, kept = store.record_heartbeats, []

    async def counted(queue: QueueId, numbers: Sequence[int]) -> None:
        kept.append(sorted(numbers))
        await keep(queue, numbers)

    monkeypatch.setattr(store, "record_heartbeats", counted)
    for number in (*range(1, 11), *range(1, 11)):
        await service.heartbeat(QUEUE, number)
    await service.close()
    assert kept == [list(range(1, 11))]


@pytest.mark.parametrize(
    ("interval", "timeout", "grace"),
    [pytest.param(1, 3, 1, id="about to lapse"), pytest.param(10, 14, 0, id="lapses before the next sign")],
)
async def test_a_place_that_hangs_on_this_sign_is_kept_at_once(
    store: Store, interval: float, timeout: float, grace: float
) -> None:
    service = await waiting(
        store, heartbeat_interval_seconds=interval, heartbeat_timeout_seconds=timeout, grace_seconds=grace
    )
    joined, before = (await ticket_status(store)).joined, await deadline(store)

    async def is_later() -> bool:
        return (await store.snapshot(QUEUE)).now > joined

    await until(is_later)
    told = (await service.heartbeat(QUEUE, 1)).ticket_status.deadline
    assert before < await deadline(store) == told
    await service.close()


async def test_who_comes_back_after_closing_the_page_is_back_at_once(store: Store) -> None:
    service = await waiting(store)
    await service.unload(QUEUE, 1)
    assert (await ticket_status(store)).leaving
    assert not (await service.heartbeat(QUEUE, 1)).ticket_status.leaving
    assert not (await ticket_status(store)).leaving
    await service.close()


async def test_who_closes_the_page_just_after_a_heartbeat_has_closed_it(store: Store) -> None:
    service = await waiting(store)
    await service.heartbeat(QUEUE, 1)
    await service.unload(QUEUE, 1)
    before = await deadline(store)
    await service.close()  # writes the heartbeat
    assert ((await ticket_status(store)).leaving, await deadline(store)) == (True, before)


async def test_who_has_all_the_time_in_the_world_costs_no_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    service = await waiting(store, heartbeat_timeout_seconds=0)

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be written")

    monkeypatch.setattr(store, "heartbeat", never)
    assert (await service.heartbeat(QUEUE, 1)).ticket_status.position == 1
    await service.close()
