"""What the tests of deliveries ask for: both stores, a queue where everyone is let in, and a receiver."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.errors import QueueNotFound
from fairline.keeper.mail import BOX
from fairline.store import Store, open_store
from tests.backends import Servers
from tests.receiver import Receiver
from tests.web.running import RunningServer


@pytest.fixture(scope="module", params=["valkey", "postgres"])
def backend(request: pytest.FixtureRequest, servers: Servers) -> str:
    return servers.url(request.param)


@pytest.fixture
async def store(backend: str) -> AsyncIterator[Store]:
    opened = await open_store(backend)
    yield opened
    for hook in await opened.registry.webhooks():
        await opened.registry.remove_webhook(hook.id)
        await opened.outbox.drop(hook.id)
    await opened.outbox.drop(BOX)
    await opened.close()


@pytest.fixture
def queue_settings() -> dict[str, Any]:
    """A queue where everyone is let in."""
    return {"admission_rate": 1000, "burst": 1000, "ticket_prefix": "DEMO"}


@pytest.fixture
async def queue(store: Store, queue: QueueId, queue_settings: dict[str, Any]) -> AsyncIterator[QueueId]:
    """A queue with the settings above, or with those of the module."""
    await store.create(queue, checked(queue_settings))
    yield queue
    with contextlib.suppress(QueueNotFound):
        await store.delete(queue)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.down()


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> Iterator[httpx.Client]:
    """The API of the server that the module has, with the admin key."""
    headers = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=headers, timeout=20) as client:
        yield client
