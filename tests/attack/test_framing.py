"""Nobody is answered by what another one asked: whatever a request does not say clearly, alone and behind proxies that
share their connections to the server among all clients."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
from msgspec import Struct

from tests.attack.conftest import MakeQueue
from tests.attack.probes import answers_in, probe
from tests.backends import free_ports
from tests.site.proxies import NGINX_FRAME, running
from tests.web.raw import Raw, connected, request
from tests.web.running import RunningServer

PROBES = 4000 if os.environ.get("FAIRLINE_LONG") else 300
STATUS = "/api/v1/status"

# Both keep few connections to the server, and give each request the next one that is free.
NGINX_SERVER = """upstream fairline {{ server 127.0.0.1:{fairline}; keepalive 2; }}
server {{ listen 127.0.0.1:{port}; keepalive_requests 100000; large_client_header_buffers 4 16k; location / {{
proxy_pass http://fairline; proxy_http_version 1.1; proxy_set_header Connection ""; }} }}"""
HAPROXY = """global
    log stdout local0 emerg
defaults
    mode http
    timeout connect 30s
    timeout client 60s
    timeout server 60s
frontend site
    bind 127.0.0.1:{port}
    default_backend fairline
backend fairline
    http-reuse always
    server fairline 127.0.0.1:{fairline} pool-max-conn 2
"""

#: The server failed, or the proxy made nothing of its answer. (501 and 505 are its own, for what it does not speak.)
_FAILED = re.compile(rb"HTTP/1\.[01] 50[0234] ")

Proxy = Callable[[Path, int], AbstractContextManager[int]]


@contextmanager
def nginx(folder: Path, fairline: int) -> Iterator[int]:
    """nginx in front of the server. Its port."""
    (port,) = free_ports(1)
    servers = NGINX_SERVER.format(port=port, fairline=fairline)
    file = folder / "nginx.conf"
    file.write_text(NGINX_FRAME.format(folder=folder, servers=servers), encoding="utf-8")
    with running(["nginx", "-p", str(folder), "-c", str(file)], folder, port):
        yield port


@contextmanager
def haproxy(folder: Path, fairline: int) -> Iterator[int]:
    """HAProxy in front of the server. Its port."""
    (port,) = free_ports(1)
    file = folder / "haproxy.cfg"
    file.write_text(HAPROXY.format(port=port, fairline=fairline), encoding="utf-8")
    with running(["haproxy", "-db", "-f", str(file)], folder, port):
        yield port


PROXIES: dict[str, Proxy] = {"nginx": nginx, "haproxy": haproxy}


class Holder(Struct):
    """Someone in line."""

    ticket: int
    queue: str
    token: str

    @property
    def told(self) -> bytes:
        """What is in their answers, and in nobody else's."""
        return f'"queue":"{self.queue}","ticket":{self.ticket},'.encode()

    def asks(self, mark: str) -> bytes:
        """The question where they stand."""
        return request("GET", STATUS, token=self.token, x_request_id=mark)


@pytest.fixture
def holders(server: RunningServer, make_queue: MakeQueue) -> tuple[Holder, Holder]:
    """An attacker and another client, both in line."""
    queue = make_queue(admission="manual", join_limit_per_ip=0)
    found = [httpx.post(f"{server.base_url}/api/v1/queues/{queue}/join").json() for _ in range(2)]
    attacker, other = (Holder(each["ticket"], each["queue"], each["token"]) for each in found)
    return attacker, other


@asynccontextmanager
async def no_failures(server: RunningServer) -> AsyncIterator[None]:
    before = len(server.logs("http.failed"))
    yield
    assert len(server.logs("http.failed")) == before


async def sent(port: int, data: bytes) -> bytes:
    """All that comes back on a connection of its own."""
    async with connected(port) as raw:
        try:
            await raw.send(data)
            raw.half_close()
            return await raw.rest()
        except ConnectionError:  # it was closed with something unread
            return b""


async def test_what_follows_a_request_in_doubt_is_answered_as_itself_or_not_at_all(
    server: RunningServer, holders: tuple[Holder, Holder]
) -> None:
    attacker, other = holders
    rng = random.Random("direct")
    answered = 0
    async with no_failures(server):
        for number in range(PROBES):
            hidden, marked = attacker.asks(f"hidden-{number}"), other.asks(f"marked-{number}")
            doubtful = probe(rng, f"probe-{number}", hidden)
            found = answers_in(await sent(server.port, doubtful.data + marked), [doubtful.method])
            for each in found:
                assert each.status < 500, (doubtful, each)
                assert not each.mark.startswith(("probe", "hidden", "marked")) or each.mark.endswith(f"-{number}")
            for mark, holder in (("hidden", attacker), ("marked", other)):
                own = [each for each in found if each.mark == f"{mark}-{number}"]
                assert len(own) <= 1, (doubtful, own)
                for each in own:
                    assert each.status == 200, (doubtful, each)
                    assert holder.told in each.body, (doubtful, each)
            answered += len(found)
    assert answered > PROBES  # most get an answer, and many the next one too


@pytest.mark.parametrize("name", PROXIES)
async def test_no_answer_is_mixed_up_behind_a_proxy(
    server: RunningServer, holders: tuple[Holder, Holder], tmp_path: Path, name: str
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    attacker, other = holders
    rng = random.Random(name)
    with PROXIES[name](tmp_path, server.port) as port:
        async with no_failures(server), connected(port) as raw:
            for number in range(PROBES):
                hidden = attacker.asks(f"hidden-{number}")
                doubtful = probe(rng, f"probe-{number}", hidden)
                attack = asyncio.ensure_future(sent(port, doubtful.data))
                await expect_own(raw, other, f"during-{number}")
                brought = await attack
                assert not _FAILED.search(brought), (doubtful, brought)
                assert other.told not in brought, (doubtful, brought)
                await expect_own(raw, other, f"after-{number}")


async def expect_own(raw: Raw, holder: Holder, mark: str) -> None:
    """Somebody else asks on another connection, and is answered what they asked."""
    await raw.send(holder.asks(mark))
    answer = await raw.answer()
    assert (answer.status, answer.headers["x-request-id"]) == (200, mark), answer
    assert answer.json()["ticket"] == holder.ticket
