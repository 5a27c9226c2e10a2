"""Guarded HTTP calls to services outside Fairline.

The host name is looked up once, all its addresses are checked, and the connection goes to a checked address. So a name
whose addresses change in between (DNS rebinding) cannot lead to another one. Redirects are never followed, and proxies
from the environment are ignored: only the operator chooses the address. An answer is read up to a limit, and the whole
call has one deadline.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

import httptools
from msgspec import Struct

import fairline
from fairline.errors import AddressRefused, ServiceFailed

USER_AGENT = f"Fairline/{fairline.__version__}"
#: The most that is read of an answer, in bytes; more than any expected one.
ANSWER_LIMIT = 64 * 1024
#: The time for connecting to one address before the next one of the name is tried.
CONNECT_SECONDS = 3.0
#: How many host names are looked up at once. They have their own threads, so a hanging name server blocks nothing else.
LOOKUPS = 8

#: Networks whose last four bytes are an IPv4 address: NAT64, and the deprecated IPv4-compatible addresses.
_CARRYING = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
#: Never public, although older versions of Python say so of some: local NAT64, and the deprecated site-local addresses.
_LOCAL = (IPv6Network("64:ff9b:1::/48"), IPv6Network("fec0::/10"))
Address = IPv4Address | IPv6Address
_NOT_VALID = "the address is not valid"


class Answer(Struct, frozen=True):
    """The answer of a service."""

    status: int
    headers: dict[str, str]
    """The headers by their names in lower case."""
    body: bytes
    """The body, up to the limit."""

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


class _Target(NamedTuple):
    """Where a call goes."""

    parts: SplitResult
    host: str
    port: int
    tls: bool


async def send(
    method: str,
    url: str,
    *,
    seconds: float,
    private: bool,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Make one call, or raise ServiceFailed. `private` says whether private addresses may be called. An answer whose
    headers arrived in time counts, even if its body does not end."""
    target = _parsed(url)
    answer_reader = _AnswerReader()
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await _connect(target, await _look_up(target, private), tls)
            try:
                writer.write(_head(method, target, headers or {}, body) + body)
                await writer.drain()
                await answer_reader.read(reader)
            finally:
                writer.transport.abort()
    except TimeoutError:
        if not answer_reader.has_head:
            raise ServiceFailed(f"no answer within {seconds:g} s") from None
    except ssl.SSLError as error:
        raise ServiceFailed(f"no secure connection: {error.reason or type(error).__name__}") from None
    except OSError as error:
        raise ServiceFailed(f"no connection: {error.strerror or type(error).__name__}") from None
    except ValueError:  # some rules for host names and addresses are only checked when the call is made
        raise ServiceFailed(_NOT_VALID) from None
    except httptools.HttpParserError:
        raise ServiceFailed("the answer is not valid HTTP") from None
    return answer_reader.answer()


async def certificate_ends(url: str, *, seconds: float, private: bool, tls: ssl.SSLContext | None = None) -> int:
    """When the certificate of an https address ends, in seconds since 1970, or ServiceFailed. A certificate that is not
    valid for the address is a failure."""
    target = _parsed(url)
    try:
        async with asyncio.timeout(seconds):
            _, writer = await _connect(target, await _look_up(target, private), tls)
            certificate = writer.get_extra_info("peercert")
            writer.transport.abort()
    except TimeoutError:
        raise ServiceFailed(f"no answer within {seconds:g} s") from None
    except ssl.SSLError as error:
        raise ServiceFailed(f"no secure connection: {error.reason or type(error).__name__}") from None
    except OSError as error:
        raise ServiceFailed(f"no connection: {error.strerror or type(error).__name__}") from None
    if not certificate:
        raise ServiceFailed("the address is not https")
    return int(ssl.cert_time_to_seconds(certificate["notAfter"]))


def check_literal(url: str, private: bool) -> None:
    """Refuse a URL whose host is a private address. A host name is looked up and checked when it is called."""
    host = urlsplit(url).hostname or ""
    literal = _literal(host)
    if not private and (host == "localhost" or host.endswith(".localhost") or (literal and not is_public(literal))):
        raise AddressRefused(host)


def is_public(address: Address) -> bool:
    """Whether an address is public. Of an IPv6 address that contains an IPv4 address, the IPv4 address counts."""
    if isinstance(address, IPv6Address):
        if inner := _carried(address):
            return is_public(inner)
        if any(address in network for network in _LOCAL):
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
    )


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address contains, if any."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _CARRYING):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _parsed(url: str) -> _Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ServiceFailed(_NOT_VALID) from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ServiceFailed("the address is neither http nor https")
    tls = parts.scheme == "https"
    return _Target(parts, host, port or (443 if tls else 80), tls)


async def _look_up(target: _Target, private: bool) -> list[str]:
    """All addresses of a host. If one of them is private and `private` is not set, none may be called."""
    if (literal := _literal(target.host)) is not None:
        found = [str(literal)]
    else:
        loop = asyncio.get_running_loop()
        try:
            rows = await loop.run_in_executor(
                _lookups(), lambda: socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            )
        except (socket.gaierror, UnicodeError) as error:
            problem = error.strerror if isinstance(error, socket.gaierror) else "the name is not valid"
            raise ServiceFailed(f"no address: {problem}") from None
        found = list(dict.fromkeys(str(row[4][0]) for row in rows))
    if not private and not all(is_public(ip_address(address)) for address in found):
        raise AddressRefused(target.host)
    return found


async def _connect(
    target: _Target, addresses: list[str], tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that answers. Nothing is sent to the others."""
    context = (tls or _context()) if target.tls else None
    name = target.host if target.tls else None
    last_error: OSError = ConnectionError("no address")
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, target.port, ssl=context, server_hostname=name)
        except OSError as error:  # includes the timeout above; the caller's timeout is a cancellation and goes through
            last_error = error
    if isinstance(last_error, TimeoutError):
        raise ServiceFailed(f"no connection within {CONNECT_SECONDS:g} s")
    raise last_error


def _head(method: str, target: _Target, headers: Mapping[str, str], body: bytes) -> bytes:
    parts = target.parts
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    host = f"[{target.host}]" if ":" in target.host else target.host.encode("idna").decode("ascii")
    if parts.port is not None:
        host += f":{parts.port}"
    lines = {"host": host, "user-agent": USER_AGENT, "accept-encoding": "identity", "connection": "close", **headers}
    if body or method != "GET":
        lines["content-length"] = str(len(body))
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode("ascii")


class _AnswerReader:
    """Reads one answer. Interim answers (100, 103) are skipped."""

    def __init__(self) -> None:
        self.has_head = False
        self._headers: dict[str, str] = {}
        self._body = b""
        self._status = 0
        self._ended = False
        self._parser = httptools.HttpResponseParser(self)

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read to the end of the answer, or to the limit."""
        taken = 0
        while not self._ended and taken < ANSWER_LIMIT:
            try:
                part = await reader.read(16 * 1024)
            except ConnectionError:
                if not self.has_head:
                    raise
                part = b""
            if not part:
                break
            taken += len(part)
            self._parser.feed_data(part)
        if not self.has_head:
            raise ServiceFailed("the answer is too long" if taken >= ANSWER_LIMIT else "the connection was closed")

    def answer(self) -> Answer:
        """The answer as far as it was read."""
        return Answer(self._status, self._headers, self._body)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self.has_head = self._status >= 200
        if not self.has_head:
            self._headers = {}

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self._ended = self.has_head


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


@cache
def _lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(LOOKUPS, thread_name_prefix="look-up")
