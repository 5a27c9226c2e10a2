"""Names: what is no queue is told by every call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action
from fairline.errors import InvalidRequest, InvalidSettings, QueueExists, QueueNotFound
from fairline.service.fairline import Room
from tests.conftest import MakeQueue

BAD_NAMES = ["", " ", "a b", "a/b", "a{b}", "-a", ".a", "a" * 65, "a\n", "ä", "a\x00", "a:b", "*"]


async def test_a_queue_has_a_name_that_fits_into_keys_and_addresses(room: Room) -> None:
    for name in (*BAD_NAMES, "\ud800"):
        with pytest.raises(InvalidSettings, match="id: must be"):
            pytest.fail(f"{name!a} is taken: {await room.create(name, {})}")


async def test_a_queue_is_made_once(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(name="First")
    with pytest.raises(QueueExists):
        await room.create(queue, {"name": "Second"})
    assert (await room.settings(queue)).settings.name == "First"
    assert queue in await room.queues()


EVERY_CALL: dict[str, Callable[[Room, QueueId], Awaitable[object]]] = {
    "join": lambda room, queue: room.join(queue, JoinRequest(), Caller()),
    "beat": lambda room, queue: room.beat(queue, 1),
    "status": lambda room, queue: room.status(queue, 1),
    "unload": lambda room, queue: room.unload(queue, 1),
    "leave": lambda room, queue: room.leave(queue, 1),
    "look": lambda room, queue: room.look(queue, [1]),
    "start": lambda room, queue: room.start(queue, 1, "me"),
    "touch": lambda room, queue: room.touch(queue, 1, "me"),
    "visit": lambda room, queue: room.visit(queue, 1, "me"),
    "complete": lambda room, queue: room.complete(queue, 1),
    "call_next": lambda room, queue: room.call_next(queue),
    "call": lambda room, queue: room.call(queue, 1),
    "act": lambda room, queue: room.act(queue, Action.CANCEL, 1),
    "prioritise": lambda room, queue: room.prioritise(queue, 1, 1),
    "revoke": lambda room, queue: room.revoke(queue, 1, "abuse"),
    "issue_pass": lambda room, queue: room.issue_pass(queue, 1),
    "withdraw_pass": lambda room, queue: room.withdraw_pass(queue, "abc"),
    "passes": lambda room, queue: room.passes(queue),
    "configure": lambda room, queue: room.configure(queue, {"name": "x"}),
    "configure at a version": lambda room, queue: room.configure(queue, {"name": "x"}, 1),
    "set_stock": lambda room, queue: room.set_stock(queue, 1),
    "set_stock by a service": lambda room, queue: room.set_stock(queue, 1, told_by="https://shop.test/"),
    "version": lambda room, queue: room.version(queue),
    "settings": lambda room, queue: room.settings(queue),
    "delete": lambda room, queue: room.delete(queue),
    "delete at a version": lambda room, queue: room.delete(queue, 1),
    "history": lambda room, queue: room.history(queue, None, 10),
    "restore": lambda room, queue: room.restore(queue, 1),
    "view": lambda room, queue: room.view(queue),
    "ticket": lambda room, queue: room.ticket(queue, 1),
    "tickets": lambda room, queue: room.tickets(queue, None, None, 10),
    "tickets of someone": lambda room, queue: room.tickets(queue, None, None, 10, "Ada"),
    "events": lambda room, queue: room.events(queue, None),
    "last_event": lambda room, queue: room.last_event(queue),
    "stats": lambda room, queue: room.stats(queue),
    "hourly": lambda room, queue: room.hourly(queue),
}


async def test_a_queue_that_is_not_there_is_told_by_every_call(room: Room, queue: QueueId) -> None:
    for call, ask in EVERY_CALL.items():
        for _ in range(2):
            with pytest.raises(QueueNotFound, match=queue):
                pytest.fail(f"{call} is answered: {await ask(room, queue)}")
        assert queue not in await room.queues(), call


async def test_a_name_that_no_queue_can_have_is_refused_by_every_call(room: Room) -> None:
    for (call, ask), name in product(EVERY_CALL.items(), BAD_NAMES):
        with pytest.raises((QueueNotFound, InvalidRequest, InvalidSettings)):
            pytest.fail(f"{call} of {name!a} is answered: {await ask(room, QueueId(name))}")
