"""Instructions of a worker and of Valkey for each call over HTTP, counted by callgrind.

Other work on the machine changes how long a call takes, but hardly how many instructions it takes. So this tells small
differences between two versions of the code apart. What the processes do on their own is subtracted, and the counted
worker has no keeper: another process admits the people inside.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import mean, median
from typing import TypeAlias
from urllib.parse import quote

import httpx
import redis
from msgspec import Struct
from rich.table import Table

from bench.common import table
from bench.http import join, made, sessions
from bench.served import HOST, Served, free_port, running
from fairline.store.valkey.embedded import OPTIONS, SOCKET, EmbeddedValkey, find_server

CONNECTIONS = 24
#: People in line, and people inside. A round makes each call for each of them once.
PEOPLE, ROUNDS = 10 * CONNECTIONS, 4
IDLE_SECONDS = 3.0
#: A process under valgrind takes this long to start on a busy machine.
START_SECONDS = 600.0
#: How long it may take in all, on a busy machine.
SECONDS = 900.0
#: The folder with the package to measure, if it is not the one of this checkout.
SOURCE = os.environ.get("BENCH_SOURCE", "")

#: Starts a server whose workers run under callgrind.
SERVE = "import sys; sys.executable = {worker!r}; from fairline.cli import main; main()"
#: The headers that a browser sends with each request.
BROWSER = (
    "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1\r\nAccept: application/json\r\nAccept-Language: en-GB,en;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nReferer: https://queue.example/q/line\r\nSec-Fetch-Dest: empty\r\n"
    "Sec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-origin\r\n"
)


#: For each call, a function that makes the requests of a round.
Calls: TypeAlias = dict[str, Callable[[], list[bytes]]]


class Counted(Struct):
    """A process under callgrind."""

    pid: int
    name: str
    folder: Path
    dumps: int = 0

    async def begin(self) -> None:
        """Count from now on."""
        await self._tell("instrumentation", "on")

    async def instructions(self) -> int:
        """The instructions since the last time."""
        await self._tell("dump")
        self.dumps += 1
        dump = self.folder / f"{self.name}.callgrind.{self.dumps}"
        totals = [line for line in dump.read_text(encoding="utf-8", errors="replace").splitlines() if "totals:" in line]
        return int(totals[-1].split()[1])

    async def _tell(self, *command: str) -> None:
        silent = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            "vgdb", f"--pid={self.pid}", *command, stdout=silent, stderr=silent
        )
        if await process.wait():
            raise RuntimeError(f"valgrind did not take the command {' '.join(command)!r} for {self.name}")


class Figure(Struct):
    """A call: its instructions in each round."""

    worker: list[float] = []
    valkey: list[float] = []
    batches: list[float] = []
    """How many of them went to Valkey together."""


async def measure(quick: bool) -> list[Table]:
    """Instructions for each call of the worker, and of Valkey."""
    if shutil.which("valgrind") is None:
        raise RuntimeError("valgrind is needed: apt-get install valgrind")
    rounds = 1 if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder:
        async with _served(Path(folder)) as (served, worker, valkey, calls):
            figures = await _figures(served, worker, valkey, calls, rounds)
    result = table(
        f"Instructions for each call: {CONNECTIONS} connections, {PEOPLE} people, medians of {rounds} rounds",
        *("call", "worker", "± %", "Valkey", "calls in a batch"),
    )
    for name, figure in figures.items():
        spread = (max(figure.worker) - min(figure.worker)) / 2 / median(figure.worker)
        row = (f"{median(figure.worker):,.0f}", f"{spread:.1%}", f"{median(figure.valkey):,.0f}")
        result.add_row(name, *row, f"{mean(figure.batches):.1f}")
    return [result]


async def _figures(served: Served, worker: Counted, valkey: Counted, calls: Calls, rounds: int) -> dict[str, Figure]:
    server = _client(valkey.folder)
    both = (worker, valkey)

    async def counts() -> list[int]:
        return [await each.instructions() for each in both]

    for requests_of in calls.values():  # the caches are warm before anything is counted
        await _ask_all(served.port, worker.pid, requests_of())
    for each in both:
        await each.begin()
    await counts()
    await asyncio.sleep(IDLE_SECONDS)
    idle = [count / IDLE_SECONDS for count in await counts()]
    figures = {name: Figure() for name in calls}
    for _ in range(rounds):
        for name, figure in figures.items():
            requests = calls[name]()
            scripts, begun = _scripts(server), time.monotonic()
            await counts()
            await _ask_all(served.port, worker.pid, requests)
            took = time.monotonic() - begun
            spent = [count - each * took for count, each in zip(await counts(), idle, strict=True)]
            figure.worker.append(spent[0] / len(requests))
            figure.valkey.append(spent[1] / len(requests))
            figure.batches.append(len(requests) / max(1, _scripts(server) - scripts))
    return figures


def _client(folder: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(folder / SOCKET), decode_responses=True)


def _scripts(server: redis.Redis) -> int:
    """How many scripts Valkey has run."""
    found = server.info("commandstats")
    return sum(found[name]["calls"] for name in ("cmdstat_evalsha", "cmdstat_eval") if name in found)


async def _ask_all(port: int, worker: int, requests: list[bytes]) -> None:
    """Send the requests, one on each connection at a time. The worker is stopped until all of them are there, so that
    they are always one batch, however busy the machine is."""
    connections = [await asyncio.open_connection(HOST, port) for _ in range(CONNECTIONS)]
    for start in range(0, len(requests), CONNECTIONS):
        asked = list(zip(connections, requests[start : start + CONNECTIONS], strict=False))
        os.kill(worker, signal.SIGSTOP)
        for (_, writer), request in asked:
            writer.write(request)
        os.kill(worker, signal.SIGCONT)
        for (reader, _), _ in asked:
            await _read_answer(reader)
    for _, writer in connections:
        writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(f"a call was refused: {head.decode()}")
    if length := head.lower().partition(b"content-length:")[2]:
        await reader.readexactly(int(length.split(b"\r\n")[0]))


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[tuple[Served, Counted, Counted, Calls]]:
    """A server with one worker, its Valkey, and the requests of each call."""
    socket, data, port = folder / SOCKET, folder / "data", free_port()
    options = OPTIONS | {"appendfsync": "always"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    wrapper = folder / "worker"
    wrapper.write_text(
        f'#!/bin/sh\nexec {" ".join(_callgrind(folder, "worker"))} {sys.executable} "$@"\n', encoding="utf-8"
    )
    wrapper.chmod(0o700)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
    environ |= {"PYTHONHASHSEED": "0", "PYTHONPATH": SOURCE}
    serve = ("serve", "--store", f"valkey+unix://{quote(str(socket))}", "--data", str(data))
    web = ("--role", "web", "--host", HOST, "--port", str(port), "--workers", "1")
    async with AsyncExitStack() as stack:
        command = (*_callgrind(folder, "valkey"), str(find_server()), *words)
        valkey = await stack.enter_async_context(_process(command, folder, environ | dict(EmbeddedValkey.environ)))
        await _until(lambda: _answers(_client(folder)))
        # A web server is ready only while there is a keeper.
        command = (sys.executable, "-m", "fairline", *serve, "--role", "keeper")
        keeper = await stack.enter_async_context(_process(command, folder, environ))
        await _until((data / "admin-key").exists)
        command = (sys.executable, "-c", SERVE.format(worker=str(wrapper)), *serve, *web)
        server = await stack.enter_async_context(running(command, port, str(folder), environ, START_SECONDS))
        served = Served(port, server, data)
        calls = await _calls(served)
        keeper.terminate()
        (worker,) = served.workers()
        yield served, Counted(worker, "worker", folder), Counted(valkey.pid, "valkey", folder), calls


@asynccontextmanager
async def _process(
    command: Sequence[str], folder: Path, environ: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, env=environ, stdout=silent, stderr=silent)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _callgrind(folder: Path, name: str) -> tuple[str, ...]:
    out = folder / f"{name}.callgrind"
    return "valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"


async def _until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(START_SECONDS):
        while not holds():  # noqa: ASYNC110 - the servers have no way to say when
            await asyncio.sleep(0.05)


def _answers(server: redis.Redis) -> bool:
    try:
        return bool(server.ping())
    except redis.RedisError:
        return False


async def _calls(served: Served) -> Calls:
    """Fill the queues; for each call, a function that makes the requests of a round."""
    headers = {"authorization": f"Bearer {served.admin_key}"}
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{served.port}", headers=headers, timeout=60) as client:
        for queue in ("line", "joins"):
            await made(client, queue, {"admission_rate": 0})
        await made(client, "inside", {"admission_rate": 10_000, "max_active": 2000})
        waiting = await join(client, "line", PEOPLE)
        inside = await sessions(client, await join(client, "inside", PEOPLE))
    people = itertools.count()
    return {
        "heartbeat": lambda: [_request("POST", "/api/v1/heartbeat", token) for token in waiting],
        "heartbeat of a browser": lambda: [_request("POST", "/api/v1/heartbeat", token, BROWSER) for token in waiting],
        "status": lambda: [_request("GET", "/api/v1/status", token) for token in waiting],
        "verify": lambda: [_request("GET", "/api/v1/session/verify?queue=inside", token) for token in inside],
        "join": lambda: [_join(next(people)) for _ in range(PEOPLE)],
        "join of a browser": lambda: [_join(next(people), BROWSER) for _ in range(PEOPLE)],
    }


def _request(method: str, path: str, token: str, more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: bench\r\n{more}Authorization: Bearer {token}\r\n\r\n".encode()


def _join(number: int, more: str = "") -> bytes:
    body = f'{{"client_id":"round-{number:08d}"}}'
    head = f"POST /api/v1/queues/joins/join HTTP/1.1\r\nHost: bench\r\n{more}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
