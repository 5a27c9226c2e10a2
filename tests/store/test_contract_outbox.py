"""The outbox: nothing that was taken is lost or put in twice, and a keeper that dies with a claim gives it back."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from fairline.domain.events import EventType
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.webhook import Topic, Webhook
from fairline.errors import InvalidRequest
from fairline.store import BoxCounts, Delivery, DeliveryState, NewDelivery, Store
from fairline.store.constants import DEAD_SECONDS
from tests.backends import FakeClock
from tests.conftest import MakeQueue, OpenStore

MANY = 1000
Q = QueueId("sale")


@pytest.fixture
async def box(store: Store) -> str:
    """An outbox that is open and empty."""
    name = secrets.token_hex(6)
    await store.outbox.open(name, {Q: "7"})
    return name


def new_deliveries(*ids: str) -> list[NewDelivery]:
    return [NewDelivery(each, f'{{"id":"{each}","name":"Zoë \N{PARTY POPPER}"}}') for each in ids]


async def put(store: Store, box: str, *ids: str) -> None:
    seen = await store.outbox.cursor(box, Q)
    assert await store.outbox.take(box, Q, seen, secrets.token_hex(4), new_deliveries(*ids), MANY)


async def claim(store: Store, box: str, at_most: int = MANY, seconds: float = 30) -> list[Delivery]:
    return await store.outbox.claim(box, at_most, seconds)


async def counts(store: Store, box: str) -> BoxCounts:
    (found,) = await store.outbox.counts([box])
    return found


async def test_what_is_taken_is_claimed_once_and_gone_when_it_was_sent(
    store: Store, box: str, clock: FakeClock
) -> None:
    assert await store.outbox.due([box]) == []
    await put(store, box, "a", "b")
    assert await store.outbox.due(["nobody", box]) == [box]
    first, second = await claim(store, box)
    assert (first.id, first.payload, "") == new_deliveries("a")[0]
    assert (first.tries, first.made, first.error, second.id) == (1, clock.now, "", "b")
    assert await claim(store, box) == []
    assert await store.outbox.due([box]) == []
    assert await store.outbox.settle_sent(box, first)
    assert not await store.outbox.settle_sent(box, first)
    assert await counts(store, box) == (1, 0)


async def test_the_cursor_begins_where_it_was_told_and_moves_with_what_is_taken(store: Store, box: str) -> None:
    outbox = store.outbox
    assert await outbox.cursor(box, Q) == "7"
    assert await outbox.cursor(box, QueueId("new")) is None
    assert not await outbox.take(box, Q, "6", "9", new_deliveries("a"), MANY)
    assert await outbox.take(box, Q, "7", "9", [], MANY)
    assert await outbox.cursor(box, Q) == "9"
    assert await outbox.take(box, QueueId("new"), None, "3", new_deliveries("a"), MANY)
    assert await counts(store, box) == (1, 0)
    await outbox.open(box, {Q: "1"})
    assert await outbox.cursor(box, Q) == "9"


async def test_of_many_who_take_the_same_events_one_does(store: Store, another_store: OpenStore, box: str) -> None:
    others = [store, await another_store(), await another_store()]
    taken = await asyncio.gather(
        *(each.outbox.take(box, Q, "7", "9", new_deliveries("a", "b"), MANY) for each in others for _ in range(4))
    )
    assert sorted(taken) == [False] * 11 + [True]
    assert await counts(store, box) == (2, 0)


async def test_no_two_claim_the_same(store: Store, another_store: OpenStore, box: str) -> None:
    await put(store, box, *(f"d{number:03}" for number in range(200)))
    others = [store, await another_store(), await another_store()]
    claimed = await asyncio.gather(*(claim(each, box, 10) for each in others for _ in range(8)))
    ids = [delivery.id for some in claimed for delivery in some]
    assert len(ids) == len(set(ids)) == 200


async def test_a_full_outbox_takes_no_more_and_its_cursor_waits(store: Store, box: str) -> None:
    assert await store.outbox.take(box, Q, "7", "9", new_deliveries("a", "b"), 3)
    assert not await store.outbox.take(box, Q, "9", "11", new_deliveries("c", "d"), 3)
    assert await store.outbox.cursor(box, Q) == "9"
    assert await store.outbox.take(box, Q, "9", "10", new_deliveries("c"), 3)
    assert await store.outbox.take(box, Q, "10", "12", [], 3)


async def test_a_claim_of_the_dead_comes_back(store: Store, box: str, clock: FakeClock) -> None:
    await put(store, box, "a")
    (lost,) = await claim(store, box, seconds=30)
    clock.advance(29)
    assert await claim(store, box) == []
    clock.advance(2)
    (again,) = await claim(store, box)
    assert (again.id, again.payload, again.tries) == ("a", lost.payload, 2)
    # A keeper that was only slow has no say any more.
    assert not await store.outbox.settle_dead(box, lost, "late")
    assert not await store.outbox.settle_sent(box, lost)
    assert await store.outbox.settle_sent(box, again)
    assert await counts(store, box) == (0, 0)


async def test_those_of_one_thread_are_tried_one_after_the_other(store: Store, box: str, clock: FakeClock) -> None:
    outbox = store.outbox

    async def put_in(*ids: str, thread: str = "sale 1") -> None:
        seen = await outbox.cursor(box, Q)
        some = [new_delivery._replace(thread=thread) for new_delivery in new_deliveries(*ids)]
        assert await outbox.take(box, Q, seen, secrets.token_hex(4), some, MANY)

    async def claimed() -> list[Delivery]:
        return await claim(store, box)

    await put_in("c", "b")
    await put_in("z", thread="sale 2")
    await put_in("a")
    first, other = await claimed()
    assert (first.id, other.id) == ("c", "z"), "nobody else waits for them"
    assert await outbox.due([box]) == []
    assert await outbox.settle_retry(box, first, 3600, "answered 500")
    (second,) = await claimed()
    assert second.id == "b", "one that failed holds up nothing"
    assert await outbox.settle_sent(box, second)
    (third,) = await claimed()
    assert third.id == "a"
    assert await outbox.settle_dead(box, third, "answered 410")
    await put_in("d")
    assert [each.id for each in await claimed()] == ["d"], "there is nobody left to wait for"
    # A keeper that died with one does not keep the next one back for long.
    await put_in("e")
    clock.advance(25)
    (late,) = await claimed()
    assert late.id == "e"
    clock.advance(10)
    again = next(each for each in await claimed() if each.id == "d")
    assert await outbox.settle_sent(box, again)
    assert await claimed() == [], "what is on its way is not sent twice"


async def test_what_failed_is_due_again_after_its_pause(store: Store, box: str, clock: FakeClock) -> None:
    await put(store, box, "a", "b")
    first, second = await claim(store, box)
    assert await store.outbox.settle_retry(box, first, 60, "answered 500")
    assert await store.outbox.settle_retry(box, second, 10, "no\nanswer")
    clock.advance(11)
    assert [(each.id, each.error) for each in await claim(store, box)] == [("b", "no\nanswer")]
    clock.advance(50)
    assert ("a", 2, "answered 500") in [(each.id, each.tries, each.error) for each in await claim(store, box)]


async def test_what_is_given_up_is_listed_and_can_be_replayed(store: Store, box: str, clock: FakeClock) -> None:
    await put(store, box, "a", "b", "c")
    for delivery in await claim(store, box):
        assert await store.outbox.settle_dead(box, delivery, "answered 410")
        clock.advance(1)
    assert await counts(store, box) == (0, 3)
    assert await claim(store, box) == []
    page = await store.outbox.deliveries(box, DeliveryState.DEAD, None, 2)
    assert [(each.id, each.error, each.at) for each in page.deliveries] == [
        ("a", "answered 410", clock.now - 3000),
        ("b", "answered 410", clock.now - 2000),
    ]
    rest = await store.outbox.deliveries(box, DeliveryState.DEAD, page.cursor, 2)
    assert ([each.id for each in rest.deliveries], rest.cursor) == (["c"], None)
    full = await store.outbox.deliveries(box, DeliveryState.DEAD, None, 3)
    assert (len(full.deliveries), full.cursor) == (3, None), "a full page with nothing behind it is the last"
    assert await store.outbox.replay(box, MANY, one="b") == 1
    assert await store.outbox.replay(box, MANY, one="b") == 0
    assert await store.outbox.replay(box, MANY, before=clock.now - 2000) == 1
    assert await store.outbox.replay(box, MANY) == 1
    assert [(each.id, each.tries) for each in await claim(store, box)] == [("a", 1), ("b", 1), ("c", 1)]


async def test_what_was_given_up_long_ago_is_cleared_away(store: Store, box: str, clock: FakeClock) -> None:
    await put(store, box, "a")
    (delivery,) = await claim(store, box)
    await store.outbox.settle_dead(box, delivery, "gone")
    clock.advance(DEAD_SECONDS - 1)
    await claim(store, box)
    assert await counts(store, box) == (0, 1)
    clock.advance(2)
    await claim(store, box)
    assert await counts(store, box) == (0, 0)
    await put(store, box, "a")  # nothing of it is left
    assert await counts(store, box) == (1, 0)


async def test_of_the_dead_the_newest_are_kept(
    store: Store, box: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairline.store.settling.DEAD_KEPT", 2)
    await put(store, box, "a", "b", "c", "d")
    for delivery in await claim(store, box):
        await store.outbox.settle_dead(box, delivery, "gone")
        clock.advance(1)
    page = await store.outbox.deliveries(box, DeliveryState.DEAD, None, 10)
    assert [each.id for each in page.deliveries] == ["c", "d"]


async def test_pages_of_what_is_due_at_one_moment_miss_nothing(store: Store, box: str) -> None:
    ids = [f"d{number:03}" for number in range(25)]
    await put(store, box, *ids)
    seen: list[str] = []
    cursor = None
    while True:
        page = await store.outbox.deliveries(box, DeliveryState.PENDING, cursor, 10)
        seen += [each.id for each in page.deliveries]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ids
    with pytest.raises(InvalidRequest):
        await store.outbox.deliveries(box, DeliveryState.PENDING, "nonsense", 10)


async def test_one_that_was_dropped_takes_nothing_any_more(store: Store, box: str) -> None:
    await put(store, box, "a")
    (delivery,) = await claim(store, box)
    await store.outbox.drop(box)
    assert not await store.outbox.settle_retry(box, delivery, 1, "late")
    assert not await store.outbox.take(box, Q, None, "9", new_deliveries("b"), MANY)
    assert await store.outbox.replay(box, MANY) == 0
    assert await counts(store, box) == (0, 0)


async def test_a_recreated_queue_is_read_from_its_first_event(store: Store, make_queue: MakeQueue, box: str) -> None:
    queue = await make_queue()
    for _ in range(30):  # an old and a new queue may well have events in one millisecond
        for version in range(3):
            found = await store.settings(queue)
            await store.configure(queue, QueueSettings(name=str(version)), found.version)
        last = await store.last_event(queue)
        assert await store.outbox.take(box, queue, await store.outbox.cursor(box, queue), last, [], MANY)
        assert not await store.events_lost(queue, last)
        await store.delete(queue)
        await store.create(queue, QueueSettings())
        events = await store.events(queue, await store.outbox.cursor(box, queue), 10)
        assert [event.type for event in events] == [EventType.QUEUE_CREATED]


async def test_a_webhook_is_kept_as_it_was_given(store: Store, another_store: OpenStore) -> None:
    hooks = [
        Webhook(
            id=secrets.token_hex(6),
            url="https://example.com/é?a=%20",
            queue=QueueId("sale") if number else None,
            events=(Topic.CALLED, Topic.NOTICE) if number else (),
            include_person=bool(number),
            active=not number,
            secret="s",
            created=20 - number,
        )
        for number in range(2)
    ]
    for hook in hooks:
        await store.registry.put_webhook(hook)
    registry = (await another_store()).registry
    assert [hook for hook in await registry.webhooks() if hook in hooks] == hooks[::-1]
    assert await registry.webhook(hooks[0].id) == hooks[0]
    assert await registry.webhook("none") is None
    assert await registry.remove_webhook(hooks[0].id)
    assert not await registry.remove_webhook(hooks[0].id)
    assert hooks[0] not in await registry.webhooks()
    await registry.remove_webhook(hooks[1].id)
