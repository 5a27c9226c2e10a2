"""What the tests of the web side ask for: a server that runs, as an operator runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from tests.web.running import RunningServer
from tests.web.walk_in import WalkIn

#: Where it matters which store there is: what people, staff and operators do goes all the way down.
ON_EVERY_STORE = {
    "test_board",
    "test_walk_in_page",
    "test_join_form",
    "test_kiosk",
    "test_recreated",
    "test_people",
    "test_streams",
    "test_calling",
    "test_joining",
    "test_tickets",
    "test_walk_in",
}
#: What operators read is tried on both where long tests are asked for: the contract suite has it on both anyway.
ON_EVERY_STORE_IF_LONG = {"test_audit", "test_history", "test_keys", "test_live_events", "test_queues", "test_records"}
STORES = ("embedded", "embedded-postgres")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The server runs on every store for the tests named above, on the embedded Valkey for the others."""
    if "server" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        stores: tuple[Any, ...] = STORES if module in ON_EVERY_STORE else STORES[:1]
        if module in ON_EVERY_STORE_IF_LONG:
            stores = (STORES[0], pytest.param(STORES[1], marks=pytest.mark.long))
        metafunc.parametrize("server", stores, indirect=True, scope="session")


@pytest.fixture(scope="session")
def servers_by_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], RunningServer]]:
    """One server with two workers for each store, started when it is first wanted, and there for the session: modules
    take turns between the stores."""
    with ExitStack() as stack:

        @cache
        def running(store: str) -> RunningServer:
            started = RunningServer(tmp_path_factory.mktemp("server"), store=store)
            stack.callback(started.stop)
            return started

        yield running


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, servers_by_store: Callable[[str], RunningServer]) -> RunningServer:
    """A test that kills parts of it, or restarts it, leaves it ready."""
    return servers_by_store(request.param)


@pytest.fixture
def walk_in(server: RunningServer) -> Iterator[WalkIn]:
    found = WalkIn(server)
    with found.closing:
        yield found
