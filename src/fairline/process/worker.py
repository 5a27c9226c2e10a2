"""A worker process: the connections to the store, the keeper, the streams and the HTTP server on an inherited
socket."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from email.utils import parseaddr
from time import monotonic
from typing import TYPE_CHECKING, Any

import structlog
import uvicorn

from fairline.aio.grouping import plain_grouping
from fairline.domain.mail import relay_of
from fairline.domain.push import PushKey
from fairline.domain.tokens import Keyring
from fairline.errors import StoreError
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.keeper import Keeper, process_name
from fairline.keeper.mail import Mailer
from fairline.keeper.push import Pusher
from fairline.keeper.stock import Stocktaker
from fairline.logs import set_up_logs
from fairline.process.beacon import beacon_of
from fairline.process.roles import Roles
from fairline.process.telemetry import start_tracing
from fairline.process.worker_settings import GRACE_SECONDS, read_worker_settings
from fairline.service.fairline import Fairline
from fairline.settings import PrivateAddresses, ServerRole, ServerSettings
from fairline.store import Store, open_store
from fairline.web.app import AsgiApplication, lost_pages, operations
from fairline.web.context import Context
from fairline.web.metrics.measurements import Metrics
from fairline.web.server import request_log
from fairline.web.server.cors import Cors
from fairline.web.server.fast_path import FastPath, fast_path_for
from fairline.web.server.operations import call_name, fast_route
from fairline.web.streams.board_streams import BoardStreams
from fairline.web.streams.hub import Hub
from fairline.web.streams.queue_streams import QueueStreams

if TYPE_CHECKING:
    from fairline.web.tracing import Tracing

log = structlog.get_logger()

#: Seconds between checks for overdue connections.
REAP_SECONDS = 1.0
#: Seconds between checks for a new generation of keys.
GENERATION_SECONDS = 5.0
#: Seconds between the marks that this worker is alive.
ALIVE_SECONDS = 1.0


def uvicorn_config(
    application: AsgiApplication, protocol: type[asyncio.Protocol], grace_seconds: int
) -> uvicorn.Config:
    """How uvicorn serves: it adds nothing to an answer, and writes no log of its own."""
    return uvicorn.Config(
        application,
        http=protocol,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
    )


class Server(uvicorn.Server):
    """uvicorn's server, which also closes overdue connections."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down in order on a signal. uvicorn's own version raises the signal again, which would end the process
        before everything else is closed."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.handle_exit, name, None)
        yield

    async def reap(self) -> None:
        """Close slow and forgotten connections, until cancelled."""
        while True:
            await asyncio.sleep(REAP_SECONDS)
            now = monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, FastPath) and connection.overdue(now):
                    connection.end_overdue()


