"""A connection of the server: the order of its requests, their bytes and those of the answers, and how it ends.

Requests of the fast path, requests of ASGI and refusals all wait in uvicorn's own pipeline: one answer per request, in
order. Input is parsed in pieces. Parsing stops while requests wait for an answer or the client does not read its
answers, so a connection never holds more than a few requests and some hundred kilobytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from time import monotonic
from typing import Any

import structlog
from httptools import HttpParserError, HttpParserUpgrade

from fairline.web.server.connection_state import READ_SECONDS, ConnectionState
from fairline.web.server.cors import Cors
from fairline.web.server.fast_cycle import FastCycle, Flow, Streaming
from fairline.web.server.head import Head
from fairline.web.server.http import STATUS_LINE, Headers, Request, Response, Takeover, header_lines
from fairline.web.server.problems import problem
from fairline.web.server.write_together import PendingWrites

log = structlog.get_logger()

#: Bytes of the address and the headers of one request together.
HEADERS_LIMIT = 16 * 1024
#: Input is parsed in pieces of this many bytes: no more requests than fit into one piece ever wait for an answer.
PIECE = 4096


class Refused(Exception):
    """Stops the parser: the rest of the input is ignored."""


class Connection(ConnectionState):
    """A connection, without what its requests mean: that is in FastPath."""

    __slots__ = ()
    cors: Cors
    pending_writes: PendingWrites
    answered: Callable[[str, str, int], None]
    """Called with the method, the path and the status of each answer."""

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport)
        self.peer = self.client[0] if self.client else None
        self.secure = self.scheme == "https"

    def data_received(self, data: bytes) -> None:
        if self._input_closed:
            return
        if not self.is_busy() and len(data) <= PIECE:
            self._parse_at_once(data)
        else:
            self._unparsed = self._unparsed + data if self._unparsed else data
            self._process()

    def _parse_at_once(self, data: bytes) -> None:
        """The usual case: nothing is under way, and a request arrives in one piece."""
        self._processing = True
        try:
            self._parse(data)
        finally:
            self._processing = False
        if self.current is None or self._unparsed or self.pipeline or self.flow.write_paused:
            self._process()

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has closed its side still receives its answers, except a stream, which would never end."""
        self._eof = True
        self.pending_writes.flush()
        current = self.current
        answering = (
            current is not None and current is not self.receiving and not getattr(current, "response_started", False)
        )
        return answering or self._must_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        for cycle in (self.current, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)
        self._release()

    def _release(self) -> None:
        """Drop all references: objects that refer to each other are freed late."""
        self._input_closed = True
        self._unparsed = b""
        self.pipeline.clear()
        self.parser = self.cycle = self.current = self.receiving = self.scope = None  # type: ignore[assignment]

    def pause_writing(self) -> None:
        super().pause_writing()
        self.since = monotonic()
        self.idle = False

    def resume_writing(self) -> None:
        super().resume_writing()
        self.since = monotonic()
        self._process()

    def shutdown(self) -> None:
        """The server is about to end: answer the requests under way, then close."""
        self._ending = True
        self.pending_writes.flush()
        if self._lingering or (self.current is None and not self._in_request):
            self.transport.close()
            return
        self.since = monotonic()
        if not self._in_headers:  # otherwise the request being received is the last one
            self.cycle.keep_alive = False

    # The order of requests

    def _process(self) -> None:
        """Parse waiting input and start waiting requests, as long as the client reads its answers."""
        if self._processing:
            return  # called from within the loop below, which continues
        self._processing = True
        try:
            while (self._unparsed or self.pipeline) and not (self._must_wait() or self.transport.is_closing()):
                if self.pipeline:
                    self.since = monotonic()
                    self._start_asgi_task(*self.pipeline.pop())
                else:
                    piece, self._unparsed = self._unparsed[:PIECE], self._unparsed[PIECE:]
                    self._parse(piece)
        finally:
            self._processing = False
        if not self.transport.is_closing():
            self._pause_or_become_idle()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        # Every request starts here, on the fast path and on ASGI.
        self.current = cycle
        if isinstance(cycle, FastCycle):
            cycle.start()
        else:
            super()._start_asgi_task(cycle, app)

    def _pause_or_become_idle(self) -> None:
        flow = self.flow
        flow.backlogged = self._must_wait()
        if flow.backlogged:
            flow.pause_reading()
        elif not self._eof:
            if flow.read_paused:
                flow.resume_reading()
            if self.current is None and not self._in_request and not self.idle:
                self._become_idle()
        elif self.current is None:
            self.transport.close()

    def _become_idle(self) -> None:
        self.idle = not self._input_closed
        self.since = monotonic()
        self.cycle = self.scope = self.headers = None  # type: ignore[assignment]

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self.current = None
        if self._processing:
            return
        if (
            self._unparsed
            or self.pipeline
            or self._in_request
            or self._eof
            or self.flow.write_paused
            or self.flow.read_paused
        ):
            self._process()
        elif not self.transport.is_closing():  # the usual case: there is nothing more to do
            self._become_idle()

    # Deadlines

    def end_overdue(self) -> None:
        """Close an overdue connection, with a refusal if a request had begun."""
        if self.transport.is_closing():
            return
        if self._lingering or self.flow.write_paused:
            self.transport.abort()
        elif self._in_request:
            self.refuse("request_timeout", f"A request must be sent within {READ_SECONDS:g} s.")
        else:
            self.transport.close()

    # Bytes in

    def _parse(self, data: bytes) -> None:
        before = (self._size, self._length)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # This server upgrades to nothing. The parser has not read the body, if there is one: it receives the
            # request once more without the Upgrade header.
            self._unparsed = self.without_upgrade() + data[upgrade.args[0] :] + self._unparsed
        except HttpParserError as error:
            cause = error.__context__
            if cause is not None and not isinstance(cause, Refused):
                log.error("http.failed", exc_info=cause)
            self.refuse("bad_request", "The request is not valid HTTP/1.1. Check how it is written.")
        # The parser calls back when a header is complete: a header without end is noticed only by its length.
        if before != (self._size, self._length):
            self._unreported = 0
        else:
            self._unreported += len(data)
            if self._unreported > HEADERS_LIMIT:
                self.refuse_headers()

    def without_upgrade(self) -> bytes:
        """The head of the request that is being received, as bytes, without its Upgrade header."""
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join((*lines, b"", b""))

    def enter(self, cycle: FastCycle) -> None:
        """Start a request, now or after those before it."""
        self.cycle: Any = cycle
        if self.current is None and not self.pipeline:
            self._start_asgi_task(cycle, self.app)
        else:
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    # Bytes out

    def write_response(self, request: Request, response: Response, keep_alive: bool) -> None:
        """Write an answer and start the next request."""
        method, flow = request.head.method, self.flow
        self.answered(method, request.head.path, response.status)
        if self.transport.is_closing():
            return
        answer = response.whole(request.id, self._last_lines(request, keep_alive), bare=method == "HEAD")
        more = self._processing or self._unparsed or self.pipeline or self._in_request or self._eof
        if keep_alive and not (more or flow.write_paused or flow.read_paused):
            # The usual case: there is nothing more to do on this connection.
            self.pending_writes.add(self.transport, answer)
            self.server_state.total_requests += 1
            self.current = None
            self._become_idle()
            return
        self.transport.write(answer)  # at once: other data may be written in the same iteration of the event loop
        if not keep_alive:
            self._finish()
        self.on_response_complete()

    def hand_over(self, request: Request, takeover: Takeover) -> None:
        """Write the headers of a stream and hand the connection over to it; this protocol frees its own state."""
        transport, stream = self.transport, takeover.stream
        self.answered(request.method, request.path, 200)
        if transport.is_closing():
            stream.lost()
            return
        # No length: the body continues until the connection ends.
        head = STATUS_LINE[200] + header_lines(takeover.head(request))
        transport.write(head + self._last_lines(request, keep_alive=False))
        self.server_state.total_requests += 1
        if request.method == "HEAD":
            stream.lost()
            transport.close()
            return
        self.connections.discard(self)
        self.flow.backlogged = False
        self.flow.resume_reading()  # to notice when the client disconnects
        transport.set_protocol(Streaming(stream, self.connections))
        stream.opened(transport)
        if self._ending or self._eof:
            stream.shutdown()
        self._release()

    def hand_over_from_asgi(self, request: Request, takeover: Takeover) -> None:
        """The same for a stream that came through ASGI: its application is done with the connection."""
        self.current.disconnected = True
        self.hand_over(request, takeover)

    def refuse(self, code: str, detail: str, headers: Headers = ()) -> None:
        """Answer the request that is being received with a problem, after those before it, and ignore further input."""
        if self._input_closed:
            return
        self._input_closed = True
        self.idle = False
        self._unparsed = b""
        cycle, self.receiving = self.receiving, None
        if not self._in_request:
            self.headers, self.url = [], b""
        # Until the address has begun, the parser still has the method of the previous request: where that was HEAD,
        # this answer would lose its body.
        method = self.parser.get_method().decode("ascii") if self.url else ""
        head = Head(method, "", headers=self.headers or ())
        refusal = FastCycle(
            head,
            self.peer,
            self.secure,
            protocol=self,
            handler=lambda request: problem(code, detail, request.id).with_headers(*headers),
            keep_alive=False,
        )
        if cycle is None:
            self.enter(refusal)
        elif cycle.response_complete:
            self._finish()  # it was answered before it was complete
        elif cycle is not self.current:
            self.pipeline.popleft()
            self.enter(refusal)
        elif getattr(cycle, "response_started", False):
            self.transport.abort()
        else:
            cycle.disconnected = True
            cycle.message_event.set()
            self.cycle = refusal
            self._start_asgi_task(refusal, self.app)

    def refuse_headers(self) -> None:
        """Refuse headers that are too long or have no end."""
        self.refuse("headers_too_large", f"Address and headers may have at most {HEADERS_LIMIT:,} bytes together.")

    def _finish(self) -> None:
        """End the connection. Closing it while the client sends would reset it, and the client may then never read our
        last answer: after a refusal we only stop writing and give the client a moment to read."""
        if self._input_closed and not self._eof and self.transport.can_write_eof():
            self._lingering = True
            self.since = monotonic()
            self.transport.write_eof()
        else:
            self._input_closed = True
            self.transport.close()

    def _last_lines(self, request: Request, keep_alive: bool) -> bytes:
        """The headers of all answers, and the line that ends them."""
        cors = self.cors.headers(request)
        last = _default_lines(keep_alive, *self.server_state.default_headers)
        return header_lines(cors) + last if cors else last


@lru_cache(maxsize=4)
def _default_lines(keep_alive: bool, *headers: tuple[bytes, bytes]) -> bytes:
    """The date, which uvicorn renews each second, and whether the connection stays open."""
    return header_lines(headers) + (b"\r\n" if keep_alive else b"connection: close\r\n\r\n")
