"""A service on a real Valkey, and others on the same one, as workers have."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.aio.grouping import Grouping
from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.service.fairline import Fairline
from fairline.store import open_store
from fairline.store.valkey import client
from tests.backends import FakeClock
from tests.conftest import MakeQueue, queue_maker
from tests.service.people import OpenService, opened_services

SECRET = b"a secret that all workers share."


@pytest.fixture
async def open_service(
    valkey_url: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OpenService]:
    """Opens services on the same store, each with connections of its own, as workers have. They send nobody away,
    however busy the machine is."""
    monkeypatch.setitem(client._LIMITS, "socket_timeout", 60.0)
    async with opened_services() as services:

        async def open_another() -> Fairline:
            services.append(Fairline(await open_store(valkey_url, clock=clock), Keyring(SECRET)))
            for each in vars(services[-1]).values():
                if isinstance(each, Grouping):
                    each._patience = 60.0
            return services[-1]

        yield open_another


@pytest.fixture
async def service(open_service: OpenService) -> Fairline:
    return await open_service()


@pytest.fixture
def make_queue(service: Fairline, queue: QueueId) -> MakeQueue:
    """Makes `queue` in the store of `service`, whichever store a module gives it."""
    return queue_maker(service.store, queue)
