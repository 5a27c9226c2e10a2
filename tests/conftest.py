"""What every test can ask for: a clock, a store on each backend, a queue.

A test that asks for `store` runs once on every backend; one that needs the plain Valkey only asks for `valkey_url`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings

from fairline.domain.queue import QueueId, queue_id
from fairline.domain.settings_checks import checked
from fairline.errors import FairlineError
from fairline.store import Store, open_store
from fairline.store.postgres import client as postgres_client
from tests.backends import BACKENDS, START, FakeClock, Servers, Valkey
from tests.shared import SHARED

# How long an example takes says something about the machine, and nothing about us.
settings.register_profile(
    "fairline",
    deadline=None,
    max_examples=200 if os.environ.get("FAIRLINE_LONG") else 25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fairline")

# Every server the tests talk to is on loopback, nearly always without TLS: no client needs to read the certificates
# of the whole world, which takes it 40 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
# httpx waits five seconds for an answer, which is not long on a machine that has much else to do.
for _name in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _name, 30.0)

MakeQueue: TypeAlias = Callable[..., Awaitable[QueueId]]
OpenStore: TypeAlias = Callable[[], Awaitable[Store]]


#: Servers that speak what one of the two main stores speaks: all tests run on them with `FAIRLINE_LONG=1`. What differs
#: between Valkey, its cluster and Redis shows in one module; Fairline does nothing else on another version of
#: PostgreSQL.
AKIN = {"cluster", "redis", "postgres15"}
ON_ALL_SERVERS = {"cluster": {"test_all_servers"}, "redis": {"test_all_servers"}}


#: What takes minutes begins first, so that the processes end at about the same time. What shares servers stands
#: together: they end when a process goes on to another folder.
FIRST = (
    "docs",
    "cli/test_commands",
    "cli",
    "browser",
    "package",
    "deploy",
    "shop",
    "site/test_rush",
    "site",
    "web/description/test_openapi",
    "web/test_outages",
    "web/streams/test_streams",
    "web/metrics",
    "web",
    "gate",
    "attack",
    "process",
    "keeper",
    "domain/test_preview",
    "store/test_model",
    "store/test_contract_workers",
    "store/test_postgres_schema",
    "store/embedded",
    "store",
)
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what is long first, and leave out what takes too long, unless it is asked for: the whole must be known within
    minutes."""
    items.sort(key=_turn)
    if os.environ.get("FAIRLINE_LONG"):
        return
    long = [item for item in items if _is_long(item)]
    if long:
        config.hook.pytest_deselected(items=long)
        left_out = set(long)
        items[:] = [item for item in items if item not in left_out]


def _turn(item: pytest.Item) -> int:
    path = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
    return next((turn for turn, part in enumerate(FIRST) if path.startswith(part)), len(FIRST))


def _is_long(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    backend = called.params.get("backend") if called else None
    elsewhere = backend in AKIN and item.path.stem not in ON_ALL_SERVERS.get(backend, ())
    return elsewhere or item.get_closest_marker("long") is not None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What the tests of a folder share ends with the last of them that this process has."""
    if nextitem is None or _folder(nextitem) != _folder(item):
        SHARED.end()


def pytest_sessionfinish() -> None:
    """So it does where the last one never comes."""
    SHARED.end()


def _folder(item: pytest.Item) -> str:
    """The one below `tests` that a test is in."""
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    started = Servers(tmp_path_factory.mktemp)
    yield started
    started.stop()


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest, servers: Servers) -> str:
    """The address of each backend in turn."""
    return servers.url(request.param)


@pytest.fixture(scope="session")
def valkey_url(servers: Servers) -> str:
    """The address of the plain Valkey."""
    return servers.url("valkey")


@pytest.fixture(scope="module")
def module_valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Valkey that only the tests of one module use."""
    backend = Valkey(tmp_path_factory.mktemp("valkey"))
    yield backend.start()
    backend.stop()


@pytest.fixture(scope="session")
def session_clock() -> FakeClock:
    """The clock of the stores that tests share."""
    return FakeClock()


@pytest.fixture
def clock(session_clock: FakeClock) -> FakeClock:
    """It says the same at the start of every test."""
    session_clock.now = START
    return session_clock


async def patient_store(url: str, clock: FakeClock) -> Store:
    """A store that waits as long for a free connection as a busy machine may need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_client, "POOL_SECONDS", 30)
        return await open_store(url, clock=clock)


@pytest.fixture
async def another_store(backend: str, clock: FakeClock) -> AsyncIterator[OpenStore]:
    """Opens stores on the same backend with connections of their own, as other workers have."""
    opened: list[Store] = []

    async def open_another() -> Store:
        opened.append(await patient_store(backend, clock))
        return opened[-1]

    yield open_another
    for store in opened:
        await store.close()


@pytest.fixture(scope="session")
async def shared_store(session_clock: FakeClock) -> AsyncIterator[Callable[[str], Awaitable[Store]]]:
    """One store for all tests on a backend: new connections cost more than most tests do."""
    opened: dict[str, Store] = {}

    async def share(url: str) -> Store:
        if url not in opened:
            opened[url] = await patient_store(url, session_clock)
        return opened[url]

    yield share
    for store in opened.values():
        await store.close()


@pytest.fixture
async def store(
    backend: str, shared_store: Callable[[str], Awaitable[Store]], clock: FakeClock
) -> AsyncIterator[Store]:
    """The store of a test; its queues go with it, or keepers of later tests would serve them all."""
    shared = await shared_store(backend)
    yield shared
    with contextlib.suppress(FairlineError):  # some tests leave it away
        for each in await shared.queues():
            await shared.delete(each)


@pytest.fixture
def queue() -> QueueId:
    """The id of a queue that nobody has made."""
    return queue_id(f"q-{secrets.token_hex(6)}")


@pytest.fixture
def make_queue(store: Store, queue: QueueId) -> MakeQueue:
    """Makes `queue` with the settings given, and the defaults for the others."""
    return queue_maker(store, queue)


def queue_maker(store: Store, queue: QueueId) -> MakeQueue:
    async def make(**settings: Any) -> QueueId:
        await store.create(queue, checked(settings))
        return queue

    return make
