"""A server for the commands of each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("cli"), workers=1)
    yield running
    running.stop()
