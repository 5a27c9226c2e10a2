"""The fast lane: hot calls answered at the level of the connection.

A subclass of uvicorn's httptools protocol recognises the paths of the fast lane when the headers are complete, collects
the body under its limit, hands a small request to a plain function, and writes the answer to the transport, without a
scope, a task or a coroutine per request. Anything else goes on to ASGI unchanged.

Owning the bytes obliges us to limits on headers and bodies, Expect, HEAD, chunked bodies; and, in connection.py, to one
answer per request in order under pipelining, keep-alive and its time-out, a deadline for clients that send or read too
slowly, connections lost between request and answer, and a graceful end. All of it holds for both lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from httptools import HttpParserInvalidURLError, parse_url

from fairline.web.connection import HEADERS_LIMIT, Connection, Refused
from fairline.web.cors import Cors
from fairline.web.cycle import FastCycle
from fairline.web.http import BODY_LIMIT, HAND_OVER, Handler

#: The address of a request, which counts among its headers too.
URL_LIMIT = 8 * 1024

#: Headers that say how the request itself is sent.
_MINDED = frozenset((b"content-length", b"transfer-encoding", b"expect"))

Route = Callable[[str, bytes], tuple[Handler, dict[str, str]] | None]


def lane_for(
    route: Route, cors: Cors, answered: Callable[[str, str, int], None] = lambda _method, _path, _status: None
) -> type[FastLane]:
    """The protocol of a worker; `answered` hears of the method, the path and the status of each answer."""

    class Lane(FastLane):
        pass

    Lane.route = staticmethod(route)
    Lane.cors = cors
    Lane.answered = staticmethod(answered)
    return Lane


class FastLane(Connection):
    """A connection. `route` finds the function of a path, or None for ASGI; a worker sets it, and `cors`, on a subclass
    of its own (see `lane_for`)."""

    __slots__ = ()
    route: Route

    # What the parser finds

    def on_message_begin(self) -> None:
        # uvicorn's scope is made only for requests that go on to ASGI.
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self.since = self.loop.time()
        self.resting = False
        self._begun = self._in_headers = True
        self._size = self._length = self._unheard = 0
        self._encoding = b""

    def on_url(self, url: bytes) -> None:
        self.url += url
        self._size = len(self.url)
        if self._size > URL_LIMIT:
            self.refuse_headers()
            raise Refused

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value) + 4
        if self._size > HEADERS_LIMIT:
            self.refuse_headers()
            raise Refused
        if not self._in_headers:
            return  # a trailer: nothing here is said after the body
        name = name.lower()
        self.headers.append((name, value))
        if name not in _MINDED:
            return
        if name == b"content-length":
            self._length = int(value[:20])
        elif name == b"transfer-encoding":
            self._encoding = value.lower()
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True
        else:
            self.refuse("expectation_failed", "The only expectation known here is 100-continue.")
            raise Refused

    def on_headers_complete(self) -> None:
        method = self.parser.get_method().decode("ascii")
        version = self.parser.get_http_version()
        if version != "1.1" or self._encoding or self._length > BODY_LIMIT or self._deaf or method == "CONNECT":
            self._check(method, version)
        if self.parser.should_upgrade():
            return
        if version == "1.1" and not any(name == b"host" for name, _ in self.headers):
            self.refuse("bad_request", "A request of HTTP/1.1 must name its host.")
            raise Refused
        self._in_headers = False
        self._length = 0
        if version == "1.0":
            self.expect_100_continue = False
        path, _, query = self.url.partition(b"?")
        # Addresses that are not written in the plainest way go on to ASGI, which understands them all.
        found = None if b"%" in path or b"#" in query else self.route(method, path)
        if found is None:
            self._go_on_to_asgi(method)
            return
        handler, params = found
        keep_alive = version != "1.0" and self.parser.should_keep_alive() and not self._ending
        self.receiving = cycle = FastCycle(
            self, handler, method, path.decode("ascii"), query, keep_alive=keep_alive, waits=self.expect_100_continue
        )
        cycle.params = params
        self.enter(cycle)

    def _check(self, method: str, version: str) -> None:
        """Refuse what is neither lane's."""
        if self._length > BODY_LIMIT:
            self._refuse_body()
        elif method == "CONNECT":
            self.refuse("method_not_allowed", "This server is no proxy.")
        elif version not in ("1.1", "1.0"):
            self.refuse("bad_request", f"HTTP/{version} is not spoken here. Use HTTP/1.1.")
        elif self._encoding not in (b"", b"chunked") or (self._encoding and version == "1.0"):
            self.refuse("bad_request", "A body can be sent with its length, or in HTTP/1.1 as plain chunks.")
        if self._deaf:
            raise Refused

    def _go_on_to_asgi(self, method: str) -> None:
        url, headers, expect = origin_form(method, self.url), self.headers, self.expect_100_continue
        if url is None:
            self.refuse("bad_request", "The address is not a proper one.")
            raise Refused
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expect
        self.headers.extend(headers)
        self.scope["extensions"] = {HAND_OVER: self.hand_over_from_asgi}  # type: ignore[dict-item]
        super().on_headers_complete()
        self.receiving = self.cycle
        if self._ending:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._length += len(body)
        if self._length > BODY_LIMIT:
            self._refuse_body()
            raise Refused
        if isinstance(self.receiving, FastCycle):
            self.receiving.more(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        cycle, self.receiving = self.receiving, None
        if cycle is None:
            return  # it wants to be upgraded, and will be seen again
        self._begun = False
        if not isinstance(cycle, FastCycle):
            super().on_message_complete()
        elif cycle is self.turn:
            cycle.run()

    def _refuse_body(self) -> None:
        self.refuse("body_too_large", f"A body may have at most {BODY_LIMIT:,} bytes.")


def origin_form(method: str, url: bytes) -> bytes | None:
    """An address as path and query, whichever of the forms of RFC 9112 it came in; None if it is none of them."""
    if url == b"*" and method == "OPTIONS":
        return b"/"
    try:
        parts = parse_url(url)
    except HttpParserInvalidURLError:
        return None
    path = parts.path or b"/"
    return path + b"?" + parts.query if parts.query else path
