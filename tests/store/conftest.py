"""What the contract suite asks for."""

from __future__ import annotations

from typing import Any

import pytest

from fairline.store import Store
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.store.venue import OpenVenue, Venue

#: Where the two differ, the values are wanted.
pytest.register_assert_rewrite("tests.store.beside")


@pytest.fixture
def venue(store: Store, make_queue: MakeQueue, clock: FakeClock) -> OpenVenue:
    """Makes a queue with the settings given: `v = await venue(max_active=2)`."""

    async def make(**settings: Any) -> Venue:
        return Venue(store, await make_queue(**settings), clock)

    return make
