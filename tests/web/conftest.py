"""What the tests of the web side ask for: a server that runs, as an operator runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.running import RunningServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server with two workers for the session. A test that kills parts of it, or restarts it, leaves it ready."""
    running = RunningServer(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()
