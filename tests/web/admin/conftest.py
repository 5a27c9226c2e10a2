"""What the tests of the operators' calls ask for: an admin, keys of each role, queues, people who join."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest

from fairline.store import Role
from tests.web.admin.desk import (
    Join,
    MakeQueue,
    client,
)
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> Iterator[httpx.Client]:
    with client(server, server.admin_key) as opened:
        yield opened


@pytest.fixture(scope="module")
def keys(server: RunningServer, admin: httpx.Client) -> dict[Role, str]:
    """A key of each role."""
    return {role: admin.post("/keys", json={"role": role, "name": "tests"}).json()["key"] for role in Role}


@pytest.fixture
def make_queue(admin: httpx.Client) -> Iterator[MakeQueue]:
    made: list[str] = []

    def make(**settings: Any) -> str:
        name = f"q{secrets.token_hex(5)}"
        usual = {"admission": "manual", "join_limit_per_ip": 0}
        answer = admin.post("/queues", json={"id": name, **usual, **settings})
        assert answer.status_code == 201, answer.text
        made.append(name)
        return name

    yield make
    for name in made:
        admin.delete(f"/queues/{name}")


@pytest.fixture
def queue(make_queue: MakeQueue) -> str:
    """A queue where people are called by hand."""
    return make_queue()


@pytest.fixture
def join(server: RunningServer) -> Iterator[Join]:
    """Join a queue as the public does."""
    with httpx.Client(base_url=server.base_url, timeout=20) as public:

        def one(queue: str, **body: Any) -> dict[str, Any]:
            answer = public.post(f"/api/v1/queues/{queue}/join", json=body)
            public.cookies.clear()
            assert answer.status_code == 201, answer.text
            return cast(dict[str, Any], answer.json())

        yield one
