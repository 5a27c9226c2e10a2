"""The fast lane: hot calls answered at the level of the connection.

A subclass of uvicorn's httptools protocol recognises the paths of the fast lane when the headers are complete, collects
the body under its limit, hands a small request to a plain function, and writes the answer to the transport, without a
scope, a task or a coroutine per request. Anything else goes on to ASGI unchanged.

Owning the bytes obliges us to: one answer per request in order under pipelining (both kinds of request take their turn
in uvicorn's own pipeline), keep-alive and its time-out, a deadline for slow headers and bodies, limits on both, Expect,
HEAD, chunked bodies, a connection lost between request and answer, and a graceful end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from fairline.web.cors import Cors
from fairline.web.http import (
    BODY_LIMIT,
    STATUS_LINE,
    Handler,
    Outcome,
    Pending,
    Request,
    Response,
    Sent,
    Stream,
    Takeover,
)
from fairline.web.problems import failure, problem

#: Headers of one request, all together.
HEADERS_LIMIT = 16 * 1024
URL_LIMIT = 8 * 1024
#: Seconds a client has to send a request, once it has begun.
READ_SECONDS = 15.0
#: Seconds a connection may rest between requests.
IDLE_SECONDS = 75.0

Route = Callable[[str, bytes], tuple[Handler, dict[str, str]] | None]


def lane_for(route: Route, cors: Cors) -> type[FastLane]:
    """The protocol of a worker."""

    class Lane(FastLane):
        pass

    Lane.route = staticmethod(route)
    Lane.cors = cors
    return Lane


class _NoEvent:
    """uvicorn wakes its cycles by an event; a fast one has nothing to wake."""

    def set(self) -> None:
        """Nothing waits."""


class FastCycle:
    """One request of the fast lane, from its headers to its answer. Stands where uvicorn has its own cycle."""

    __slots__ = (
        "disconnected",
        "done",
        "handler",
        "keep_alive",
        "protocol",
        "request",
        "started",
        "too_large",
        "waits",
    )
    message_event: ClassVar[_NoEvent] = _NoEvent()

    def __init__(self, protocol: FastLane, request: Request, handler: Handler, keep_alive: bool, waits: bool) -> None:
        self.protocol = protocol
        self.request = request
        self.handler = handler
        self.keep_alive = keep_alive
        self.waits = waits
        """For a 100 Continue."""
        self.started = False
        self.too_large = False
        self.done = False
        self.disconnected = False

    @property
    def response_complete(self) -> bool:
        """uvicorn's word for it."""
        return self.done

    def start(self) -> None:
        """It is this request's turn; it runs as soon as its body is complete."""
        self.started = True
        if self.too_large:
            self.refuse("body_too_large", f"A body may have at most {BODY_LIMIT:,} bytes.")
        elif self.protocol.reading is not self:
            self.run()
        elif self.waits:
            self.protocol.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def body(self, chunk: bytes) -> None:
        """More of the body."""
        request = self.request
        if len(request.body) + len(chunk) > BODY_LIMIT:
            self.too_large = True
            request.body = b""
            if self.started and not self.done:
                self.refuse("body_too_large", f"A body may have at most {BODY_LIMIT:,} bytes.")
        elif not self.too_large:
            request.body = bytes(request.body) + chunk if request.body else chunk

    def run(self) -> None:
        """Hand the request to its function, and answer when the answer is there."""
        try:
            outcome: Outcome = self.handler(self.request)
        except Exception as error:
            self.answer(failure(self.request, error))
            return
        if isinstance(outcome, Pending):
            outcome.future.add_done_callback(partial(self._settled, outcome))
        else:
            self.answer(outcome)

    def _settled(self, pending: Pending[Any], _: asyncio.Future[Any]) -> None:
        # Runs as a callback of its own: one failed answer never stops its batch.
        try:
            answer = pending.result()
        except (Exception, asyncio.CancelledError) as error:
            answer = failure(self.request, error)
        self.answer(answer)

    def refuse(self, code: str, detail: str) -> None:
        """Answer with a problem, and end the connection: what else it sends cannot be trusted."""
        self.keep_alive = False
        self.answer(problem(code, detail, self.request.id))

    def answer(self, answer: Sent) -> None:
        """Write the answer, unless the client is gone."""
        if self.done:
            return
        self.done = True
        if isinstance(answer, Takeover):
            self.protocol.hand_over(self.request, answer)
        else:
            self.protocol.write_response(self.request, answer, self.keep_alive)


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


