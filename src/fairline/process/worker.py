"""One worker process: the store's connections, the keeper, the hub and the HTTP server on a socket it was given."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from time import monotonic
from typing import Any

import structlog
import uvicorn

from fairline.domain.mail import relay_of
from fairline.domain.tokens import Keyring
from fairline.errors import StoreError
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.keeper import Keeper, process_name
from fairline.keeper.mail import Mailer
from fairline.keeper.stock import Stocktaker
from fairline.logs import set_up_logs
from fairline.process.worker_settings import GRACE_SECONDS, read_worker_settings
from fairline.service.fairline import Fairline
from fairline.settings import PrivateAddresses, ServerRole, ServerSettings
from fairline.store import Store, open_store
from fairline.web.app import FullLane, operations
from fairline.web.context import Context
from fairline.web.metrics.measurements import Metrics
from fairline.web.server import request_log
from fairline.web.server.cors import Cors
from fairline.web.server.fast_path import FastLane, lane_for
from fairline.web.server.operations import call_name, fast_route
from fairline.web.streams.board_streams import BoardStreams
from fairline.web.streams.hub import Hub

log = structlog.get_logger()

#: Seconds between looks for connections that are overdue, and for a new generation of keys.
REAP_SECONDS = 1.0
GENERATION_SECONDS = 5.0
ALIVE_SECONDS = 1.0


class Server(uvicorn.Server):
    """uvicorn's server, which also ends connections that are overdue."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order on a signal; unlike uvicorn's own, without dying of it before the rest is closed."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.handle_exit, name, None)
        yield

    async def reap(self) -> None:
        """End slow and forgotten connections, for ever."""
        while True:
            await asyncio.sleep(REAP_SECONDS)
            now = monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, FastLane) and connection.overdue(now):
                    connection.end_overdue()


class Worker:
    """Everything one process runs, by its role. `place` is its number among the workers of the server."""

    def __init__(self, settings: ServerSettings, secret: bytes, store: Store, place: int = 0) -> None:
        self._settings = settings
        self._store = store
        self._metrics = Metrics(place)
        self._service = Fairline(
            store, Keyring(secret), token_seconds=settings.token_seconds, on_sent=self._metrics.sent
        )
        self._keeper = Keeper(
            store,
            tick_seconds=settings.tick_seconds,
            sweep_seconds=settings.sweep_seconds,
            follows_web=settings.role is ServerRole.KEEPER,
            on_admitted=self._metrics.admitted,
            on_round=self._metrics.round,
        )
        self._dispatch = Dispatch(
            self._service,
            private=settings.webhook_private_addresses is PrivateAddresses.ALLOW,
            public_url=settings.public_url,
            mailer=Mailer(relay_of(settings.smtp_url), settings.mail_from) if settings.smtp_url else None,
            on_outcome=self._metrics.delivered,
            on_lost=self._metrics.lost,
        )

    async def run(self, listening: socket.socket | None) -> None:
        """Run until told to end."""
        await self._follow_generation(once=True)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(_running(self._follow_generation()))
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
        keeper = self._keeper if self._settings.role is not ServerRole.WEB else None
        await stack.enter_async_context(_running(request_log.tell_repeats()))
        rows = operations(context, keeper, self._metrics)
        cors = Cors(self._settings.cors_origins)
        self._metrics.call_name = call_name(rows)
        answered = self._metrics.answered
        config = uvicorn.Config(
            FullLane(rows, cors, answered),
            http=lane_for(fast_route(rows), cors, answered),
            loop="none",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        server = Server(config)
        await stack.enter_async_context(_running(server.reap()))
        await server.serve(sockets=[listening])

    async def _show_alive(self) -> None:
        """Let keepers elsewhere know that people can reach us."""
        while True:
            with contextlib.suppress(StoreError):
                await self._store.registry.mark_alive("web", process_name())
            await asyncio.sleep(ALIVE_SECONDS)

    async def _follow_generation(self, *, once: bool = False) -> None:
        """Take up new keys when someone rotates them."""
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
    """Something that runs beside the rest, until the rest is over. If it fails, the worker ends, to be started anew."""
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
    """End in order when the supervisor is gone: its end of our standard input is then closed."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), gone.set)
    await gone.wait()
    loop.remove_reader(sys.stdin.fileno())  # it would be ready from now on, again and again
    log.error("worker.orphaned", action="ending")
    os.kill(os.getpid(), signal.SIGTERM)


def _spare_collections() -> None:
    """What was loaded by now stays; and requests leave hardly anything behind that only a collection frees, so that
    looking for it every few dozen of them is work for nothing."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def main() -> None:
    """The entry of a worker process."""
    orders = read_worker_settings(sys.stdin.buffer)
    settings = orders.settings
    set_up_logs(settings.log_format)
    _spare_collections()
    listening = socket.socket(fileno=orders.listening) if orders.listening is not None else None

    async def work() -> None:
        store = await open_store(settings.store)
        try:
            async with _running(_end_with_supervisor()):
                await Worker(settings, orders.secret, store, orders.place).run(listening)
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


if __name__ == "__main__":
    main()
