"""What the contract suite asks for."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from fairline.queue import checked, queue_id
from fairline.store import Store
from tests.backends import FakeClock
from tests.store.venue import OpenVenue, Venue

#: Where the two differ, the values are wanted.
pytest.register_assert_rewrite("tests.store.beside")


@pytest.fixture
def venue(store: Store, clock: FakeClock) -> OpenVenue:
    """Makes another queue with each call, with the settings given: `v = await venue(max_active=2)`."""

    async def make(**settings: Any) -> Venue:
        queue = queue_id(f"q-{secrets.token_hex(6)}")
        await store.create(queue, checked(settings))
        return Venue(store, queue, clock)

    return make
