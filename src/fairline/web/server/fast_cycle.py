"""Replacements for uvicorn's classes on the fast path: a request cycle, the flow control of a connection, and the
protocol of an open stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.flow_control import FlowControl

from fairline.errors import FairlineError
from fairline.web.server.http import Handler, Outcome, Pending, Request, Sent, Stream, Takeover
from fairline.web.server.problems import failure

if TYPE_CHECKING:
    from fairline.web.server.connection import Connection

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class _NoEvent:
    """uvicorn wakes its cycles with an event; a fast cycle has nothing to wake."""

    def set(self) -> None:
        """Do nothing: nothing waits for it."""


class FastCycle(Request, eq=False, kw_only=True):
    """One request of the fast path, from its headers to its answer."""

    protocol: Connection
    handler: Handler
    keep_alive: bool = True
    waits: bool = False
    """The client waits for a 100 Continue."""
    response_complete: bool = False
    disconnected: bool = False
    _succeeded: bool = False
    _then: Callable[[], None] | None = None
    """What to do if the request succeeds."""
    message_event: ClassVar[_NoEvent] = _NoEvent()

    def on_success(self, then: Callable[[], None]) -> None:
        """Call this once the request has succeeded; never, if it is refused."""
        if not self.response_complete:
            self._then = then
        elif self._succeeded:
            then()

    def start(self) -> None:
        """All requests before this one are answered; it runs as soon as its body is complete."""
        if self.protocol.receiving is not self:
            self.run(self.handler, self)
        elif self.waits:
            self.protocol.transport.write(_CONTINUE)

    def more(self, chunk: bytes) -> None:
        """Add a part of the body: usually the whole of it. Many small parts are not copied each time."""
        if not self.body:
            self.body = chunk
        elif isinstance(self.body, bytearray):
            self.body += chunk
        else:
            self.body = bytearray(self.body + chunk)

    def run(self, step: Callable[[Any], Outcome], arrived: Any) -> None:
        """Take a step, and write the answer when it is ready. The first step is the handler, with the request; the next
        one makes the answer from the result that it waited for, or from the error that came instead."""
        try:
            outcome = step(arrived)
            if isinstance(outcome, Pending):
                outcome.call.then(partial(self.run, outcome.sent))
                return
            if not isinstance(outcome, Sent):
                asyncio.ensure_future(outcome).add_done_callback(partial(self.run, _answer_of))
                return
        except Exception as error:
            outcome = failure(self, error)
        self.answer(outcome)

    def answer(self, answer: Sent) -> None:
        """Write the answer, unless the client is gone."""
        self.response_complete = True
        then, self._then = self._then, None  # it may refer to this cycle: only a collection would free both
        if isinstance(answer, Takeover):
            self.protocol.hand_over(self, answer)
            return
        self._succeeded = answer.status < 300
        if self._succeeded and then is not None:
            then()
        self.protocol.write_response(self, answer, self.keep_alive)


def _answer_of(task: asyncio.Future[Sent]) -> Sent:
    """The answer of a coroutine that has ended. It is cancelled only if the event loop ends."""
    if task.cancelled():
        raise FairlineError("Shutting down.")
    return task.result()


class Flow(FlowControl):
    """uvicorn resumes reading whenever an application asks for its body; here only while no other input waits. The
    event that an application waits on while the client does not read is created only when it is needed: it takes more
    memory than the rest of the object."""

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
    """The protocol of a connection that belongs to a stream. It keeps as little as possible."""

    __slots__ = ("_connections", "_stream")

    def __init__(self, stream: Stream, connections: set[Any]) -> None:
        self._stream = stream
        self._connections = connections
        connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._stream.lost()

    def shutdown(self) -> None:
        """uvicorn calls this on every connection when the server ends."""
        self._stream.shutdown()
