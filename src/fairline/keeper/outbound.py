"""Calls to other people's services: one guarded way out of the house.

The name is looked up once, every address it has is checked, and the connection goes to an address that was checked, so
that a name that changes its mind in between leads nowhere new. Redirects are never followed, and proxies from the
environment are ignored: the address is the operator's, and no one else's to choose. An answer is read up to a limit,
and all of it together has one deadline.
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
#: More than any answer of ours needs.
ANSWER_LIMIT = 64 * 1024
#: What one address may take before the next one of the name is tried.
CONNECT_SECONDS = 3.0
#: Look-ups at once. Their threads are their own: a name server that hangs holds up nothing else.
LOOKUPS = 8

#: Addresses whose last four bytes are one of IPv4: translated by a gateway, or compatible by a rule of old.
_CARRYING = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
#: Never of the open internet, though older Pythons think so of some: local translation, and sites of old.
_LOCAL = (IPv6Network("64:ff9b:1::/48"), IPv6Network("fec0::/10"))
Address = IPv4Address | IPv6Address
_NOT_PROPER = "the address is not a proper one"


class Answer(Struct, frozen=True):
    """What a service answered."""

    status: int
    headers: dict[str, str]
    """By their names in small letters."""
    body: bytes
    """As much of it as the limit allows."""

    @property
    def ok(self) -> bool:
        """It was well received."""
        return 200 <= self.status < 300


class _Door(NamedTuple):
    """Where a connection goes."""

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
    head came in time counts, also where its body does not end."""
    access = _access(url)
    reading = _Reading()
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await _connected(access, await _looked_up(access, private), tls)
            try:
                writer.write(_head(method, access, headers or {}, body) + body)
                await writer.drain()
                await reading.read(reader)
            finally:
                writer.transport.abort()
    except TimeoutError:
        if not reading.has_head:
            raise ServiceFailed(f"no answer within {seconds:g} s") from None
    except ssl.SSLError as error:
        raise ServiceFailed(f"no secure connection: {error.reason or type(error).__name__}") from None
    except OSError as error:
        raise ServiceFailed(f"no connection: {error.strerror or type(error).__name__}") from None
    except ValueError:  # the rules for names and addresses are many, and some are only known further down
        raise ServiceFailed(_NOT_PROPER) from None
    except httptools.HttpParserError:
        raise ServiceFailed("the answer is not proper HTTP") from None
    return reading.answer()


def check_literal(url: str, private: bool) -> None:
    """Refuse an address that names a private one outright; a name is looked up when it is called."""
    host = urlsplit(url).hostname or ""
    literal = _literal(host)
    if not private and (host == "localhost" or host.endswith(".localhost") or (literal and not is_public(literal))):
        raise AddressRefused(host)


def is_public(address: Address) -> bool:
    """Whether an address is one of the open internet, also where it only carries another one within it."""
    if isinstance(address, IPv6Address):
        if inner := _carried(address):
            return is_public(inner)
        if any(address in network for network in _LOCAL):
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_loopback or address.is_link_local
    )


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address within one of IPv6, where there is one."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _CARRYING):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _access(url: str) -> _Door:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ServiceFailed(_NOT_PROPER) from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ServiceFailed("the address is neither http nor https")
    tls = parts.scheme == "https"
    return _Door(parts, host, port or (443 if tls else 80), tls)


async def _looked_up(access: _Door, private: bool) -> list[str]:
    """All addresses of a host. One that may not be called makes them all suspect."""
    if (literal := _literal(access.host)) is not None:
        found = [str(literal)]
    else:
        loop = asyncio.get_running_loop()
        try:
            rows = await loop.run_in_executor(
                _lookups(), lambda: socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM)
            )
        except (socket.gaierror, UnicodeError) as error:
            problem = error.strerror if isinstance(error, socket.gaierror) else "the name is not a proper one"
            raise ServiceFailed(f"no address: {problem}") from None
        found = list(dict.fromkeys(str(row[4][0]) for row in rows))
    if not private and not all(is_public(ip_address(address)) for address in found):
        raise AddressRefused(access.host)
    return found


async def _connected(
    access: _Door, addresses: list[str], tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that answers. Nothing was sent to those before it."""
    context = (tls or _context()) if access.tls else None
    name = access.host if access.tls else None
    trouble: OSError = ConnectionError("no address")
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, access.port, ssl=context, server_hostname=name)
        except OSError as error:  # also a time-out of ours; the caller's passes through as a cancellation
            trouble = error
    if isinstance(trouble, TimeoutError):
        raise ServiceFailed(f"no connection within {CONNECT_SECONDS:g} s")
    raise trouble


def _head(method: str, access: _Door, headers: Mapping[str, str], body: bytes) -> bytes:
    parts = access.parts
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    host = f"[{access.host}]" if ":" in access.host else access.host.encode("idna").decode("ascii")
    if parts.port is not None:
        host += f":{parts.port}"
    lines = {"host": host, "user-agent": USER_AGENT, "accept-encoding": "identity", "connection": "close", **headers}
    if body or method != "GET":
        lines["content-length"] = str(len(body))
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode("ascii")


class _Reading:
    """Reads one answer. Those that only announce it (100, 103) are passed over."""

    def __init__(self) -> None:
        self.has_head = False
        self._headers: dict[str, str] = {}
        self._body = b""
        self._status = 0
        self._ended = False
        self._parser = httptools.HttpResponseParser(self)

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read to the end, or to the limit."""
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
        """What was read."""
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
