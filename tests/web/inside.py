"""The web side of a worker inside the test's own process, over a real store: limits can be changed, state looked at."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.tokens import Keyring
from fairline.process import worker
from fairline.process.worker import Server
from fairline.service.fairline import Fairline
from fairline.settings import ServerSettings
from fairline.store import open_store
from fairline.store.contract import Clock
from fairline.web.app import AsgiApplication, lost_pages, operations
from fairline.web.context import Context
from fairline.web.server import connection, connection_state
from fairline.web.server.cors import Cors
from fairline.web.server.fast_path import FastPath, fast_path_for
from fairline.web.server.operations import fast_route
from fairline.web.streams.hub import Hub
from tests.backends import HOST, PATIENCE_SECONDS
from tests.web.running import RunningServer

ORIGIN = "https://shop.test"
OPEN = {"admission": "manual", "join_limit_per_ip": 0, "join_limit_per_phone": 0, "target_url": "https://shop.test/"}


class InsideServer(Server):
    """The server of a worker, without its signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Inside:
    """What a test can take hold of."""

    def __init__(self, service: Fairline, context: Context, server: Server, port: int) -> None:
        self.service = service
        self.context = context
        self.server = server
        self.port = port

    @property
    def connections(self) -> list[FastPath]:
        """The open connections of the fast path."""
        return [each for each in self.server.server_state.connections if isinstance(each, FastPath)]

    @property
    def streams(self) -> int:
        hub = self.context.hub
        assert hub is not None
        return hub.open_streams


@contextlib.asynccontextmanager
async def service_of(server: RunningServer) -> AsyncIterator[Fairline]:
    """The store of a running server, as one of its workers has it."""
    secret = (server.data / "secret").read_text(encoding="utf-8").strip()
    store = await open_store(f"valkey+unix://{quote(str(server.data / 'valkey.sock'))}")
    try:
        yield Fairline(store, Keyring(secret.encode(), await store.registry.generation()))
    finally:
        await store.close()


async def open_queue(service: Fairline, name: str = "", **settings: Any) -> QueueId:
    """A new queue in which no limit is in the way."""
    queue = QueueId(name or f"q-{secrets.token_hex(6)}")
    await service.store.create(queue, checked(OPEN | settings))
    return queue


async def until(
    true: Callable[[], Any], seconds: float = PATIENCE_SECONDS, *, trouble: str = "it never came true"
) -> None:
    """Wait until something holds, looking again and again."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        found = true()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return
        assert loop.time() < deadline, f"{trouble}: {found!r}"
        await asyncio.sleep(0.005)


class Moments:
    """The clock by which the server measures how long its clients take; it moves when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = 1000.0
        self._looks = 0
        monkeypatch.setattr(worker, "REAP_SECONDS", 0.01)
        monkeypatch.setattr(worker, "monotonic", self._look)
        for module in (connection, connection_state):
            monkeypatch.setattr(module, "monotonic", lambda: self._now)

    def _look(self) -> float:
        self._looks += 1
        return self._now

    async def pass_by(self, seconds: float) -> None:
        """So much later, when the server has looked whose time is over."""
        self._now += seconds
        before = self._looks
        await until(lambda: self._looks > before + 1, trouble="the server does not look")


@contextlib.asynccontextmanager
async def serving(
    url: str,
    *,
    secret: bytes = b"s" * 32,
    fast: bool = True,
    settings: ServerSettings | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Inside]:
    """Both ways on a free port; or only the ASGI application, as another server would run it."""
    store = await open_store(url, clock=clock)
    settings = settings or ServerSettings(cors_origins=[ORIGIN])
    service = Fairline(store, Keyring(secret), token_seconds=settings.token_seconds)
    context = Context(settings, service)
    context.hub = Hub(context)
    rows, cors = operations(context, None), Cors([ORIGIN])
    protocol = fast_path_for(fast_route(rows), cors) if fast else HttpToolsProtocol
    server = InsideServer(
        worker.uvicorn_config(AsgiApplication(rows, cors, lost=lost_pages(context, rows)), protocol, 5)
    )
    listening = _listen()
    port = listening.getsockname()[1]
    background = [asyncio.ensure_future(work) for work in (context.hub.run(), server.reap())]
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        await until(lambda: server.started or serving.done())
        yield Inside(service, context, server, port)
    finally:
        server.should_exit = True
        await serving
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await service.close()
        await store.close()


def _listen() -> socket.socket:
    # Where the protocol is not named, asyncio takes it for one without TCP_NODELAY.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)  # who does not read is soon noticed
    listening.bind((HOST, 0))
    listening.listen(500)
    return listening


@contextlib.contextmanager
def serving_on_uvloop(url: str, *, clock: Clock | None = None) -> Iterator[Inside]:
    """The same in a thread of its own, with the loop that workers have; what it shows is only to be looked at."""
    import uvloop

    inside: Future[Inside] = Future()
    ended: Future[None] = Future()

    async def work() -> None:
        async with serving(url, clock=clock) as served:
            inside.set_result(served)
            await asyncio.wrap_future(ended)

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(work())
        except BaseException as error:
            if not inside.done():
                inside.set_exception(error)
            raise

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            yield inside.result(60)
        finally:
            ended.set_result(None)
            running.result(60)


class Gate:
    """Holds up one kind of call to the store until it is opened."""

    def __init__(self, service: Fairline, monkeypatch: pytest.MonkeyPatch, call: str = "join") -> None:
        self._opened = asyncio.Event()
        self._call = getattr(service.store, call)
        self.waiting = 0
        monkeypatch.setattr(service.store, call, self._gated)

    async def _gated(self, queue: QueueId, items: Any, *more: Any) -> Any:
        self.waiting += len(items)
        await self._opened.wait()
        self.waiting -= len(items)
        return await self._call(queue, items, *more)

    def open(self) -> None:
        """Let them all through, now and later."""
        self._opened.set()

    async def reached(self) -> None:
        """Somebody waits at it."""
        await until(lambda: self.waiting > 0)
