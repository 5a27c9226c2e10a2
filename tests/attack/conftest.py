"""What the attacks are made on: a server as an operator starts it, and what the operator does there."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import httpx
import pytest

from tests.shared import SHARED, remove_queues
from tests.web.running import RunningServer, running_server

STORES = ("embedded", pytest.param("embedded-postgres", marks=pytest.mark.long))

MakeQueue: TypeAlias = Callable[..., str]


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder, store = tmp_path_factory, request.param
    running = SHARED.get(("attacked", store), lambda: running_server(folder.mktemp("attacked"), store=store))
    yield running
    remove_queues(running)


@pytest.fixture
def operator(server: RunningServer) -> Iterator[httpx.Client]:
    """The operator, by the API."""
    headers = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=server.base_url, headers=headers) as client:
        yield client


@pytest.fixture
def make_queue(operator: httpx.Client) -> MakeQueue:
    """Makes a queue with these settings, and answers its id."""

    def make(**settings: Any) -> str:
        queue = f"q-{secrets.token_hex(6)}"
        operator.post("/api/v1/admin/queues", json={"id": queue, **settings}).raise_for_status()
        return queue

    return make
