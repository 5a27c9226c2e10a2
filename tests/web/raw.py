"""A client that owns its bytes: it sends what the test says, whole or in pieces, and reads one answer at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tests.backends import HOST

SECONDS = 30
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Answer(msgspec.Struct):
    """One answer as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of a problem, and that it is a whole one."""
        problem = self.json()
        assert self.headers["content-type"] == "application/problem+json", self
        assert problem["status"] == self.status
        assert problem["request_id"] == self.headers["x-request-id"]
        assert set(problem) >= {"type", "title", "detail"}
        return str(problem["code"])

    @property
    def closes(self) -> bool:
        """The server says that it is the last one."""
        return self.headers.get("connection") == "close"

    def json(self) -> Any:
        return json.loads(self.body)


class Raw:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send, and wait until the kernel has it."""
        self.writer.write(data)
        await self.writer.drain()

    async def dribble(self, data: bytes) -> None:
        """Send in packets of one byte."""
        for at in range(len(data)):
            self.writer.write(data[at : at + 1])
            await asyncio.sleep(0)  # or else they go out together

    async def answer(self, *, head: bool = False) -> Answer:
        """The next answer; `head` if it is one to HEAD, which has no body. Of a stream, only its headers."""
        async with asyncio.timeout(SECONDS):
            start = await self.reader.readuntil(b"\r\n\r\n")
            status = int(start[9:12])
            lines = start.decode("latin-1").split("\r\n")[1:-2]
            headers = dict(line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:] for line in lines)
            if head or status < 200 or status == 204 or b"\r\ncontent-type: text/event-stream" in start:
                body = b""
            elif found := _LENGTH.search(start):
                body = await self.reader.readexactly(int(found[1]))
            else:
                body = await self._chunks()
            return Answer(status, headers, body)

    async def answers(self, count: int) -> list[Answer]:
        return [await self.answer() for _ in range(count)]

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)
        return body

    async def rest(self) -> bytes:
        """Everything that comes until the server closes the connection."""
        async with asyncio.timeout(SECONDS):
            return await self.reader.read()

    async def over(self) -> None:
        """The server ends the connection, in order or not: one that is closed with something unread is reset."""
        with contextlib.suppress(ConnectionError):
            await self.rest()

    async def ends(self) -> None:
        """The server closes the connection and has nothing more to say."""
        assert await self.rest() == b""

    def half_close(self) -> None:
        """Nothing more will be sent; answers are read. A server that is gone already needs no signal."""
        with contextlib.suppress(OSError):
            self.writer.write_eof()

    async def close(self) -> None:
        """Go away in order (FIN)."""
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)

    async def reset(self) -> None:
        """Go away without a word (RST)."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


@asynccontextmanager
async def connected(port: int, *, limit: int = 0) -> AsyncIterator[Raw]:
    """A connection to a server on this machine; `room` is about how many bytes of answers it can hold unread."""
    sock = socket.socket()
    if limit:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limit)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (HOST, port))
    raw = Raw(*await asyncio.open_connection(sock=sock, limit=limit or 2**20))
    try:
        yield raw
    finally:
        await raw.close()


async def asked(port: int, data: bytes, *, head: bool = False) -> Answer:
    """One request on a connection of its own."""
    async with connected(port) as raw:
        await raw.send(data)
        return await raw.answer(head=head)


def request(
    method: str, path: str, body: bytes | None = None, *, token: str = "", version: str = "1.1", **headers: str
) -> bytes:
    """A plain request; names of headers are written with `_` for `-`."""
    lines = [f"{method} {path} HTTP/{version}", "host: fairline.test"]
    if token:
        lines.append(f"authorization: Bearer {token}")
    if body is not None and "transfer_encoding" not in headers:
        lines.append(f"content-length: {len(body)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def chunked(body: bytes, size: int, trailers: bytes = b"") -> bytes:
    """A body in chunks of this many bytes."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


def slow(path: str) -> str:
    """The same address written so that the ASGI application answers it."""
    return path.replace("/api/", "/%61pi/", 1)
