"""The fast path: the most frequent calls, answered directly by the connection.

A subclass of uvicorn's httptools protocol recognises these calls when the headers are complete, collects the body up to
its limit, hands a small request to a plain function, and writes the answer to the transport, without a scope, a task or
a coroutine per request. All other requests go on to ASGI unchanged: that is the full path. A client in line sends the
same request again and again, so a head that is equal, byte for byte, to an earlier one is not parsed a second time.
Without the fast path a heartbeat takes 180 % more instructions, and 35 % more if its head is parsed each time (docs/
explanation/performance.md has what each trick is worth).

Because this code reads the bytes itself, it must also handle limits on headers and bodies, Expect, HEAD and chunked
bodies; and, in connection.py, one answer per request in order under pipelining, keep-alive and its timeout, deadlines
for clients that send or read too slowly, connections lost between request and answer, and a graceful end. All of it
holds for both paths.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from httptools import HttpParserInvalidURLError, parse_url

from fairline.caches import SHARES, BoundedCache
from fairline.web.server.connection import HEADERS_LIMIT, Connection, Refused
from fairline.web.server.cors import Cors
from fairline.web.server.fast_cycle import FastCycle
from fairline.web.server.head import Head
from fairline.web.server.http import BODY_LIMIT, HAND_OVER, Handler
from fairline.web.server.write_together import PendingWrites

#: Bytes of the address of a request. It also counts towards HEADERS_LIMIT.
URL_LIMIT = 8 * 1024

#: Headers that say how, and to which host, the request itself is sent: only these are read while parsing.
_FRAMING_HEADERS = frozenset((b"host", b"content-length", b"transfer-encoding", b"expect"))

#: The methods that exist, for a request that takes this server for a proxy (CONNECT).
_ALLOW = ((b"allow", b"DELETE, GET, HEAD, OPTIONS, PATCH, POST"),)

#: Bytes of heads that a worker remembers in all, and bytes of one such head at most.
REMEMBERED = SHARES["heads"]
LONGEST_REMEMBERED = 1024
#: Once they take all of that, only one of this many new heads is remembered. Where more people ask than heads fit, each
#: would be dropped before it comes again, and remembering a head costs more than parsing it.
ONE_OF = 8
_END = b"\r\n\r\n"
#: What a Host header may contain (RFC 3986, section 3.2); it is empty where the address has no host.
_HOST = re.compile(rb"[\w.~!$&'()*+,;=%:\[\]-]*", re.ASCII)


class Routed(NamedTuple):
    """The function that answers a call, the parameters in its path, and whether clients make the call repeatedly."""

    handler: Handler
    params: dict[str, str]
    repeats: bool


Route = Callable[[str, bytes], Routed | None]


class RememberedHead(NamedTuple):
    """A head that was parsed before: the function that answers it, its content, and the bytes of body it announces."""

    handler: Handler
    head: Head
    length: int


def fast_path_for(
    route: Route, cors: Cors, answered: Callable[[str, str, int], None] = lambda _method, _path, _status: None
) -> type[FastPath]:
    """The protocol class of a worker; `answered` is called with the method, the path and the status of each answer."""

    class WorkerFastPath(FastPath):
        pass

    WorkerFastPath.route = staticmethod(route)
    WorkerFastPath.cors = cors
    WorkerFastPath.answered = staticmethod(answered)
    WorkerFastPath.remembered = BoundedCache(REMEMBERED)
    WorkerFastPath.new_heads = itertools.count()
    WorkerFastPath.pending_writes = PendingWrites()
    return WorkerFastPath


class FastPath(Connection):
    """A connection with the fast path. `route` finds the function of a path, or None for ASGI. A worker sets `route`,
    and everything else that its connections share, on a subclass of its own (see `fast_path_for`)."""

    __slots__ = ("_has_host", "_memorable", "_messages")
    route: Route
    remembered: BoundedCache[bytes, RememberedHead]
    """Heads by their bytes."""
    new_heads: Iterator[int]
    """Counts the heads that were not remembered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._has_host = False
        self._messages = 0
        """How many requests have begun."""
        self._memorable: FastCycle | None = None
        """The last request, if its head may be remembered."""

    # Requests seen before

    def data_received(self, data: bytes) -> None:
        if self.pending_writes.ready:
            self.pending_writes.flush()
        if not self.idle and (self._in_request or self.is_busy()):
            super().data_received(data)
            self._memorable = None
            return
        end = data.find(_END) + len(_END)
        remembered = self.remembered.get(data[:end])
        if remembered is not None and remembered.length == len(data) - end:
            self._answer_remembered(remembered, data[end:])
            return
        before = self._messages
        super().data_received(data)
        cycle, self._memorable = self._memorable, None
        if cycle is None or self._messages != before + 1 or end > LONGEST_REMEMBERED or self._in_request:
            return
        if self.remembered.is_full and next(self.new_heads) % ONE_OF:
            return
        # The body being exactly the rest of the data shows that the parser found the end of the head where we did.
        if len(cycle.body) == len(data) - end:
            cycle.on_success(partial(self._remember, data[:end], cycle))

    def _answer_remembered(self, remembered: RememberedHead, body: bytes) -> None:
        self.current = self.cycle = cycle = FastCycle(
            remembered.head,
            self.peer,
            self.secure,
            body,
            protocol=self,
            handler=remembered.handler,
            keep_alive=not self._ending,
        )
        self.since = cycle.began
        self.idle = False
        cycle.run(cycle.handler, cycle)

    def _remember(self, head: bytes, cycle: FastCycle) -> None:
        """Remember the head of a successful request only: unsuccessful ones can be invented without limit."""
        self.remembered.put(
            head, RememberedHead(cycle.handler, cycle.head, len(cycle.body)), len(head) + cycle.head.weight()
        )

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        # uvicorn's scope is built only for requests that go on to ASGI.
        self.url = b""
        self.headers = []
        self.expect_100_continue = self._has_host = False
        self._messages += 1
        self._memorable = None
        self.begin()
        self._in_request = self._in_headers = True
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
            return  # a trailer: no call here uses headers after the body
        name = name.lower()
        self.headers.append((name, value))
        if name not in _FRAMING_HEADERS:
            return
        if name == b"host":
            if self._has_host or not _HOST.fullmatch(value):
                self.refuse("bad_request", "A request must have one Host header, with a host name or an address.")
                raise Refused
            self._has_host = True
        elif name == b"content-length":
            self._length = int(value[:20])
        elif name == b"transfer-encoding":
            self._encoding = b", ".join(filter(None, (self._encoding, value.lower())))
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True
        else:
            self.refuse("expectation_failed", "The only supported expectation is 100-continue.")
            raise Refused

    def on_headers_complete(self) -> None:
        method = self.parser.get_method().decode("ascii")
        version = self.parser.get_http_version()
        if version != "1.1" or self._encoding or self._length > BODY_LIMIT or self._input_closed or method == "CONNECT":
            self._check(method, version)
        if self.parser.should_upgrade():
            return
        if version == "1.1" and not self._has_host:
            self.refuse("bad_request", "An HTTP/1.1 request must have a Host header.")
            raise Refused
        self._in_headers = False
        self._length = 0
        if version == "1.0":
            self.expect_100_continue = False
        path, _, query = self.url.partition(b"?")
        # Addresses with escapes or fragments go on to ASGI, which understands all forms.
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
        """Refuse what neither path supports."""
        if self._length > BODY_LIMIT:
            self._refuse_body()
        elif method == "CONNECT":
            self.refuse("method_not_allowed", "This server is not a proxy.", _ALLOW)
        elif version not in ("1.1", "1.0"):
            self.refuse("bad_request", f"HTTP/{version} is not supported. Use HTTP/1.1.")
        elif self._encoding not in (b"", b"chunked") or (self._encoding and version == "1.0"):
            self.refuse("bad_request", "Send a body with Content-Length, or in HTTP/1.1 with chunked encoding only.")
        if self._input_closed:
            raise Refused

    def _go_on_to_asgi(self, method: str) -> None:
        url, headers, expect = origin_form(method, self.url), self.headers, self.expect_100_continue
        if url is None:
            self.refuse("bad_request", "The address of the request is not valid.")
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
            return  # it asks for an upgrade, and will be parsed again without it
        self._in_request = False
        if not isinstance(cycle, FastCycle):
            super().on_message_complete()
        elif cycle is self.current:
            cycle.run(cycle.handler, cycle)

    def _refuse_body(self) -> None:
        self.refuse("body_too_large", f"A body may have at most {BODY_LIMIT:,} bytes.")


def origin_form(method: str, url: bytes) -> bytes | None:
    """An address in any form of RFC 9112 as path and query; None if it has none of these forms."""
    if url == b"*" and method == "OPTIONS":
        return b"/"
    try:
        parts = parse_url(url)
    except HttpParserInvalidURLError:
        return None
    path = parts.path or b"/"
    return path + b"?" + parts.query if parts.query else path
