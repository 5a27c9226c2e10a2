"""The fast lane: hot calls answered at the level of the connection.

A subclass of uvicorn's httptools protocol recognises the paths of the fast lane when the headers are complete, collects
the body under its limit, hands a small request to a plain function, and writes the answer to the transport, without a
scope, a task or a coroutine per request. Anything else goes on to ASGI unchanged. Whoever waits says the same again and
again: a head that is the same to the byte as one before is not parsed a second time.

Owning the bytes obliges us to limits on headers and bodies, Expect, HEAD, chunked bodies; and, in connection.py, to one
answer per request in order under pipelining, keep-alive and its time-out, a deadline for clients that send or read too
slowly, connections lost between request and answer, and a graceful end. All of it holds for both lanes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from httptools import HttpParserInvalidURLError, parse_url

from fairline.caches import SHARES, BoundedCache
from fairline.web.server.connection import HEADERS_LIMIT, Connection, Refused
from fairline.web.server.cors import Cors
from fairline.web.server.fast_cycle import FastCycle
from fairline.web.server.http import BODY_LIMIT, HAND_OVER, Handler, Head
from fairline.web.server.write_together import PendingWrites

#: The address of a request, which counts among its headers too.
URL_LIMIT = 8 * 1024

#: Headers that say how, and to whom, the request itself is sent.
_FRAMING_HEADERS = frozenset((b"host", b"content-length", b"transfer-encoding", b"expect"))

#: What is there for other addresses than that of a proxy.
_ALLOW = ((b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST"),)

#: Bytes of heads that a worker remembers, and how long one may be.
REMEMBERED = SHARES["heads"]
LONGEST_REMEMBERED = 1024
_END = b"\r\n\r\n"
#: What a Host header may say (RFC 3986, section 3.2); nothing, where the address has no host.
_HOST = re.compile(rb"[\w.~!$&'()*+,;=%:\[\]-]*", re.ASCII)


class Routed(NamedTuple):
    """Whose call it is, what its path names, and whether clients make it again and again."""

    handler: Handler
    params: dict[str, str]
    repeats: bool


Route = Callable[[str, bytes], Routed | None]


class RememberedHead(NamedTuple):
    """A head that was parsed: whose call it is, what it says, and how many bytes of body it announces."""

    handler: Handler
    head: Head
    length: int


def fast_path_for(
    route: Route, cors: Cors, answered: Callable[[str, str, int], None] = lambda _method, _path, _status: None
) -> type[FastPath]:
    """The protocol of a worker; `answered` hears of the method, the path and the status of each answer."""

    class WorkerFastPath(FastPath):
        pass

    WorkerFastPath.route = staticmethod(route)
    WorkerFastPath.cors = cors
    WorkerFastPath.answered = staticmethod(answered)
    WorkerFastPath.remembered = BoundedCache(REMEMBERED)
    WorkerFastPath.pending_writes = PendingWrites()
    return WorkerFastPath


class FastPath(Connection):
    """A connection. `route` finds the function of a path, or None for ASGI; a worker sets it, and the rest of what its
    connections share, on a subclass of its own (see `fast_path_for`)."""

    __slots__ = ("_has_host", "_memorable", "_messages")
    route: Route
    remembered: BoundedCache[bytes, RememberedHead]
    """Heads by their bytes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._has_host = False
        self._messages = 0
        """How many requests have begun."""
        self._memorable: FastCycle | None = None
        """The last one, if its head can be remembered."""

    # Again and again

    def data_received(self, data: bytes) -> None:
        if self.pending_writes.ready:
            self.pending_writes.flush()
        if not self.idle and (self._begun or self.is_busy()):
            super().data_received(data)
            self._memorable = None
            return
        end = data.find(_END) + len(_END)
        known = self.remembered.get(data[:end])
        if known is not None and known.length == len(data) - end:
            self._answer_remembered(known, data[end:])
            return
        before = self._messages
        super().data_received(data)
        cycle, self._memorable = self._memorable, None
        if cycle is None or self._messages != before + 1 or end > LONGEST_REMEMBERED or self._begun:
            return
        # That the body is what comes after it shows that the parser saw the head end where we did.
        if len(cycle.body) == len(data) - end:
            cycle.on_success(partial(self._remember, data[:end], cycle))

    def _answer_remembered(self, known: RememberedHead, body: bytes) -> None:
        self.turn = self.cycle = cycle = FastCycle(
            known.head,
            self.peer,
            self.secure,
            body,
            protocol=self,
            handler=known.handler,
            keep_alive=not self._ending,
        )
        self.since = cycle.began
        self.idle = False
        cycle.run()

    def _remember(self, head: bytes, cycle: FastCycle) -> None:
        """Keep the head of a request that had what it asked for. Any other could be made up without end."""
        self.remembered.put(
            head, RememberedHead(cycle.handler, cycle.head, len(cycle.body)), len(head) + cycle.head.weight()
        )

    # What the parser finds

    def on_message_begin(self) -> None:
        # uvicorn's scope is made only for requests that go on to ASGI.
        self.url = b""
        self.headers = []
        self.expect_100_continue = self._has_host = False
        self._messages += 1
        self._memorable = None
        self.begin()
        self._begun = self._in_headers = True
        self._size = self._length = self._unreported = 0
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
        if name not in _FRAMING_HEADERS:
            return
        if name == b"host":
            if self._has_host or not _HOST.fullmatch(value):
                self.refuse("bad_request", "A request must name one host, by its name or address.")
                raise Refused
            self._has_host = True
        elif name == b"content-length":
            self._length = int(value[:20])
        elif name == b"transfer-encoding":
            self._encoding = b", ".join(filter(None, (self._encoding, value.lower())))
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True
        else:
            self.refuse("expectation_failed", "The only expectation known here is 100-continue.")
            raise Refused

    def on_headers_complete(self) -> None:
        method = self.parser.get_method().decode("ascii")
        version = self.parser.get_http_version()
        if version != "1.1" or self._encoding or self._length > BODY_LIMIT or self._input_closed or method == "CONNECT":
            self._check(method, version)
        if self.parser.should_upgrade():
            return
        if version == "1.1" and not self._has_host:
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
        handler, params, repeats = found
        head = Head(method, path.decode("ascii"), query, self.headers, params)
        keep_alive = version != "1.0" and self.parser.should_keep_alive() and not self._ending
        self.receiving = cycle = FastCycle(
            head,
            self.peer,
            self.secure,
            protocol=self,
            handler=handler,
            keep_alive=keep_alive,
            waits=self.expect_100_continue,
        )
        if repeats and keep_alive and not (self._encoding or self.expect_100_continue):
            self._memorable = cycle
        self.enter(cycle)

    def _check(self, method: str, version: str) -> None:
        """Refuse what is neither lane's."""
        if self._length > BODY_LIMIT:
            self._refuse_body()
        elif method == "CONNECT":
            self.refuse("method_not_allowed", "This server is no proxy.", _ALLOW)
        elif version not in ("1.1", "1.0"):
            self.refuse("bad_request", f"HTTP/{version} is not spoken here. Use HTTP/1.1.")
        elif self._encoding not in (b"", b"chunked") or (self._encoding and version == "1.0"):
            self.refuse("bad_request", "A body can be sent with its length, or in HTTP/1.1 as plain chunks.")
        if self._input_closed:
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