class FastLane(HttpToolsProtocol):
    """A connection. `route` finds the function of a path, or None for ASGI; a worker sets it, and `cors`, on a subclass
    of its own (see `lane_for`)."""

    route: Route
    cors: Cors

    def __init__(
        self,
        config: Any,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.reading: FastCycle | None = None
        """The fast request whose body is still coming."""
        self.since = self.loop.time()
        """When this request began, or the last one ended."""
        self.resting = False
        self._in_headers = True
        self._size = self._unfinished = 0

    # The connection

    def data_received(self, data: bytes) -> None:
        if self.resting or self.cycle is None:
            self.since = self.loop.time()
            self.resting = False
        super().data_received(data)
        # The parser tells of a header when it is complete: one without end must be counted here.
        if self._in_headers:
            self._unfinished += len(data)
            if self._unfinished > URL_LIMIT + HEADERS_LIMIT:
                self._refuse_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.reading = None

    def send_400_response(self, msg: str) -> None:
        self._refuse("bad_request", msg)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self.since = self.loop.time()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        else:
            self.resting = True

    def overdue(self, now: float) -> bool:
        """The client takes too long to send its request, or has rested too long."""
        if self.cycle is None or self.cycle.response_complete:
            return now - self.since > (IDLE_SECONDS if self.resting else READ_SECONDS)
        return self.reading is not None and now - self.since > READ_SECONDS

    def end_overdue(self) -> None:
        """Close a connection that is overdue, saying why if a request had begun."""
        if self.transport.is_closing():
            return
        if self.reading is not None and not self.reading.done:
            self.reading.refuse("request_timeout", f"A request must be sent within {READ_SECONDS:g} s.")
        elif not self.resting and self._in_headers and self._unfinished:
            self._refuse("request_timeout", f"The headers must be sent within {READ_SECONDS:g} s.")
        self.transport.close()

    # What the parser finds

    def on_message_begin(self) -> None:
        # uvicorn's scope is made only for requests that go on to ASGI.
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._size = self._unfinished = 0
        self._in_headers = True

    def on_url(self, url: bytes) -> None:
        self.url += url
        self._limit(len(url), URL_LIMIT)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._limit(len(name) + len(value), HEADERS_LIMIT)

    def _limit(self, more: int, most: int) -> None:
        self._size += more
        if self._size > most:
            self._refuse_headers()

    def _refuse_headers(self) -> None:
        self._refuse("headers_too_large", f"Address and headers may have at most {HEADERS_LIMIT:,} bytes.")

    def on_headers_complete(self) -> None:
        self._in_headers = False
        if self.transport.is_closing():
            return
        method = self.parser.get_method().decode("ascii")
        path, _, query = self.url.partition(b"?")
        found = self.route(method, path)
        if found is None:
            self._go_on_to_asgi()
            return
        handler, params = found
        peer = self.client[0] if self.client else None
        secure = self.scheme == "https"
        request = Request(method, path.decode("ascii", "replace"), query, self.headers, peer, secure)
        request.params = params
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        before = self.cycle
        cycle = FastCycle(self, request, handler, keep_alive, self.expect_100_continue)
        self.cycle: Any = cycle
        self.reading = cycle
        if before is None or before.response_complete:
            cycle.start()
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def _go_on_to_asgi(self) -> None:
        url, headers, expect = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expect
        self.headers.extend(headers)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.reading is not None:
            self.reading.body(body)
        elif self.cycle is not None and not isinstance(self.cycle, FastCycle):
            super().on_body(body)

    def on_message_complete(self) -> None:
        cycle = self.reading
        if cycle is not None:
            self.reading = None
            if cycle.started and not cycle.done:
                cycle.run()
        elif self.cycle is not None and not isinstance(self.cycle, FastCycle):
            super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        # uvicorn starts the next one of the pipeline here, of either kind.
        if isinstance(cycle, FastCycle):
            cycle.start()
        else:
            super()._start_asgi_task(cycle, app)

    # Answers

    def write_response(self, request: Request, response: Response, keep_alive: bool) -> None:
        """Write an answer of the fast lane and let the next request have its turn."""
        if self.transport.is_closing():
            return
        body = b"" if request.method == "HEAD" else response.body
        headers = [*response.all_headers(request.id), *self.cors.headers(request)]
        self._send(response.status, headers, keep_alive, body)
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()

    def hand_over(self, request: Request, takeover: Takeover) -> None:
        """Write the headers of a stream and leave the connection to it; what this protocol held is freed."""
        if self.transport.is_closing():
            takeover.stream.lost()
            return
        # No length: the body goes on until the connection ends.
        self._send(200, [*takeover.head(request), *self.cors.headers(request)], keep_alive=False)
        self.connections.discard(self)
        if request.method == "HEAD":
            takeover.stream.lost()
            self.transport.close()
            return
        streaming = Streaming(takeover.stream, self.connections)
        self.transport.set_protocol(streaming)
        takeover.stream.opened(self.transport)

    def _refuse(self, code: str, detail: str) -> None:
        """Answer what never became a request, and end the connection."""
        if not self.transport.is_closing():
            response = problem(code, detail, "-")
            self._send(response.status, response.all_headers("-"), keep_alive=False, body=response.body)
            self.transport.close()

    def _send(self, status: int, headers: list[tuple[bytes, bytes]], keep_alive: bool, body: bytes = b"") -> None:
        parts = [STATUS_LINE[status]]
        for name, value in (*self.server_state.default_headers, *headers):
            parts += (name, b": ", value, b"\r\n")
        parts.append(b"\r\n" if keep_alive else b"connection: close\r\n\r\n")
        parts.append(body)
        self.transport.write(b"".join(parts))
