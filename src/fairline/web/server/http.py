"""Requests and responses: small classes that the fast path and ASGI share."""

from __future__ import annotations

import http
import itertools
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import lru_cache
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from fairline.aio.grouping import GroupedCall
from fairline.errors import FairlineError, InvalidRequest, TokenMissing
from fairline.web.server.body_errors import invalid
from fairline.web.server.head import Head

T = TypeVar("T")

Headers = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
PROBLEM = b"application/problem+json"
#: Bytes of a body; longer bodies are refused with 413.
BODY_LIMIT = 16 * 1024

#: An extension of ASGI's scope: a function that takes a request and a Takeover, and hands the connection over.
HAND_OVER = "fairline.hand_over"

STATUS_LINE = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in http.HTTPStatus}

encode = msgspec.json.Encoder().encode

_ids = map(f"{os.getpid():x}-%x".__mod__, itertools.count(1))


class Request(Struct, eq=False):
    """One request with its complete body."""

    head: Head
    peer: str | None
    secure: bool = False
    body: bytes | bytearray = b""
    began: float = field(default_factory=monotonic)
    own_id: str = field(default_factory=_ids.__next__)

    __repr__ = object.__repr__  # so that a log of the request never shows the personal data in its body

    @property
    def id(self) -> str:
        """The request id in answers and logs: the one that the client sent, or else one of our own."""
        return self.head.given_id or self.own_id

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.head.method

    @property
    def path(self) -> str:
        """The path, without the query."""
        return self.head.path

    def header(self, name: bytes) -> bytes | None:
        """The first header of this name (in lower case)."""
        return self.head.header(name)

    def text(self, name: bytes) -> str | None:
        """A header as text."""
        return self.head.text(name)

    @property
    def params(self) -> Mapping[str, str]:
        """The parameters in the path."""
        return self.head.params

    @property
    def query(self) -> bytes:
        """The query as it was sent."""
        return self.head.query

    @property
    def args(self) -> Mapping[str, str]:
        """The fields of the query; the last of a name wins."""
        return self.head.args

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies sent; the first of a name wins, as browsers send the most exact one first."""
        return self.head.cookies

    def bearer(self) -> str | None:
        """The token in the Authorization header."""
        return self.head.bearer

    def without_cookies(self) -> Request:
        """The same request without its cookies. Heads are shared, so this one gets a head of its own."""
        head = self.head.without_cookies()
        return Request(head, self.peer, self.secure, self.body, self.began, self.own_id)

    def decode(self, decoder: msgspec.json.Decoder[T], *, default: T | None = None) -> T:
        """The decoded body, or InvalidRequest naming the field. An empty body is `default`, where there is one."""
        if not self.body and default is not None:
            return default
        try:
            return decoder.decode(self.body)
        except msgspec.ValidationError as error:
            raise invalid(error, decoder.type) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise InvalidRequest("", "The body is not valid JSON.") from None


class Response(Struct, frozen=True):
    """A complete answer."""

    status: int
    body: bytes = b""
    media: bytes = JSON
    headers: Headers = ()

    def with_headers(self, *more: tuple[bytes, bytes]) -> Response:
        """The same response with more headers."""
        return msgspec.structs.replace(self, headers=self.headers + more)

    def all_headers(self, request_id: str) -> list[tuple[bytes, bytes]]:
        """The headers that every answer has, and those of this one."""
        fixed = [(b"x-request-id", request_id.encode()), *EVERY_ANSWER]
        if self.status != 204:
            fixed += [(b"content-length", str(len(self.body)).encode())]
        if self.body:
            fixed += [(b"content-type", self.media)]
        return [*fixed, *self.headers]

    def whole(self, request_id: str, more: bytes, *, bare: bool = False) -> bytes:
        """The response as bytes, from the status line to the body; with `bare`, without the body. `more` are the
        headers of the connection and the empty line that ends them. The parts that all answers share are built once:
        otherwise a heartbeat takes 6 to 11 % more instructions."""
        body = self.body
        length = b"\r\n" if self.status == 204 else b"\r\ncontent-length: %d\r\n" % len(body)
        fixed = _fixed(self.status, self.media if body else b"")
        return b"".join((fixed, request_id.encode(), length, header_lines(self.headers), more, b"" if bare else body))


NO_STORE: Headers = ((b"cache-control", b"no-store"),)
#: A browser must believe the stated content type of every answer and not guess another.
EVERY_ANSWER: Headers = ((b"x-content-type-options", b"nosniff"),)


def header_lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as they are sent."""
    return b"\r\n".join([*map(b": ".join, headers), b""])


