"""One connection on which calls follow each other without waiting for answers.

The hot calls of a worker all go to one server, which does one thing at a time anyway. A pool gives each call a
connection, checks it, and gives it back: several times what the call itself costs. Here a call is a write and a future;
the answers come in the order of the calls. The connection is the client library's own, with its way of greeting a
server (address, password, database, TLS); only what is said on it afterwards is ours.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import hiredis
from redis._parsers.base import BaseParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

READ_BYTES = 256 * 1024
_NOTHING = object()


class Pipe:
    """Calls to one server. Connects when it is needed, and again after a loss; what was sent is never sent twice."""

    def __init__(self, make_connection: Callable[[], Any], seconds: float) -> None:
        self._make_connection = make_connection
        self._seconds = seconds
        self._open: _Open | None = None
        self._connecting = asyncio.Lock()

    async def call(self, *command: Any) -> Any:
        """Send a command and wait for its answer; an error that is answered is raised."""
        pipe = self._open
        if pipe is None or pipe.closed:
            pipe = await self._connect()
        try:
            async with asyncio.timeout(self._seconds):
                return await pipe.send(command)
        except TimeoutError:
            # Whatever comes now comes too late, and would be taken for the answer to a later call.
            pipe.close(RedisTimeoutError(f"no answer within {self._seconds:g} s"))
            raise RedisTimeoutError(f"no answer within {self._seconds:g} s") from None

    async def close(self) -> None:
        """End the connection."""
        if self._open is not None:
            self._open.close(RedisConnectionError("closed"))
            await self._open.ended()

    async def _connect(self) -> _Open:
        async with self._connecting:
            if self._open is None or self._open.closed:
                connection = self._make_connection()
                await connection.connect()
                self._open = _Open(connection)
            return self._open


class _Open:
    """A connection while it lasts."""

    def __init__(self, connection: Any) -> None:
        # The streams are ours from here on; the object that made them must neither use nor close them.
        self._writer, reader = connection._writer, connection._reader
        connection._writer = connection._reader = None
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._answers = hiredis.Reader(replyError=BaseParser.parse_error, notEnoughData=_NOTHING)
        self._loop = asyncio.get_running_loop()
        self._reading = self._loop.create_task(self._read(reader))
        self.closed = False

    def send(self, command: tuple[Any, ...]) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        self._writer.write(hiredis.pack_command(command))
        self._waiting.append(future)
        return future

    def close(self, error: Exception) -> None:
        """Answer everyone who still waits with the error."""
        self.closed = True
        self._reading.cancel()
        self._writer.close()
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    async def ended(self) -> None:
        """Wait until it is closed."""
        await asyncio.wait([self._reading])
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        error: Exception = RedisConnectionError("the connection was closed by the server")
        try:
            while data := await reader.read(READ_BYTES):
                self._answers.feed(data)
                while (answer := self._answers.gets()) is not _NOTHING:
                    self._take(answer)
        except (OSError, hiredis.HiredisError) as broken:
            error = RedisConnectionError(str(broken))
        self.close(error)

    def _take(self, answer: Any) -> None:
        future = self._waiting.popleft()
        if future.done():
            return  # the caller has given up; what it asked for is done all the same
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
