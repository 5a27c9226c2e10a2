"""Whole servers to measure: Fairline as an operator starts it, and a bare ASGI echo to compare with."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

HOST = "127.0.0.1"
WORKERS = 2
READY_SECONDS = 30.0

#: The measure of all things: reads JSON, and answers with it; where nothing came, with what it has at hand.
ECHO = """
import json

AT_HAND = b'{"queue":"bench","ticket":123,"label":"RBENCH-000123","status":"waiting","position":17,"queue_length":40}'

async def app(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    answer = json.dumps(json.loads(body)).encode() if body else AT_HAND
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
"""


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Served:
    """A server that runs: where it is, and which processes it has."""

    def __init__(self, port: int, process: asyncio.subprocess.Process, data: Path | None = None) -> None:
        self.port = port
        self.process = process
        self.data = data

    @property
    def admin_key(self) -> str:
        """The first admin key of a Fairline."""
        assert self.data is not None
        return (self.data / "admin-key").read_text(encoding="utf-8").strip()

    def workers(self) -> list[int]:
        """The ids of its HTTP processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [pid for pid in map(int, children) if b"fairline.process.worker" in _command(pid)]


@asynccontextmanager
async def fairline(**environ: str) -> AsyncIterator[Served]:
    """Fairline with two workers on the embedded store, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder:
        port, data = free_port(), Path(folder, "data")
        options = ("--host", HOST, "--port", str(port), "--data", str(data), "--workers", str(WORKERS))
        ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
        command = (sys.executable, "-m", "fairline", "serve", *options)
        async with running(command, port, folder, ours | environ) as process:
            yield Served(port, process, data)


@asynccontextmanager
async def echo() -> AsyncIterator[Served]:
    """A bare ASGI echo of JSON on uvicorn, with as many workers."""
    with tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder:
        _write_echo(Path(folder))
        port = free_port()
        options = ("--host", HOST, "--port", str(port), "--workers", str(WORKERS), "--no-access-log", "--log-level")
        command = (sys.executable, "-m", "uvicorn", "echo:app", *options, "warning")
        async with running(command, port, folder, dict(os.environ)) as process:
            yield Served(port, process)


@asynccontextmanager
async def running(
    command: Sequence[str], port: int, folder: str, environ: dict[str, str], seconds: float = READY_SECONDS
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server, once it is ready, which it must be after this many seconds."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _ready(port, seconds)
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _write_echo(folder: Path) -> None:
    (folder / "echo.py").write_text(ECHO, encoding="utf-8")


async def _ready(port: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(b"GET /readyz HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")
            ready = (await reader.read(64)).startswith(b"HTTP/1.1 200")
            writer.close()
            if ready:
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"no server became ready on port {port}")
        await asyncio.sleep(0.05)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
