"""A connection to the running server, with a queue to join."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Room
from tests.web.inside import open_queue, room_of
from tests.web.raw import Raw, connected
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
async def room(server: RunningServer) -> AsyncIterator[Room]:
    async with room_of(server) as room:
        yield room


@pytest.fixture
async def queue(room: Room) -> QueueId:
    return await open_queue(room)


@pytest.fixture
async def raw(server: RunningServer) -> AsyncIterator[Raw]:
    """An open connection."""
    async with connected(server.port) as raw:
        yield raw
