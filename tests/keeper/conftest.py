"""A Valkey server for the keepers alone, and a store on it for each worker."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.store import Store, open_store
from tests.backends import FakeClock
from tests.keeper.crew import OpenStores


@pytest.fixture
async def open_stores(module_valkey_url: str) -> AsyncIterator[OpenStores]:
    """Opens a number of stores, each with connections of its own, as workers have. A keeper serves every queue of a
    store, so these tests have a server to themselves."""
    opened: list[Store] = []

    async def open_many(count: int, clock: FakeClock | None = None) -> list[Store]:
        opened.extend([await open_store(module_valkey_url, clock=clock) for _ in range(count)])
        return opened[-count:]

    yield open_many
    for queue in await opened[0].queues():
        await opened[0].delete(queue)
    for store in opened:
        await store.close()
