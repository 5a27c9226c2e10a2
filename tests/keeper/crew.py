"""Keepers at work, and what can be seen of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Status
from fairline.keeper.keeper import Keeper
from fairline.store import Arrival, Store
from tests.backends import PATIENCE_SECONDS

TICK, SWEEP = 0.1, 0.2

OpenStores: TypeAlias = Callable[..., Awaitable[list[Store]]]


@asynccontextmanager
async def running(*keepers: Keeper) -> AsyncIterator[None]:
    """Keepers at work; a keeper that ends by itself fails the test."""
    tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
    try:
        yield
        assert not [task for task in tasks if task.done()], "a keeper gave up"
    finally:
        for task in tasks:
            task.cancel()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*tasks, return_exceptions=True)


async def comes_true(condition: Callable[[], Awaitable[bool]], trouble: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, trouble
        await asyncio.sleep(0.02)


async def make(store: Store, queue: QueueId, people: int = 0, **settings: Any) -> QueueId:
    """A queue, and people who wait in it."""
    await store.create(queue, checked(settings))
    for first in range(0, people, 500):
        await store.join(queue, [Arrival()] * min(500, people - first))
    return queue


async def count_of(store: Store, queue: QueueId, status: Status) -> int:
    snapshot = await store.snapshot(queue)
    return {Status.WAITING: snapshot.waiting, Status.ADMITTED: snapshot.admitted, Status.ACTIVE: snapshot.active}[
        status
    ]


async def all_events(store: Store, queue: QueueId) -> list[Event]:
    return await store.events(queue, None, 100_000)


async def happened(store: Store, queue: QueueId, what: EventType) -> list[Event]:
    return [event for event in await all_events(store, queue) if event.type is what]
