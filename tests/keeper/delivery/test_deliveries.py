"""Deliveries on both stores: whatever the receiver does, everything arrives or is said to be given up, and the line
goes on."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections import Counter

import pytest
from structlog.testing import capture_logs

from fairline.domain.queue import QueueId
from fairline.domain.webhook import Topic
from fairline.errors import DeliveryNotFound
from fairline.keeper import dispatch
from fairline.keeper.delivery import AT_ONCE, DeliveryWorker, Outcome, RetryPolicy
from fairline.keeper.dispatch import Dispatch
from fairline.store import Delivery, DeliveryState, NewDelivery, Store
from fairline.store.postgres import client as postgres
from fairline.store.valkey import client as valkey
from fairline.store.valkey.keys import key
from fairline.web.admin.webhook_manager import WebhookManager
from tests.backends import OWNERS
from tests.keeper.delivery.hooks import QUICK, counts_of, holds, hook_for, join, kept, service_of
from tests.receiver import FINE, Answer, Letter, Receiver
from tests.web.inside import until


async def test_a_receiver_that_was_down_gets_everything_once_it_is_back(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store, 2, retry_policy=RetryPolicy(tries=12, first=0.05, factor=1.5, most=0.3)) as outcomes:
        await join(store, queue, 30)
        await until(lambda: outcomes["retried"] >= 40)
        assert await counts_of(store, hook) == (30, 0)
        page = await store.outbox.deliveries(hook.id, DeliveryState.PENDING, None, 100)
        assert "no connection" in {each.error[:13] for each in page.deliveries}
        receiver.up()
        await holds(store, hook, 0, 0)
    assert len(receiver.ids) == len(set(receiver.ids)) == outcomes["sent"] == 30
    assert outcomes["dead"] == 0


async def test_one_that_fails_is_tried_as_often_as_promised_then_kept_and_can_be_replayed(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    manager = WebhookManager(store, private=True)
    hook = await hook_for(store, receiver, queue)
    receiver.answer = lambda _: (500, {}, b"our database password is hunter2")
    with capture_logs() as logs:
        async with kept(store, 2) as outcomes:
            await join(store, queue, 3)
            await holds(store, hook, 0, 3)
            assert set(Counter(receiver.ids).values()) == {QUICK.tries}
            await until(lambda: outcomes == {"retried": 9, "dead": 3})  # answered once the store has recorded it
            page = await manager.deliveries(hook.id, DeliveryState.DEAD, None, 10)
            assert {(each.error, each.tries) for each in page.deliveries} == {("answered 500", QUICK.tries)}
            receiver.answer = lambda _: FINE
            first = page.deliveries[0].id
            await manager.replay(hook.id, first)
            await holds(store, hook, 0, 2)
            assert receiver.ids[-1] == first
            with pytest.raises(DeliveryNotFound):
                await manager.replay(hook.id, first)
            assert await manager.replay_all(hook.id) == 2
            await holds(store, hook, 0, 0)
    assert len(set(receiver.ids)) == 3
    assert len({letter.body for letter in receiver.letters}) == 3  # a try is like the one before it, to the byte
    assert "hunter2" not in str(logs)
    assert {log["event"] for log in logs} >= {"delivery.retried", "delivery.dead"}


async def test_gone_is_gone_at_once(store: Store, queue: QueueId, receiver: Receiver) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.answer = lambda _: (410, {}, b"")
    async with kept(store):
        await join(store, queue)
        await holds(store, hook, 0, 1)
    assert len(receiver.letters) == 1


async def test_a_receiver_that_asks_for_a_pause_gets_it(store: Store, queue: QueueId, receiver: Receiver) -> None:
    times: list[float] = []

    def busy(_: Letter) -> Answer:
        times.append(time.monotonic())
        return (503, {"retry-after": "1"}, b"") if len(times) == 1 else FINE

    receiver.answer = busy
    hook = await hook_for(store, receiver, queue)
    async with kept(store, retry_policy=RetryPolicy(first=0.01)):
        await join(store, queue)
        await until(lambda: len(times) == 2)
        await holds(store, hook, 0, 0)
    assert times[1] - times[0] >= 1


async def test_a_slow_receiver_is_not_crowded_and_the_line_does_not_notice(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue, Topic.JOINED)
    quick = Receiver()
    receiver.gate.clear()
    fast = await hook_for(store, quick, queue, Topic.JOINED)
    async with kept(store):
        for _ in range(20):
            await join(store, queue, 5)
            assert len((await store.admit(queue, 5)).items) == 5
        await holds(store, fast, 0, 0)  # one receiver does not wait for another
        await until(lambda: len(quick.letters) == 100)
        assert await counts_of(store, hook) == (100, 0)
        await until(lambda: receiver.most_at_once == AT_ONCE)
        receiver.gate.set()
        await holds(store, hook, 0, 0)
        assert len(set(receiver.ids)) == len(receiver.ids) == 100
    quick.down()


async def test_a_full_outbox_waits_and_nothing_is_missed(
    store: Store, queue: QueueId, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "PENDING", 12)
    monkeypatch.setattr(dispatch, "STEP", 10)
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store, retry_policy=RetryPolicy(first=0.1, factor=1)) as outcomes:
        await join(store, queue, 45)
        await until(lambda: outcomes["retried"] > 20)
        assert (await counts_of(store, hook)).pending <= 12
        receiver.up()
        await until(lambda: len(receiver.ids) == 45)
        await holds(store, hook, 0, 0)
    assert len(set(receiver.ids)) == 45


async def test_events_that_were_gone_too_soon_are_said(
    store: Store, backend: str, queue: QueueId, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "STEP", 10)
    hook = await hook_for(store, receiver, queue)
    missed: list[str] = []
    await join(store, queue, 5)
    await Dispatch(service_of(store), private=True, on_lost=missed.append).take()
    await join(store, queue, 30)
    await Dispatch(service_of(store), private=True, on_lost=missed.append).take()
    assert missed == []
    for _ in range(60):
        await join(store, queue, 1)
    await trim(backend, queue, 40)
    with capture_logs() as logs:
        await Dispatch(service_of(store), private=True, on_lost=missed.append).take()
    assert missed == ["webhook"]
    assert [log["box"] for log in logs if log["event"] == "delivery.events_lost"] == [hook.id]
    assert await counts_of(store, hook) == (75, 0)


async def trim(backend: str, queue: QueueId, keep: int) -> None:
    """What the store does by itself after 100,000 events."""
    if backend in OWNERS:
        async with await postgres.connect(OWNERS[backend]) as connection:
            await connection.execute(
                "DELETE FROM fairline.events e USING fairline.queues q, fairline.tallies c WHERE q.id = %s"
                " AND e.queue = q.key AND c.queue = q.key AND e.id <= c.event - %s",
                [queue, keep],
            )
        return
    client = valkey.connect(backend, 1)
    await client.xtrim(key(queue, "events"), maxlen=keep, approximate=False)
    await client.aclose()


DYING = """
import asyncio, sys
from fairline.keeper.delivery import DeliveryWorker
from fairline.keeper.webhooks import post
from fairline.store import open_store
from functools import partial

