"""What every operation answers: that a queue is not there, that a batch is too large; and by which clock it goes."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairline.domain.queue import QueueId, queue_id
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action, Status, Went
from fairline.errors import InvalidRequest, QueueNotFound
from fairline.store import MAX_BATCH, Arrival, Drawn, EstimateSample, Joined, Store, open_store
from tests.store.venue import OpenVenue

OPERATIONS: dict[str, Callable[[Store, QueueId], Awaitable[object]]] = {
    "settings": lambda s, q: s.settings(q),
    "version": lambda s, q: s.version(q),
    "configure": lambda s, q: s.configure(q, QueueSettings(), 1),
    "history": lambda s, q: s.history(q, None, 1),
    "delete": lambda s, q: s.delete(q),
    "delete at a version": lambda s, q: s.delete(q, 1),
    "snapshot": lambda s, q: s.snapshot(q),
    "join": lambda s, q: s.join(q, [Arrival(client=b"me")]),
    "heartbeat": lambda s, q: s.heartbeat(q, [1]),
    "record_heartbeats": lambda s, q: s.record_heartbeats(q, [1]),
    "status": lambda s, q: s.status(q, [1]),
    "look_up": lambda s, q: s.look_up(q, [1]),
    "unload": lambda s, q: s.unload(q, [1]),
    "record_estimates": lambda s, q: s.record_estimates(q, [EstimateSample(1, 1, 1, 1)]),
    "missed": lambda s, q: s.missed(q, 1, 1),
    "on_hold": lambda s, q: s.on_hold(q, 1),
    "step_back": lambda s, q: s.step_back(q, 1, 1),
    "note_nearly": lambda s, q: s.note_nearly(q, 1),
    "group": lambda s, q: s.group(q, 1),
    "rebind": lambda s, q: s.rebind(q, 1, 1, 0, b"c"),
    "transfer": lambda s, q: s.transfer(q, 1, Went("other", 1, 1, "R")),
    "close_day": lambda s, q: s.close_day(q, 1, 1),
    "set_desk": lambda s, q: s.set_desk(q, "A", is_open=True),
    "desks": lambda s, q: s.desks(q),
    "arriving": lambda s, q: s.arriving(q, 1),
    "desk_tallies": lambda s, q: s.desk_tallies(q),
    "prioritise": lambda s, q: s.prioritise(q, 1, 1),
    "admit": lambda s, q: s.admit(q, 1),
    "call_next": lambda s, q: s.call_next(q, 1, key=b"k"),
    "visit": lambda s, q: s.visit(q, "visit", [(1, b"me")]),
    "act": lambda s, q: s.act(q, Action.LEAVE, [1]),
    "revoke": lambda s, q: s.revoke(q, 1, "why"),
    "revoked": lambda s, q: s.revoked(q),
    "sweep": lambda s, q: s.sweep(q, 1),
    "limit": lambda s, q: s.limit(q, "ip:1", "try", 1, 60),
    "issue_priority_pass": lambda s, q: s.issue_priority_pass(q, "vip", 1, 1, 60),
    "passes": lambda s, q: s.passes(q),
    "withdraw_priority_pass": lambda s, q: s.withdraw_priority_pass(q, "vip"),
    "tickets": lambda s, q: s.tickets(q, None, None, 1),
    "events": lambda s, q: s.events(q, None, 1),
    "calls": lambda s, q: s.calls(q, 1),
    "last_event": lambda s, q: s.last_event(q),
    "events_lost": lambda s, q: s.events_lost(q, "1"),
    "stats": lambda s, q: s.stats(q),
    "hourly": lambda s, q: s.hourly(q),
    "report": lambda s, q: s.report(q, None, None),
    "series": lambda s, q: s.series(q, 1, 60),
    "freeze_draw": lambda s, q: s.freeze_draw(q, "op"),
    "draw_members": lambda s, q: s.draw_members(q, 0, 10),
    "place_drawn": lambda s, q: s.place_drawn(q, "op", [Drawn(1, 1.0, 1)]),
    "keep_draw": lambda s, q: s.keep_draw(q, "op", {"part": b"x"}),
    "draw_parts": lambda s, q: s.draw_parts(q, "op", ["part"]),
    "forget_draws": lambda s, q: s.forget_draws(q, ["op"]),
}


def test_all_operations_on_a_queue_are_tried_here() -> None:
    methods = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")}
    assert methods - {"close", "time", "queues", "newest_events", "create"} == {
        name.partition(" ")[0] for name in OPERATIONS
    }


async def test_every_operation_says_that_a_queue_is_not_there(store: Store, queue: QueueId) -> None:
    for name, operation in OPERATIONS.items():
        nowhere = queue_id(f"{queue}-{name.replace(' ', '-')}")
        with pytest.raises(QueueNotFound, match=nowhere):
            pytest.fail(f"{name} gave {await operation(store, nowhere)}")
        await store.create(nowhere, QueueSettings())  # and has left nothing behind
        assert await store.passes(nowhere) == [], name
        assert (await store.tickets(nowhere, None, None, 10)).tickets == [], name


async def test_without_a_clock_of_our_own_the_servers_decides(backend: str, queue: QueueId) -> None:
    store = await open_store(backend)
    try:
        before = time.time() * 1000
        await store.create(queue, QueueSettings(heartbeat_timeout_seconds=60, grace_seconds=30))
        (joined,) = (await store.join(queue, [Arrival()])).items
        assert isinstance(joined, Joined)
        now = await store.time()
        after = time.time() * 1000
        (created, *_) = await store.events(queue, None, 10)
    finally:
        await store.close()
    seen = [created.at, joined.ticket.joined, now]
    assert seen == sorted(seen)
    assert before - 1 <= seen[0] <= seen[-1] <= after + 1
    assert joined.ticket.deadline == joined.ticket.joined + 90_000


async def test_the_clock_that_was_passed_in_decides(venue: OpenVenue) -> None:
    v = await venue()
    v.clock.advance(12.345)
    assert await v.store.time() == v.clock()
    assert (await v.store.snapshot(v.queue)).now == v.clock()
    assert (await v.join()).ticket.joined == v.clock()


BATCHES: dict[str, Callable[[Store, QueueId, int], Awaitable[object]]] = {
    "join": lambda s, q, n: s.join(q, [Arrival()] * n),
    "heartbeat": lambda s, q, n: s.heartbeat(q, [1] * n),
    "record_heartbeats": lambda s, q, n: s.record_heartbeats(q, [1] * n),
    "status": lambda s, q, n: s.status(q, [1] * n),
    "look_up": lambda s, q, n: s.look_up(q, [1] * n),
    "unload": lambda s, q, n: s.unload(q, [1] * n),
    "visit": lambda s, q, n: s.visit(q, "visit", [(2, b"me")] * n),
    "act": lambda s, q, n: s.act(q, Action.LEAVE, [1] * n),
}


async def test_a_batch_that_is_too_large_is_refused_whole(venue: OpenVenue) -> None:
    v = await venue()
    await v.join()
    await v.one(Status.ADMITTED)
    before = await v.everything()
    for name, operation in BATCHES.items():
        with pytest.raises(InvalidRequest, match="1,000"):
            pytest.fail(f"{name} gave {await operation(v.store, v.queue, MAX_BATCH + 1)}")
        assert await v.everything() == before, name


async def test_the_largest_batch_is_answered_for_each(venue: OpenVenue) -> None:
    for name, operation in BATCHES.items():
        v = await venue(join_limit_per_ip=0)
        await v.join()
        await v.one(Status.ADMITTED)
        reply: Any = await operation(v.store, v.queue, MAX_BATCH)
        assert name == "record_heartbeats" or len(reply.items) == MAX_BATCH, name
