"""A room on a real Valkey, and others beside it, as workers are."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.aio.grouping import Grouping
from fairline.domain.tokens import Keyring
from fairline.service.fairline import Room
from fairline.store import Store, open_store
from fairline.store.valkey import client
from tests.backends import FakeClock
from tests.room.people import OpenRoom

SECRET = b"a secret that all workers share."


@pytest.fixture
async def open_room(valkey_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenRoom]:
    """Opens rooms on the same store, each with connections of its own, as workers are. They send nobody away, however
    busy the machine is."""
    monkeypatch.setitem(client._LIMITS, "socket_timeout", 60.0)
    rooms: list[Room] = []

    async def open_another() -> Room:
        rooms.append(Room(await open_store(valkey_url, clock=clock), Keyring(SECRET)))
        for each in vars(rooms[-1]).values():
            if isinstance(each, Grouping):
                each._patience = 60.0
        return rooms[-1]

    yield open_another
    for room in rooms:
        await room.close()
        await room.store.close()


@pytest.fixture
async def room(open_room: OpenRoom) -> Room:
    return await open_room()


@pytest.fixture
def store(room: Room) -> Store:
    """What `make_queue` makes queues in."""
    return room.store
