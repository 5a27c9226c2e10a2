"""Servers that speak the same as one of the two main stores: on each of them every script runs, and every history goes
as it does in the model. All else that the stores promise is tried on them with `FAIRLINE_LONG=1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis.asyncio import RedisCluster

from fairline.domain.order import SPAN
from fairline.domain.queue import queue_id
from fairline.domain.ticket import Action, Came, Went
from fairline.store import AuditedAction, Drawn, EstimateSample, NewDelivery, Role, ServerSeen, Store, Visitor
from fairline.store.outbox import DeliveryState
from fairline.store.valkey.scripts import script
from fairline.store.valkey.store import ValkeyStore
from tests.store.beside import StoreBesideModel
from tests.store.histories import HISTORIES
from tests.store.lua import OPERATIONS
from tests.store.venue import VISITOR, OpenVenue, Venue

#: This many are spread over all nodes of a cluster.
QUEUES = 9


def test_no_server_differs_from_the_model_in_these_histories(beside: Callable[[], StoreBesideModel]) -> None:
    for name, history in HISTORIES.items():
        both = beside()
        try:
            for do, *arguments in history:
                do(both, *arguments)
                both.all_is_well()
            both.teardown()
        except AssertionError as failed:
            failed.add_note(f"in the history: {name}")
            raise


async def test_every_script_runs_on_every_server(venue: OpenVenue, store: Store) -> None:
    await on_each_node(store, "SCRIPT", "FLUSH")
    for _ in range(QUEUES):
        v = await venue(admission="manual", heartbeat_timeout_seconds=60, join_limit_per_ip=10)
        await a_day(v)
        await a_draw(v)
        await store.delete(v.queue)
    await what_is_delivered(store)
    await what_belongs_to_the_server(store)
    assert await scripts_not_run(store) == []


async def test_queues_are_found_on_whatever_node_they_are(venue: OpenVenue, store: Store) -> None:
    made = [(await venue()).queue for _ in range(QUEUES)]
    assert await store.queues() == sorted(made)
    newest = await store.newest_events()
    assert newest == {queue: await store.last_event(queue) for queue in sorted(made)}
    for queue in made[::2]:
        await store.delete(queue)
    assert await store.queues() == [*await store.newest_events()] == sorted(made[1::2])


async def a_day(v: Venue) -> None:
    """Something of everything happens to a queue."""
    store, queue = v.store, v.queue
    await store.issue_priority_pass(queue, "vip", 2, 1, 60)
    await v.join(client=b"me", address=b"home", key=b"k", fingerprint=b"f")
    await v.joins(9)
    assert (await v.join(pass_id="vip")).ticket.number == 11
    await store.heartbeat(queue, [1, 2])
    await store.record_heartbeats(queue, [1, 2])
    await store.unload(queue, [3])
    await store.record_estimates(queue, [EstimateSample(1, 60, 30, 90)])
    assert await store.note_nearly(queue, 3)
    assert (await store.prioritise(queue, 8, 3)).position == 1
    assert (await store.step_back(queue, 8, 1)).position == 2
    assert await store.group(queue, 1) is not None
    await store.rebind(queue, 1, (await v.ticket(1)).joined, 0, b"mine")
    await v.join(on_hold=True, came=Came("elsewhere", 1, 1))
    assert [each.ticket.number for each in await store.arriving(queue, 10)] == [12]
    await store.transfer(queue, 9, Went("other", 7, 1, "ROTHER-000007"))
    await store.set_desk(queue, "A", is_open=True)
    called = await v.call(3, desk="A", key=b"press")
    assert called == await v.call(3, desk="A", key=b"press")
    await v.start(called[0])
    await store.visit(queue, "visit", [Visitor(called[0], VISITOR, 0)])
    await v.act(Action.COMPLETE, called[0])
    await v.act(Action.NO_SHOW, called[1])
    assert [ticket.number for ticket in await store.missed(queue, 0, 10)] == [called[1]]
    await v.act(Action.HOLD, called[2])
    await v.configure(admission="auto")
    assert len(await v.admit(1)) == 1
    await store.revoke(queue, 2, "abuse")
    assert await store.limit(queue, "ip:1", "verify", 1, 60) == 0
    assert await store.limit(queue, "ip:1", "verify", 1, 60) == 60
    assert await v.after(120)
    await store.close_day(queue, v.clock(), 100)
    assert len(await v.tickets()) == 12
    for reads in (v.everything, lambda: store.desks(queue), lambda: store.desk_tallies(queue, older=True)):
        assert await reads()
    assert (await store.report(queue, None, None)).totals.joined == 12
    assert await store.series(queue, 60_000, 5)
    assert await store.calls(queue, 10)
    assert len(await store.on_hold(queue, 10)) == 0


async def a_draw(v: Venue) -> None:
    """The order of three people is drawn."""
    numbers = await v.joins(3)
    frozen = await v.store.freeze_draw(v.queue, "op")
    found = await v.store.draw_members(v.queue, 0, 10)
    assert [each.number for each in found] == numbers
    assert await v.store.keep_draw(v.queue, "op", {"a": b"1"}, once=True) == {"a": b"1"}
    order = [Drawn(n, (frozen.first_turn + at) * SPAN, at + 1) for at, n in enumerate(reversed(numbers))]
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.line() == numbers[::-1]
    assert await v.store.draw_parts(v.queue, "op", ["a"]) == {"a": b"1"}
    await v.store.forget_draws(v.queue, ["op"])
    assert await v.store.draw_parts(v.queue, "op", ["a"]) == {}


async def what_is_delivered(store: Store) -> None:
    """An outbox from its opening to its end."""
    outbox, sale = store.outbox, queue_id("sale")
    await outbox.open("all-servers", {sale: "0"})
    assert await outbox.take("all-servers", sale, "0", "1", [NewDelivery(each, "{}") for each in ("a", "b", "c")], 10)
    assert await outbox.due(["all-servers"]) == ["all-servers"]
    first, second, third = await outbox.claim("all-servers", 10, 30)
    assert await outbox.settle_sent("all-servers", first)
    assert await outbox.settle_retry("all-servers", second, 60, "answered 503")
    assert await outbox.settle_dead("all-servers", third, "answered 410")
    dead = await outbox.deliveries("all-servers", DeliveryState.DEAD, None, 10)
    assert [each.id for each in dead.deliveries] == ["c"]
    assert await outbox.replay("all-servers", 10) == 1
    assert (await outbox.counts(["all-servers"]))[0]
    await outbox.drop("all-servers")


async def what_belongs_to_the_server(store: Store) -> None:
    """Its registry, which is no queue's."""
    registry = store.registry
    await registry.mark_alive("web", "one:1")
    assert "one:1" in [each.name for each in await registry.workers()]
    said = ServerSeen(name="one:1", role="web", secret="f" * 16, ahead_seconds=0.0)
    await registry.show_server(said)
    assert await registry.servers() == [said]
    assert await registry.rotate() == await registry.generation()
    await registry.record(AuditedAction(key="k", name="Ops", role=Role.OPERATOR, action="queue.created", queue="sale"))
    assert await registry.audit("sale", None, 1)
    assert await registry.limit("address:all", "sign-in", 1, 60) == 0
    assert await registry.limit("address:all", "sign-in", 1, 60) == 60


async def scripts_not_run(store: Store) -> list[str]:
    """The operations that no node of a Valkey or Redis knows."""
    known = await on_each_node(store, "SCRIPT", "EXISTS", *(script(name).sha for name in OPERATIONS))
    return [name for i, name in enumerate(OPERATIONS) if known and not any(each[i] for each in known)]


async def on_each_node(store: Store, *command: str) -> list[Any]:
    """What each node of a Valkey or Redis answers."""
    if not isinstance(store, ValkeyStore):
        return []
    client: Any = store._client
    nodes = client.get_primaries() if isinstance(client, RedisCluster) else [client]
    return [await node.execute_command(*command) for node in nodes]
