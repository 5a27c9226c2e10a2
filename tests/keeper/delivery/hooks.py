"""Webhooks and the keepers that deliver them, on a store of the test's."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Person
from fairline.domain.tokens import Keyring
from fairline.domain.webhook import Topic, Webhook
from fairline.keeper.delivery import RetryPolicy
from fairline.keeper.dispatch import Dispatch
from fairline.service.fairline import Fairline
from fairline.store import Arrival, BoxCounts, Store
from fairline.web.admin.webhook_manager import WebhookManager
from tests.receiver import Receiver
from tests.web.inside import until

#: As patient as a test can be.
QUICK = RetryPolicy(tries=4, first=0.05, factor=2, most=0.2)


async def hook_for(
    store: Store, receiver: Receiver, queue: QueueId | None, *events: Topic, person: bool = False
) -> Webhook:
    return await WebhookManager(store, private=True).create(receiver.url, queue, events, person, active=True)


def service_of(store: Store) -> Fairline:
    return Fairline(store, Keyring(b"a secret of the tests"))


@asynccontextmanager
async def at_work(*keepers: Dispatch) -> AsyncIterator[None]:
    """Keepers deliver from the outboxes until the block ends."""
    tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
    try:
        yield
    finally:  # also where a test fails: they would take what the next one has to send
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@asynccontextmanager
async def kept(store: Store, keepers: int = 1, **options: Any) -> AsyncIterator[Counter[str]]:
    """This many keepers deliver the webhooks; counts what became of the tries."""
    outcomes: Counter[str] = Counter()
    given = {"private": True, "round_seconds": 0.02, "retry_policy": QUICK, **options}

    def note(_: str, became: str) -> None:
        outcomes[became] += 1

    async with at_work(*(Dispatch(service_of(store), on_outcome=note, **given) for _ in range(keepers))):
        yield outcomes


async def join(store: Store, queue: QueueId, count: int = 1, **person: Any) -> None:
    await store.join(queue, [Arrival(person=Person(**person))] * count)


async def counts_of(store: Store, hook: Webhook) -> BoxCounts:
    (counts,) = await store.outbox.counts([hook.id])
    return counts


async def holds(store: Store, hook: Webhook, pending: int, dead: int) -> None:
    async def does() -> bool:
        return await counts_of(store, hook) == (pending, dead)

    await until(does)
