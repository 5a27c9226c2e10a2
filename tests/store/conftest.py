"""What the contract suite asks for."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from fairline.domain.queue import queue_id
from fairline.domain.settings_checks import checked
from fairline.store import Store, open_store
from tests.backends import FakeClock
from tests.store.venue import OpenVenue, Venue

if TYPE_CHECKING:
    from tests.store.beside import StoreBesideModel

#: Where the two differ, the values are wanted.
pytest.register_assert_rewrite("tests.store.beside", "tests.store.both")


@pytest.fixture
def venue(store: Store, clock: FakeClock) -> OpenVenue:
    """Makes another queue with each call, with the settings given: `v = await venue(max_active=2)`."""

    async def make(**settings: Any) -> Venue:
        queue = queue_id(f"q-{secrets.token_hex(6)}")
        await store.create(queue, checked(settings))
        return Venue(store, queue, clock)

    return make


@pytest.fixture
def beside(backend: str) -> Iterator[Callable[[], StoreBesideModel]]:
    """Makes a new queue in the store, with a model that does the same."""
    from tests.store.beside import StoreBesideModel  # now that its assertions will say what they found

    clock = FakeClock()
    with asyncio.Runner() as runner:
        store = runner.run(open_store(backend, clock=clock))
        yield lambda: StoreBesideModel(store, clock, runner.run)
        runner.run(store.close())
