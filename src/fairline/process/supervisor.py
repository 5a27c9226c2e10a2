"""The supervisor behind `fairline serve`: prepares the store and the secrets, starts the workers, and restarts those
that end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from urllib.parse import urlsplit

import msgspec
import structlog
from prometheus_client.multiprocess import mark_process_dead

from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.errors import InvalidSettings, StoreError
from fairline.process.secrets import ADMIN_KEY, SECRET, make_secret, read_secret
from fairline.process.sockets import Listening
from fairline.process.worker_settings import GRACE_SECONDS, worker_settings_of
from fairline.service.admin_keys import AdminKeys
from fairline.service.fairline import Fairline
from fairline.settings import ServerRole, ServerSettings
from fairline.store import EMBEDDED, EmbeddedServer, Role, check_folder, embedded_server, open_store
from fairline.web.metrics.metrics_folder import FOLDER, MetricsFolder

log = structlog.get_logger()

DEMO = QueueId("demo")
#: Seconds between checks of the child processes.
WATCH_SECONDS = 0.1
#: A server that is not ready after this says what it waits for. Usually it is ready sooner.
SAY_SECONDS = 2.0
#: A worker that ends sooner than this after its start is not restarted at once.
TOO_SOON_SECONDS = 2.0


class Prepared(msgspec.Struct, frozen=True):
    """What `fairline serve` shows at its start."""

    admin_key: str | None
    """The first admin key, if this start has created it."""
    has_demo: bool
    """Whether there is the demo queue that a new server starts with. An operator may have removed it."""


class Supervisor:
    """The parent process of all workers of one `fairline serve`."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._workers: dict[int, _Child] = {}
        self._embedded: EmbeddedServer | None = None
        self._ending = False
        self._ready: set[int] = set()
        """The process ids of the workers that are ready."""
        self._worker_settings: Callable[[int | None, int], bytes] = lambda *_: b""
        self._metrics = MetricsFolder(settings.data, settings.workers)
        self._listening: Listening | None = None
        self.port: int | None = None
        """The port it listens at, once prepared: the one in the settings, or a free one for port 0."""

    # Before the workers run

    def prepare(self) -> Prepared:
        """Open the store, the secrets and the sockets; create a queue and a key for a new server."""
        settings = self._settings
        try:
            settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            problem = f"cannot be created at {settings.data} ({error.strerror}). Choose another folder with --data."
            raise InvalidSettings("data", problem) from None
        if settings.store in EMBEDDED:
            check_folder(settings.data)  # before a secret is written there
        secret = settings.secret or self._stored_secret()
        if settings.role is not ServerRole.KEEPER:
            self._listening = Listening(settings.host, settings.port, settings.workers)
            self.port = self._listening.port
        if settings.store in EMBEDDED:
            self._embedded = embedded_server(settings.store, settings.data)
            settings = msgspec.structs.replace(settings, store=self._embedded.start())
        prepared = asyncio.run(self._prepare_store(settings, secret.encode()))
        self._worker_settings = partial(worker_settings_of, settings, secret.encode())
        self._metrics.ensure()
        return prepared

    def _stored_secret(self) -> str:
        data = self._settings.data
        return make_secret(data, SECRET, lambda: secrets.token_hex(32)) or read_secret(data, SECRET)

    async def _prepare_store(self, settings: ServerSettings, secret: bytes) -> Prepared:
        store = await open_store(settings.store)
        try:
            service = Fairline(store, Keyring(secret))
            queues = await service.queues()
            await self._prepare_demo(service, queues)
            return Prepared(await self._make_first_key(AdminKeys(service)), has_demo=not queues or DEMO in queues)
        finally:
            await store.close()

    async def _prepare_demo(self, service: Fairline, queues: Collection[QueueId]) -> None:
        """A new server has a queue to try, whose target is a page of this server. The target is updated when the port
        or the public address changes; a target that an operator has set stays."""
        path = f"/arrived/{DEMO}"
        target = {"target_url": (self._settings.public_url or f"http://{self.address}") + path}
        if not queues:
            await service.create(DEMO, {"name": "Demo", **target})
        elif DEMO in queues and self.port:
            now = (await service.settings(DEMO)).settings.target_url
            if urlsplit(now).path == path and now != target["target_url"]:
                await service.configure(DEMO, target)

    def first_key(self) -> str:
        """The first admin key: from the settings, or from the data folder."""
        return self._settings.admin_key or read_secret(self._settings.data, ADMIN_KEY)

    async def _make_first_key(self, keys: AdminKeys) -> str | None:
        """Make sure that the first admin key exists; returns it if this start has created it."""
        data, made = self._settings.data, None
        text = self._settings.admin_key
        if text is None:
            made = make_secret(data, ADMIN_KEY, lambda: f"fl_{secrets.token_urlsafe(24)}")
            if made is None and any(key.role is Role.ADMIN for key in await keys.all()):
                return None  # it exists; or an admin has revoked it, and then it must not come back
            text = made or read_secret(data, ADMIN_KEY)
        await keys.create(Role.ADMIN, "first key", text)
        return made

    @property
    def address(self) -> str:
        """Host and port in the form that a browser understands."""
        host = self._settings.host
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"{host}:{self.port or self._settings.port}"

    # Running

    def run(self, on_ready: Callable[[], None], on_waiting: Callable[[str], None] = lambda _: None) -> int:
        """Start the workers and restart those that end, until a signal comes; returns the exit code. While it is not
        ready, `on_waiting` is called with the check that fails, each time that it is another one."""
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: setattr(self, "_ending", True))
        count = self._settings.workers if self._settings.role is not ServerRole.KEEPER else 1
        for number in range(count):
            self._workers[number] = _Child(self._spawn(number))
        ready = False
        waits_for = ""
        says_at = time.monotonic() + SAY_SECONDS
        code = 0
        try:
            while not self._ending:
                if not ready and self._is_ready():
                    ready = True
                    on_ready()
                if not ready and time.monotonic() >= says_at:
                    says_at = time.monotonic() + SAY_SECONDS
                    found = self._failing_check()
                    if found and found != waits_for:
                        waits_for = found
                        on_waiting(found)
                if not self._restart_ended():
                    code = 1
                    break
                time.sleep(WATCH_SECONDS)
        finally:
            self._end()
        return code

    def _spawn(self, place: int) -> subprocess.Popen[bytes]:
        listening = self._listening.of(place) if self._listening else None
        child = subprocess.Popen(
            [sys.executable, "-m", "fairline.process.worker"],
            stdin=subprocess.PIPE,
            env=os.environ | {FOLDER: str(self._metrics.ensure())},
            pass_fds=[] if listening is None else [listening],
            start_new_session=True,  # Ctrl-C reaches only the supervisor, which ends the workers in order
        )
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(self._worker_settings(listening, place))
            child.stdin.flush()
        # The pipe stays open: a worker whose supervisor is gone reads end-of-file from it, and ends too.
        return child

    def _restart_ended(self) -> bool:
        """Restart the store and the workers that have ended; False if the store cannot be restarted."""
        if self._embedded is not None and self._embedded.pid is None:
            log.error("store.died", action="restarting it on the same data")
            try:
                self._embedded.start()
            except StoreError as error:
                log.error("store.lost", error=error.message)
                return False
        for number, child in self._workers.items():
            if child.process.poll() is None or time.monotonic() < child.not_before:
                continue
            lived = time.monotonic() - child.started
            too_soon = lived < TOO_SOON_SECONDS and not child.not_before
            if too_soon and self._listening:
                self._listening.give_up(number)
            log.error(
                "worker.died", pid=child.process.pid, code=child.process.returncode, lived_seconds=round(lived, 1)
            )
            mark_process_dead(number, str(self._metrics.ensure()))  # type: ignore[no-untyped-call]
            if too_soon:
                child.not_before = time.monotonic() + TOO_SOON_SECONDS
                continue
            self._workers[number] = _Child(self._spawn(number))
        return True

    def _is_ready(self) -> bool:
        """Whether every worker has answered that it is ready. Which worker answers is chance, so this asks several
        times."""
        if self._listening is None:
            return True
        pids = {child.process.pid for child in self._workers.values()}
        for _ in range(4 * len(pids)):
            pid = ready_worker(_reachable(self._settings.host), self._listening.port)
            if pid is None:
                return False
            self._ready.add(pid)
        return pids <= self._ready

    def _failing_check(self) -> str:
        """The check by which a worker is not ready: `store` or `keeper`; empty if no worker says."""
        if self._listening is None:
            return ""
        answer = _ready_answer(_reachable(self._settings.host), self._listening.port)
        try:
            checks = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2], type=_NotReady).checks
        except msgspec.MsgspecError:
            return ""
        return next((name for name, state in checks.items() if state != "ok"), "")

    def _end(self) -> None:
        """End the workers, then the store; a worker that does not end in time is killed."""
        if self._listening:
            # New connections are refused at once from now on, instead of waiting for a worker that is ending.
            self._listening.close()
        for child in self._workers.values():
            child.process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS + 5
        for child in self._workers.values():
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            if child.process.stdin:
                with contextlib.suppress(OSError):
                    child.process.stdin.close()
        if self._embedded:
            self._embedded.stop()
        self._metrics.remove()

    def close(self) -> None:
        """Release what was prepared, if it never ran."""
        self._end()


class _Child:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.started = time.monotonic()
        self.not_before = 0.0


class _NotReady(msgspec.Struct):
    """The answer of `/readyz`."""

    checks: dict[str, str] = {}


def ready_worker(host: str, port: int) -> int | None:
    """The process id of a worker that answers that it is ready; None if none does. A worker's request ids begin with
    its process id."""
    answer = _ready_answer(host, port)
    by = re.search(rb"\r\nx-request-id: ([0-9a-f]+)-", answer)
    return int(by[1], 16) if by and answer.startswith(b"HTTP/1.1 200") else None


def _ready_answer(host: str, port: int) -> bytes:
    """The whole answer of one worker; what has come of it if it takes too long."""
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        while piece := connection.recv(4096):
            answer += piece
    return answer


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
