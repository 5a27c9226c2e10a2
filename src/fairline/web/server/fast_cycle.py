"""What stands in the fast lane where uvicorn has its own: a request, the flow of a connection, and a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.flow_control import FlowControl

from fairline.web.server.http import Handler, Outcome, Pending, Request, Sent, Stream, Takeover
from fairline.web.server.problems import failure

if TYPE_CHECKING:
    from fairline.web.server.connection import Connection

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class _NoEvent:
    """uvicorn wakes its cycles by an event; a fast one has nothing to wake."""

    def set(self) -> None:
        """Nothing waits."""


class FastCycle(Request, eq=False, kw_only=True):
    """One request of the fast lane, from its headers to its answer."""

    protocol: Connection
    handler: Handler
    keep_alive: bool = True
    waits: bool = False
    """For a 100 Continue."""
    response_complete: bool = False
    disconnected: bool = False
    _well: bool = False
    _act: Callable[[], None] | None = None
    """Whether it had what it asked for; and what is to be done if so."""
    message_event: ClassVar[_NoEvent] = _NoEvent()

    def on_success(self, act: Callable[[], None]) -> None:
        """Do this once the request has what it asked for; never, if it is refused."""
        if not self.response_complete:
            self._act = act
        elif self._well:
            act()

    def start(self) -> None:
        """It is this request's turn; it runs as soon as its body is complete."""
        if self.protocol.receiving is not self:
            self.run()
        elif self.waits:
            self.protocol.transport.write(_CONTINUE)

    def more(self, chunk: bytes) -> None:
        """More of the body: nearly always all of it, and never a copy for every byte."""
        if not self.body:
            self.body = chunk
        elif isinstance(self.body, bytearray):
            self.body += chunk
        else:
            self.body = bytearray(self.body + chunk)

    def run(self) -> None:
        """Hand the request to its function, and answer when the answer is there."""
        try:
            outcome: Outcome = self.handler(self)
            if isinstance(outcome, Pending):
                outcome.deferred.then(partial(self.settled, outcome))
                return
        except Exception as error:
            outcome = failure(self, error)
        self.answer(outcome)

    def settled(self, pending: Pending[Any], arrived: Any) -> None:
        """What the answer waited for is there, or the error that came instead."""
        try:
            outcome = pending.sent(arrived)
            if isinstance(outcome, Pending):
                outcome.deferred.then(partial(self.settled, outcome))
                return
        except Exception as error:
            outcome = failure(self, error)
        self.answer(outcome)

    def answer(self, answer: Sent) -> None:
        """Write the answer, unless the client is gone."""
        self.response_complete = True
        act, self._act = self._act, None  # it may hold on to us, and only a collection would free both
        if isinstance(answer, Takeover):
            self.protocol.hand_over(self, answer)
            return
        self._well = answer.status < 300
        if self._well and act is not None:
            act()
        self.protocol.write_response(self, answer, self.keep_alive)


class Flow(FlowControl):
    """uvicorn resumes reading whenever an application asks for its body; here only if nothing else is held back. And
    only who has to wait for the client to read has something to wait on: it takes more than all the rest of it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = self.write_paused = self.backlogged = False

    def resume_reading(self) -> None:
        if not self.backlogged:
            super().resume_reading()

    def pause_writing(self) -> None:
        if not self.write_paused:
            self.write_paused = True
            self._is_writable_event = asyncio.Event()


class Streaming(asyncio.Protocol):
    """A connection that belongs to a stream: as little as can be kept of it."""

    __slots__ = ("_connections", "_stream")

    def __init__(self, stream: Stream, connections: set[Any]) -> None:
        self._stream = stream
        self._connections = connections
        connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._stream.lost()

    def shutdown(self) -> None:
        """uvicorn asks every connection to end."""
        self._stream.shutdown()
