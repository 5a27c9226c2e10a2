"""Names: every call says that a queue does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action
from fairline.errors import InvalidRequest, InvalidSettings, QueueExists, QueueNotFound
from fairline.service.fairline import Fairline
from tests.conftest import MakeQueue

BAD_NAMES = ["", " ", "a b", "a/b", "a{b}", "-a", ".a", "a" * 65, "a\n", "ä", "a\x00", "a:b", "*"]


async def test_a_queue_has_a_name_that_fits_into_keys_and_addresses(service: Fairline) -> None:
    for name in (*BAD_NAMES, "\ud800"):
        with pytest.raises(InvalidSettings, match="id: must be"):
            pytest.fail(f"{name!a} is taken: {await service.create(name, {})}")


async def test_a_queue_is_made_once(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(name="First")
    with pytest.raises(QueueExists):
        await service.create(queue, {"name": "Second"})
    assert (await service.settings(queue)).settings.name == "First"
    assert queue in await service.queues()


EVERY_CALL: dict[str, Callable[[Fairline, QueueId], Awaitable[object]]] = {
    "join": lambda service, queue: service.join(queue, JoinRequest(), Caller()),
    "heartbeat": lambda service, queue: service.heartbeat(queue, 1),
    "status": lambda service, queue: service.status(queue, 1),
    "unload": lambda service, queue: service.unload(queue, 1),
    "close_page": lambda service, queue: service.close_page(queue, 1),
    "leave": lambda service, queue: service.leave(queue, 1),
    "look_up": lambda service, queue: service.statuses(queue, [1]),
    "start": lambda service, queue: service.start(queue, 1, "me"),
    "touch": lambda service, queue: service.touch(queue, 1, "me"),
    "visit": lambda service, queue: service.visit(queue, 1, "me"),
    "complete": lambda service, queue: service.complete(queue, 1),
    "call_next": lambda service, queue: service.call_next(queue),
    "call": lambda service, queue: service.call(queue, 1),
    "act": lambda service, queue: service.act(queue, Action.CANCEL, 1),
    "prioritise": lambda service, queue: service.prioritise(queue, 1, 1),
    "revoke": lambda service, queue: service.revoke(queue, 1, "abuse"),
    "issue_priority_pass": lambda service, queue: service.issue_priority_pass(queue, 1),
    "withdraw_priority_pass": lambda service, queue: service.withdraw_priority_pass(queue, "abc"),
    "passes": lambda service, queue: service.passes(queue),
    "configure": lambda service, queue: service.configure(queue, {"name": "x"}),
    "configure at a version": lambda service, queue: service.configure(queue, {"name": "x"}, 1),
    "set_stock": lambda service, queue: service.set_stock(queue, 1),
    "set_stock by a service": lambda service, queue: service.set_stock(queue, 1, source_url="https://shop.test/"),
    "version": lambda service, queue: service.version(queue),
    "settings": lambda service, queue: service.settings(queue),
    "delete": lambda service, queue: service.delete(queue),
    "delete at a version": lambda service, queue: service.delete(queue, 1),
    "history": lambda service, queue: service.history(queue, None, 10),
    "restore": lambda service, queue: service.restore(queue, 1),
    "snapshot": lambda service, queue: service.snapshot(queue),
    "ticket": lambda service, queue: service.ticket(queue, 1),
    "tickets": lambda service, queue: service.tickets(queue, None, None, 10),
    "tickets of someone": lambda service, queue: service.tickets(queue, None, None, 10, "Ada"),
    "events": lambda service, queue: service.events(queue, None),
    "last_event": lambda service, queue: service.last_event(queue),
    "stats": lambda service, queue: service.stats(queue),
    "hourly": lambda service, queue: service.hourly(queue),
}


async def test_a_queue_that_is_not_there_is_told_by_every_call(service: Fairline, queue: QueueId) -> None:
    for call, ask in EVERY_CALL.items():
        for _ in range(2):
            with pytest.raises(QueueNotFound, match=queue):
                pytest.fail(f"{call} is answered: {await ask(service, queue)}")
        assert queue not in await service.queues(), call


async def test_a_name_that_no_queue_can_have_is_refused_by_every_call(service: Fairline) -> None:
    for (call, ask), name in product(EVERY_CALL.items(), BAD_NAMES):
        with pytest.raises((QueueNotFound, InvalidRequest, InvalidSettings)):
            pytest.fail(f"{call} of {name!a} is answered: {await ask(service, QueueId(name))}")