@lru_cache(maxsize=256)
def _fixed(status: int, media: bytes) -> bytes:
    headers = ((b"content-type", media), *EVERY_ANSWER) if media else EVERY_ANSWER
    return STATUS_LINE[status] + header_lines(headers) + b"x-request-id: "


def private(status: int, content: Any, headers: Headers = ()) -> Response:
    """An answer about one person: no cache may store it."""
    return Response(status, encode(content), headers=NO_STORE + headers)


class Connection(Protocol):
    """What a stream needs of a transport."""

    def write(self, data: bytes) -> None:
        """Send, or buffer for sending."""

    def get_write_buffer_size(self) -> int:
        """How many bytes are buffered for sending."""

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""

    def close(self) -> None:
        """Close it once everything is sent."""

    def abort(self) -> None:
        """Close it now."""


class Stream(Protocol):
    """Something that keeps writing to a connection after the headers of its answer."""

    def opened(self, connection: Connection) -> None:
        """The headers are written; from now on the connection belongs to this stream."""

    def lost(self) -> None:
        """The client has disconnected."""

    def shutdown(self) -> None:
        """The server is about to end."""


class Takeover:
    """An answer without end: once its headers are written, the connection belongs to the stream."""

    __slots__ = ("headers", "stream")

    def __init__(self, stream: Stream, headers: Headers) -> None:
        self.stream = stream
        self.headers = headers

    def head(self, request: Request) -> list[tuple[bytes, bytes]]:
        """The headers of this answer. It has no length: it continues until the connection ends."""
        return [(b"x-request-id", request.id.encode()), *EVERY_ANSWER, *self.headers]


class Pending(Struct, Generic[T], frozen=True, eq=False):
    """An answer that waits for a grouped call: `render` turns the result into an answer, and `recover`, where it is
    given, an error. It needs no task: with one, a heartbeat takes 17 % more instructions."""

    call: GroupedCall[T]
    render: Callable[[T], Outcome]
    recover: Callable[[FairlineError], Outcome] | None = None

    def sent(self, outcome: T | Exception) -> Outcome:
        """The answer to a result, or the next Pending; raises an error that `recover` cannot turn into an answer."""
        if not isinstance(outcome, Exception):
            return self.render(outcome)
        if self.recover is None or not isinstance(outcome, FairlineError):
            raise outcome
        return self.recover(outcome)


def cookie(name: str, value: str, seconds: float, *, secure: bool, strict: bool = False) -> tuple[bytes, bytes]:
    """A cookie that no script can read and no other site can send along; with `strict`, not even with a link to us."""
    parts = f"{name}={value}; Max-Age={seconds:.0f}; Path=/; HttpOnly; SameSite={'Strict' if strict else 'Lax'}"
    return b"set-cookie", (parts + ("; Secure" if secure else "")).encode()


def wants_json(request: Request) -> bool:
    """Whether the client prefers JSON to a page: it is a program rather than a browser."""
    accept = request.text(b"accept") or ""
    return "json" in accept and "text/html" not in accept


def other_token(request: Request, cookie_name: str, query: str) -> str:
    """The token of a call whose Authorization header has none: from the query, or else from the cookie, which a browser
    sends with every call."""
    token = request.args.get(query) or request.cookies.get(cookie_name)
    if not token:
        raise TokenMissing
    return token


Sent = Response | Takeover
#: What a handler returns: the answer, or what makes the answer later.
Outcome = Sent | Pending[Any] | Coroutine[Any, Any, Sent]
Handler = Callable[[Request], Outcome]
#: A handler that is always a coroutine, as those of the calls that are not on the fast path.
SlowHandler = Callable[[Request], Coroutine[Any, Any, Sent]]
