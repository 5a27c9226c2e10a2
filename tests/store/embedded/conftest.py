"""Embedded servers and their owners, all of which end with the test."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairline.store.valkey.embedded import EmbeddedValkey
from tests.store.embedded.servers import Make, Owner, StartOwner, use_redis_from_path


@pytest.fixture
def start_owner() -> Iterator[StartOwner]:
    """Start other owners; whatever is left of them is ended after the test."""
    owners: list[Owner] = []

    def start(folder: Path, **code: str) -> Owner:
        owners.append(Owner(folder, **code))
        return owners[-1]

    yield start
    for owner in owners:
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.server, signal.SIGKILL)
        owner.end(signal.SIGKILL)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Embedded servers over one folder, stopped after the test."""
    with contextlib.ExitStack() as stack:

        def make(folder: Path = tmp_path / "data", **options: str) -> EmbeddedValkey:
            server = EmbeddedValkey(folder, **options)  # type: ignore[arg-type]
            stack.callback(server.stop)
            return server

        yield make


@pytest.fixture(params=["wheel", "redis-server"])
def each_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once with the wheel's Valkey and once with the Redis on PATH."""
    if request.param == "redis-server":
        use_redis_from_path(monkeypatch)
    return str(request.param)
