"""One connection to a server, on which calls are sent without waiting for the answers to earlier ones.

The client's pool gives a connection to one call at a time, and each call takes several turns of the event loop. Here
all calls share one connection, and an answer is passed on as soon as it is read. With the pool, a heartbeat takes 38 %
more instructions.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import hiredis
from redis._parsers.base import BaseParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

_NOTHING = object()


class Pipe:
    """Calls to one server. It connects when needed, and again after a lost connection; no call is sent twice."""

    def __init__(self, make_connection: Callable[[], Any], seconds: float) -> None:
        self._make_connection = make_connection
        self._seconds = seconds
        self._open: _Open | None = None
        self._connecting = asyncio.Lock()

    async def call(self, *command: Any) -> Any:
        """Send a command and wait for its answer; an answer that is an error is raised."""
        pipe = self._open
        if pipe is None or pipe.closed:
            pipe = await self._connect()
        return await pipe.send(command)

    async def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close(RedisConnectionError("closed"))
            await self._open.ended

    async def _connect(self) -> _Open:
        async with self._connecting:
            if self._open is None or self._open.closed:
                connection = self._make_connection()
                await connection.connect()
                self._open = _Open(connection, self._seconds)
            return self._open


class _Open(asyncio.Protocol):
    """One open connection."""

    def __init__(self, connection: Any, seconds: float) -> None:
        # From here on only this object uses the transport. The client's connection must live on, or it would close it.
        self._connection = connection
        self._transport: asyncio.Transport = connection._writer.transport
        self._transport.set_protocol(self)
        self._seconds = seconds
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        """The calls that wait for an answer, and until when."""
        self._answers = hiredis.Reader(replyError=BaseParser.parse_error, notEnoughData=_NOTHING)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False
        self.ended: asyncio.Future[None] = self._loop.create_future()

    def send(self, command: tuple[Any, ...]) -> asyncio.Future[Any]:
        future = self._loop.create_future()
        self._transport.write(hiredis.pack_command(command))
        self._waiting.append((future, self._loop.time() + self._seconds))
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check_timeout)
        return future

    def close(self, error: Exception) -> None:
        """Answer everyone who still waits with the error."""
        self.closed = True
        self._transport.close()
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(error)

    def _check_timeout(self) -> None:
        """One timer for all calls: the one that has waited longest decides."""
        self._timer = None
        if not self._waiting:
            return
        until = self._waiting[0][1]
        if until <= self._loop.time():
            # An answer that still came would be taken for the answer to a later call.
            self._transport.abort()
            self.close(RedisTimeoutError(f"no answer within {self._seconds:g} s"))
        else:
            self._timer = self._loop.call_at(until, self._check_timeout)

    def data_received(self, data: bytes) -> None:
        self._answers.feed(data)
        try:
            while (answer := self._answers.gets()) is not _NOTHING:
                self._take(answer)
        except hiredis.HiredisError as broken:
            self.close(RedisConnectionError(str(broken)))

    def connection_lost(self, exc: Exception | None) -> None:
        self.close(RedisConnectionError(str(exc) if exc else "the connection was closed by the server"))
        self._connection._writer = self._connection._reader = None
        if not self.ended.done():
            self.ended.set_result(None)

    def _take(self, answer: Any) -> None:
        future, _ = self._waiting.popleft()
        if future.done():
            return  # the caller has given up; the call was executed anyway
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