async def main(url, hook_id):
    store = await open_store(url)
    hook = await store.registry.webhook(hook_id)
    worker = DeliveryWorker(store.outbox, "webhook", round_seconds=0.02, claim_seconds=1)
    await worker.run(lambda: {hook.id: partial(post, hook, True)})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_a_killed_keeper_had_in_its_hands_is_sent_by_another(
    store: Store, backend: str, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.gate.clear()
    await join(store, queue, 3)
    await Dispatch(service_of(store), private=True).take()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, backend, hook.id)
    try:
        await until(lambda: len(receiver.letters) == 3)
    finally:
        process.kill()
        await process.wait()
    assert await counts_of(store, hook) == (3, 0)
    receiver.gate.set()
    async with kept(store):
        await holds(store, hook, 0, 0)
    assert Counter(Counter(receiver.ids).values()) == {2: 3}


async def test_a_channel_is_a_plain_function(store: Store) -> None:
    box, sent = secrets.token_hex(6), []
    await store.outbox.open(box, {})
    await store.outbox.take(box, QueueId("any"), None, "1", [NewDelivery("a", "Dear Ada"), NewDelivery("b", "?")], 10)

    async def by_pigeon(delivery: Delivery) -> Outcome:
        sent.append(delivery.payload)
        if delivery.payload == "?":
            raise ValueError("the pigeon does not understand")
        return Outcome(sent=True)

    delivery_worker = DeliveryWorker(store.outbox, "pigeon", retry_policy=RetryPolicy(tries=1))
    with capture_logs() as logs:
        await delivery_worker.round({box: by_pigeon})
        await delivery_worker.idle()
    assert sorted(sent) == ["?", "Dear Ada"]
    assert [log["event"] for log in logs] == ["delivery.failed", "delivery.dead"]
    assert (await store.outbox.counts([box])) == [(0, 1)]
    await store.outbox.drop(box)


def test_patience_is_what_is_promised() -> None:
    pauses = [RetryPolicy().pause(tries, None) for tries in range(1, 12)]
    assert 0.8 <= pauses[0] <= 1.2
    assert all(2880 <= pause <= 4320 for pause in pauses[-3:])
    assert 3 * 3600 < sum(pauses) < 5 * 3600
    assert RetryPolicy().pause(1, 90) == 90
    assert RetryPolicy().pause(1, 1e9) == 3600
