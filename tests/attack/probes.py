"""Requests whose end, address or host is in doubt, made up from a seed; and the reading of what is answered."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from msgspec import Struct

from tests.web.server.test_framing import SMUGGLING

_HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")

#: The bodies that chunks could be taken for, and the other way round; `HIDDEN` is a request that must stay a body.
_CHUNKS = (
    b"0\r\n\r\nHIDDEN",
    b"2;a=b\r\n{}\r\n0\r\n\r\nHIDDEN",
    b'2;a="\r\nHIDDEN"\r\n{}\r\n0\r\n\r\n',
    b"0x2\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"+2\r\n{}\r\n0\r\n\r\nHIDDEN",
    b" 2\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"2 \r\n{}\r\n0\r\n\r\nHIDDEN",
    b"2\n{}\n0\n\nHIDDEN",
    b"2\r{}\r0\r\rHIDDEN",
    b"g\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"ffffffffffffffff2\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"1\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"00000000000000000000000000000002\r\n{}\r\n0\r\n\r\nHIDDEN",
    b"2\r\n{}\r\n0\r\ncontent-length: 50\r\n\r\nHIDDEN",
    b"2\r\n{}\r\n0\r\nHIDDEN",
    b"2\r\n{}\r\n-0\r\n\r\nHIDDEN",
    b"2\r\n{}\r\n\r\nHIDDEN",
)
_FRAMING = (
    *(headers for headers, _ in SMUGGLING.values()),
    b"transfer-encoding: chunked",
    b"Transfer-Encoding: CHUNKED",
    b"transfer-encoding: chunked ",
    b"transfer-encoding:\tchunked",
    b"transfer-encoding: \x00chunked",
    b'transfer-encoding: "chunked"',
    b"transfer-encoding: chunked;q=1",
    b"transfer-encoding:\n chunked",
    b"x: y\ntransfer-encoding: chunked",
    b"x: y\rtransfer-encoding: chunked",
    b"transfer_encoding: chunked",
    b"content-length: 2\r\nx: y\r\n content-length: 40",
    b"content-length: 2\x00",
    b"content-length : 2",
    b" content-length: 2",
    b"content\x00-length: 2",
    b"content-length: 2\nx: y",
    b"content-length: 2 2",
    b"content-length: 0002",
    b"content-length: 2\r\nconnection: content-length",
    b"content-length: 2\r\nupgrade: h2c\r\nconnection: upgrade, http2-settings",
    b"content-length: 2\r\nexpect: 100-continue",
    b"x-fill: " + b"a" * 7000,
    b"x-fill: " + b"a" * 70_000,
    b"",
)
_PATHS = (
    "/api/v1/status",
    "/%61pi/v1/status",
    "/api/v1/heartbeat",
    "/api/v1/queues/demo/join",
    "/api/v1/queues/demo%2fjoin",
    "/api/v1/../v1/status",
    "/static/..%2f..%2fapi/v1/status",
    "//api/v1/status",
    "/healthz",
    "http://other.test/api/v1/status",
    "http://other.test",
    "https://user@other.test:1/api/v1/status?a=b",
    "*",
    "other.test:443",
    "/api/v1/status#x",
    "/api/v1/status%00",
    "/q/demo?a=%0d%0ax:y",
    "\\api\\v1\\status",
    "/a b",
    "/" + "a" * 9000,
)
_HOSTS = (
    b"host: fairline.test",
    b"host: fairline.test",
    b"host: fairline.test",
    b"host: fairline.test\r\nhost: other.test",
    b"host:",
    b"",
    b"host: other.test:99999",
    b"host: user@fairline.test",
    b"host: a/b",
    b"host: [::1]:80",
    b"host: fairline.test\r\n other.test",
    b"host: fairline.test, other.test",
)
_METHODS = ("POST", "POST", "POST", "GET", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "post", "G T")
_ENDS = (b"\r\n",) * 8 + (b"\n", b"\r")
_VERSIONS = ("HTTP/1.1",) * 8 + ("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "http/1.1", "")


class Probe(Struct):
    """A request in doubt, with its body."""

    method: str
    data: bytes


def probe(rng: random.Random, mark: str, hidden: bytes) -> Probe:
    """A request in doubt. What is marked so is never another client's."""
    method, end = rng.choice(_METHODS), rng.choice(_ENDS)
    headers = [rng.choice(_FRAMING), *([rng.choice(_FRAMING)] if rng.random() < 0.2 else [])]
    start = f"{method} {rng.choice(_PATHS)} {rng.choice(_VERSIONS)}".encode()
    lines = [start, rng.choice(_HOSTS), f"x-request-id: {mark}".encode(), *headers]
    body = rng.choice([*_CHUNKS, b"{}HIDDEN", b"HIDDEN", b"", b"{}"])
    return Probe(method, end.join([*filter(None, lines), b"", b""]) + body.replace(b"HIDDEN", hidden))


class Answered(Struct):
    """One answer in what a connection brought."""

    status: int
    mark: str
    body: bytes


def answers_in(data: bytes, methods: Sequence[str]) -> list[Answered]:
    """The answers to requests by these methods, one after another, with nothing between them and nothing behind."""
    found: list[Answered] = []
    while data:
        head = _HEAD.match(data)
        assert head, data[:300]
        status, lines = int(head[1]), head[2].decode("latin-1").lower().split("\r\n")[:-1]
        headers = dict(line.split(": ", 1) for line in lines if ": " in line)
        method = methods[len(found)] if len(found) < len(methods) else "GET"
        data = data[head.end() :]
        body = b""
        if "chunked" in headers.get("transfer-encoding", ""):
            body, data = _chunks(data)
        elif status not in (100, 204, 304):
            length = int(headers.get("content-length", len(data)))
            if method == "HEAD" and not (
                status == 400 and headers.get("connection") == "close" and len(data) == length
            ):
                length = 0  # a refusal may have a body all the same, where the address is none: then nothing follows it
            assert len(data) >= length, (head[0], data)
            body, data = data[:length], data[length:]
        if status != 100:
            found.append(Answered(status, headers.get("x-request-id", ""), body))
    return found


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        body += data[: int(size, 16)]
        data = data[int(size, 16) + 2 :]
        if int(size, 16) == 0:
            return body, data
