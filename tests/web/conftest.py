"""What the tests of the web side ask for: a server that runs, as an operator runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.shared import SHARED, remove_queues
from tests.web.running import RunningServer, running_server
from tests.web.walk_in import WalkIn

#: Where it matters which store there is: what people, staff and operators do goes all the way down.
ON_EVERY_STORE = {
    "test_board",
    "test_walk_in_page",
    "test_moving",
    "test_join_form",
    "test_kiosk",
    "test_recreated",
    "test_people",
    "test_streams",
    "test_calling",
    "test_joining",
    "test_tickets",
    "test_openings",
    "test_told_waits",
    "test_walk_in",
}
#: What operators read is tried on both where long tests are asked for: the contract suite has it on both anyway.
ON_EVERY_STORE_IF_LONG = {
    "test_audit",
    "test_history",
    "test_keys",
    "test_live_events",
    "test_opening_night",
    "test_queues",
    "test_records",
}
STORES = ("embedded", "embedded-postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The server runs on every store for the tests named above, on the embedded Valkey for the others."""
    if "server" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        stores: tuple[Any, ...] = STORES if module in ON_EVERY_STORE else STORES[:1]
        if module in ON_EVERY_STORE_IF_LONG:
            stores = (STORES[0], pytest.param(STORES[1], marks=pytest.mark.long))
        metafunc.parametrize("server", stores, indirect=True, scope="module")


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with two workers, shared by the modules. A test that kills parts of it, or restarts it, leaves it ready;
    its queues go with the module."""
    folder, store = tmp_path_factory, request.param
    running = SHARED.get(("web", store), lambda: running_server(folder.mktemp("server"), store=store))
    yield running
    remove_queues(running)


@pytest.fixture
def walk_in(server: RunningServer) -> Iterator[WalkIn]:
    found = WalkIn(server)
    with found.closing:
        yield found
