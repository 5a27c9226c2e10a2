"""A connection to the running server, with a queue to join."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.inside import open_queue, service_of
from tests.web.raw import Raw, connected
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
async def service(server: RunningServer) -> AsyncIterator[Fairline]:
    async with service_of(server) as service:
        yield service


@pytest.fixture
async def queue(service: Fairline) -> QueueId:
    return await open_queue(service)


@pytest.fixture
async def raw(server: RunningServer) -> AsyncIterator[Raw]:
    """An open connection."""
    async with connected(server.port) as raw:
        yield raw
