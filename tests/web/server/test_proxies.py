"""Behind a proxy that is named: what it says of a client counts, whatever the client says of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.settings import ServerSettings
from tests.backends import HOST
from tests.web.inside import Inside, open_queue, serving
from tests.web.raw import Raw, connected

CLIENT, SAYS_TO_BE = b"198.51.100.7", b"203.0.113.%d"


@pytest.fixture(params=[True, False], ids=["fast path", "ASGI"])
async def inside(valkey_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Inside]:
    settings = ServerSettings(trusted_proxies=[HOST])
    async with serving(valkey_url, settings=settings, fast=request.param) as inside:
        yield inside


async def ask(raw: Raw, line: bytes, *headers: bytes) -> int:
    """The status of what is answered to a request with these headers."""
    lines = (line + b" HTTP/1.1", b"host: fairline.test", b"content-length: 0", *headers, b"", b"")
    await raw.send(b"\r\n".join(lines))
    return (await raw.answer()).status


def said(number: int, *, lines: bool) -> list[bytes]:
    """What comes from a proxy that adds the client to what the client said, behind it or on a line of its own."""
    said = SAYS_TO_BE % number
    together = [b"x-forwarded-for: " + said + b", " + CLIENT]
    return [b"x-forwarded-for: " + said, b"x-forwarded-for: " + CLIENT] if lines else together


@pytest.mark.parametrize("lines", [False, True], ids=["on one line", "on a line of its own"])
async def test_nobody_is_another_address_by_saying_so(inside: Inside, lines: bool) -> None:
    queue = await open_queue(inside.service, join_limit_per_ip=2, one_per="none", bypass_addresses=["203.0.113.0/24"])
    join, verify = f"POST /api/v1/queues/{queue}/join".encode(), f"GET /api/v1/session/verify?queue={queue}".encode()
    async with connected(inside.port) as raw:
        assert [await ask(raw, join, *said(number, lines=lines)) for number in range(4)] == [201, 201, 429, 429]
        assert await ask(raw, verify, *said(5, lines=lines)) == 401
        assert await ask(raw, verify, b"x-forwarded-for: " + SAYS_TO_BE % 5) == 200


@pytest.mark.parametrize(
    ("told", "secure"),
    [
        ((b"https",), True),
        ((b"http",), False),
        ((b"https", b"http"), False),
        ((b"http", b"https"), True),
        ((b"https, http",), False),
    ],
)
async def test_the_proxy_has_the_last_word_on_https(inside: Inside, told: tuple[bytes, ...], secure: bool) -> None:
    queue = await open_queue(inside.service)
    async with connected(inside.port) as raw:
        headers = [b"x-forwarded-proto: " + each for each in told]
        lines = (f"POST /api/v1/queues/{queue}/join HTTP/1.1".encode(), b"host: x", b"content-length: 0", *headers)
        await raw.send(b"\r\n".join((*lines, b"", b"")))
        answer = await raw.answer()
    assert answer.status == 201
    assert ("; Secure" in answer.headers["set-cookie"]) is secure


async def test_cookies_on_several_lines_are_all_heard(inside: Inside) -> None:
    queue = await open_queue(inside.service)
    join = f"POST /api/v1/queues/{queue}/join".encode()
    async with connected(inside.port) as raw:
        cookies = (b"cookie: another=1", b"cookie: fairline_visitor=a-secret-of-the-browser")
        assert [await ask(raw, join, *cookies) for _ in range(2)] == [201, 200]