class Worker:
    """Everything one process runs, by its role. `place` is its number among the workers of the server."""

    def __init__(
        self, settings: ServerSettings, secret: bytes, store: Store, place: int = 0, tracing: Tracing | None = None
    ) -> None:
        self._settings = settings
        self._tracing = tracing
        self._store = store
        self._place = place
        self._metrics = Metrics(place)
        self._service = Fairline(
            store,
            Keyring(secret),
            token_seconds=settings.token_seconds,
            on_sent=self._metrics.sent,
            grouping=plain_grouping if tracing is None else tracing.grouping,
        )
        self._keeper = Keeper(
            store,
            tick_seconds=settings.tick_seconds,
            sweep_seconds=settings.sweep_seconds,
            follows_web=settings.role is ServerRole.KEEPER,
            on_admitted=self._metrics.admitted,
            on_round=self._metrics.round,
            beacon=beacon_of(settings),
        )
        self._dispatch = Dispatch(
            self._service,
            private=settings.webhook_private_addresses is PrivateAddresses.ALLOW,
            public_url=settings.public_url,
            mailer=Mailer(relay_of(settings.smtp_url), settings.mail_from) if settings.smtp_url else None,
            pusher=Pusher(
                PushKey(self._service.keyring.push_seed),
                settings.public_url or (f"mailto:{parseaddr(settings.mail_from)[1]}" if settings.mail_from else ""),
                private=settings.webhook_private_addresses is PrivateAddresses.ALLOW,
            ),
            on_outcome=self._metrics.delivered,
            on_lost=self._metrics.lost,
        )

    async def run(self, listening: socket.socket | None) -> None:
        """Run until told to end."""
        await self._follow_generation(once=True)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(_running(self._follow_generation()))
            roles = Roles(self._settings, self._service)
            await stack.enter_async_context(_running(roles.show()))
            if self._place == 0:  # once for a server, and not by each of its workers
                await stack.enter_async_context(_running(roles.watch()))
            if self._settings.role is not ServerRole.WEB:
                await stack.enter_async_context(_running(self._keeper.run()))
                await stack.enter_async_context(_running(Stocktaker(self._service).run()))
                await stack.enter_async_context(_running(self._dispatch.run()))
            if listening is not None:
                await stack.enter_async_context(_running(self._show_alive()))
                await self._serve(listening, stack)
            else:
                await _until_signalled()
        await self._service.close()
        self._metrics.flush()

    async def _serve(self, listening: socket.socket, stack: contextlib.AsyncExitStack) -> None:
        context = Context(self._settings, self._service)
        stack.push_async_callback(context.renderer.close)
        context.hub = Hub(context, on_pushed=self._metrics.pushed, on_streams=self._metrics.streams)
        await stack.enter_async_context(_running(context.hub.run()))
        context.board_streams = BoardStreams(context)
        await stack.enter_async_context(_running(context.board_streams.run()))
        context.queue_streams = QueueStreams(context)
        await stack.enter_async_context(_running(context.queue_streams.run()))
        keeper = self._keeper if self._settings.role is not ServerRole.WEB else None
        await stack.enter_async_context(_running(request_log.write_repeats()))
        rows = operations(context, keeper, self._metrics)
        if self._tracing is not None:
            rows = [self._tracing.traced(row) for row in rows]
        cors = Cors(self._settings.cors_origins)
        self._metrics.call_name = call_name(rows)
        answered = self._metrics.answered
        application = AsgiApplication(rows, cors, answered, lost_pages(context, rows))
        protocol = fast_path_for(fast_route(rows), cors, answered)
        server = Server(uvicorn_config(application, protocol, GRACE_SECONDS))
        await stack.enter_async_context(_running(server.reap()))
        await server.serve(sockets=[listening])

    async def _show_alive(self) -> None:
        """Let keepers in other processes know that people can reach this server."""
        while True:
            with contextlib.suppress(StoreError):
                await self._store.registry.mark_alive("web", process_name())
            await asyncio.sleep(ALIVE_SECONDS)

    async def _follow_generation(self, *, once: bool = False) -> None:
        """Use the new keys after somebody has rotated them."""
        while True:
            with contextlib.suppress(StoreError):
                generation = await self._store.registry.generation()
                if generation != self._service.keyring.generation:
                    self._service.keyring.turn_to(generation)
            if once:
                return
            await asyncio.sleep(GENERATION_SECONDS)


@contextlib.asynccontextmanager
async def _running(work: Any) -> AsyncIterator[None]:
    """Run a task in the background of the block. If the task fails, the worker ends and the supervisor starts a new
    one."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_end_if_failed)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _end_if_failed(task: asyncio.Future[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("worker.failed", exc_info=error)
        os.kill(os.getpid(), signal.SIGTERM)


async def _until_signalled() -> None:
    ended = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    await ended.wait()


async def _end_with_supervisor() -> None:
    """Shut down in order when the supervisor is gone: the other end of standard input is then closed."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), gone.set)
    await gone.wait()
    loop.remove_reader(sys.stdin.fileno())  # a closed pipe is always readable: the event would never stop
    log.error("worker.orphaned", action="ending")
    os.kill(os.getpid(), signal.SIGTERM)


def _spare_collections() -> None:
    """Make garbage collections rare. All modules loaded so far stay in use, and requests leave hardly any reference
    cycles behind, so frequent collections would find nothing."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def main() -> None:
    """The entry point of a worker process."""
    given = read_worker_settings(sys.stdin.buffer)
    settings = given.settings
    set_up_logs(settings.log_format)
    _spare_collections()
    listening = socket.socket(fileno=given.listening) if given.listening is not None else None

    # A keeper answers no requests, and they are what is traced.
    tracing = start_tracing(os.environ, settings.trusted_proxies) if listening is not None else None

    async def work() -> None:
        store = await open_store(settings.store)
        try:
            async with _running(_end_with_supervisor()):
                await Worker(settings, given.secret, store, given.place, tracing).run(listening)
        finally:
            await store.close()

    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    with runner, contextlib.suppress(KeyboardInterrupt):
        try:
            runner.run(work())
        except StoreError as error:
            log.error("worker.store_away", error=error.message)
            os._exit(1)
    if tracing is not None:
        tracing.close()


if __name__ == "__main__":
    main()
