"""A server of the keepers' own, and so many stores on it as there are workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from fairline.store import Store, open_store
from tests.backends import FakeClock, Valkey
from tests.keeper.crew import OpenStores


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of these tests' own: a keeper keeps all queues of a store, and here they end with each test."""
    backend = Valkey(tmp_path_factory.mktemp("keepers"))
    yield backend.start()
    backend.stop()


@pytest.fixture
async def open_stores(url: str) -> AsyncIterator[OpenStores]:
    """Opens so many stores, each with connections of its own, as workers have."""
    opened: list[Store] = []

    async def open_many(count: int, clock: FakeClock | None = None) -> list[Store]:
        opened.extend([await open_store(url, clock=clock) for _ in range(count)])
        return opened[-count:]

    yield open_many
    for queue in await opened[0].queues():
        await opened[0].delete(queue)
    for store in opened:
        await store.close()
