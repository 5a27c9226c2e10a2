"""Nonsense over the running server: tokens, headers, bodies, addresses, bytes. Whatever comes, the answer is a proper
one, says nothing of our insides, and nothing changes."""

from __future__ import annotations

import asyncio
import json
import random
import re
import string
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.inside import open_queue, service_of
from tests.web.raw import Answer, Raw, chunked, connected, request, slow
from tests.web.running import RunningServer

#: What no answer may have in it: traces, paths, classes and addresses of objects, names of what we are built of.
INSIDES = re.compile(
    rb"Traceback|File \"|\.py\b|line \d+|<class|object at|0x[0-9a-f]{6}|"
    rb"\b[A-Z]\w*(?:Error|Exception|Warning)\b|msgspec|uvicorn|starlette|redis|valkey|asyncio|\.lua|NoneType|Struct\b"
)
CALLS = [
    ("POST", "/api/v1/queues/nowhere/join"),
    ("POST", "/api/v1/heartbeat"),
    ("GET", "/api/v1/status"),
    ("POST", "/api/v1/leave"),
    ("GET", "/api/v1/stream"),
    ("POST", "/api/v1/session/start"),
    ("POST", "/api/v1/session/activity"),
    ("POST", "/api/v1/session/complete"),
    ("GET", "/api/v1/session/verify"),
]
WEIRD = [
    "",
    "\x00",
    "é",
    "\u202e",
    "\ud800",
    "\N{PARTY POPPER}",
    "'; --",
    "../../etc",
    "{{7*7}}",
    "%s%n",
    "\r\n",
    " ",
    "-1",
]


class Scene:
    """A queue with someone in each state, and what the store knows of it."""

    def __init__(self, server: RunningServer, service: Fairline, queue: QueueId) -> None:
        self.server = server
        self.service = service
        self.queue = queue
        self.waiting = ""
        self.session = ""

    async def furnish(self) -> None:
        async with connected(self.server.port) as raw:
            tokens = []
            for number in range(4):
                body = json.dumps({"client_id": f"client number {number}"}).encode()
                await raw.send(request("POST", f"/api/v1/queues/{self.queue}/join", body))
                tokens.append((await raw.answer()).json()["token"])
            await self.service.call_next(self.queue, 1)
            await raw.send(request("GET", "/api/v1/status", token=tokens[0]))
            self.session = (await raw.answer()).json()["session_token"]
        self.waiting = tokens[-1]

    async def known(self) -> Any:
        """Everything that a call could change, without the time."""
        stats = await self.service.stats(self.queue)
        snapshot = stats.snapshot
        tickets = (await self.service.tickets(self.queue, None, None, 500)).tickets
        counts = (
            snapshot.waiting,
            snapshot.admitted,
            snapshot.active,
            snapshot.completed,
            snapshot.version,
            stats.totals,
        )
        queues = {queue: await self.service.settings(queue) for queue in await self.service.queues()}
        return counts, tickets, queues, await self.service.store.registry.admin_keys()


@pytest.fixture
async def scene(server: RunningServer) -> AsyncIterator[Scene]:
    """Nothing in it may have changed in the end; and the server has noted no failure."""
    failures = len(server.logs("http.failed"))
    async with service_of(server) as service:
        scene = Scene(server, service, await open_queue(service))
        await scene.furnish()
        before = await scene.known()
        yield scene
        assert await scene.known() == before
    assert len(server.logs("http.failed")) == failures
    assert "Traceback" not in (server.data.parent / "server.log").read_text()


class Caller:
    """Asks again and again, and checks every answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._raw: Raw | None = None
        self._connection: Any = None

    async def ask(self, data: bytes) -> Answer:
        if self._raw is None:
            self._connection = connected(self._port)
            self._raw = await self._connection.__aenter__()
        await self._raw.send(data)
        head = data.startswith(b"HEAD ")
        answer = await self._raw.answer(head=head)
        if answer.closes:
            await self.close()
        proper(answer, head=head, asked=data)
        return answer

    async def close(self) -> None:
        if self._raw is not None:
            self._raw = None
            await self._connection.__aexit__(None, None, None)


def proper(answer: Answer, *, head: bool = False, asked: bytes = b"") -> None:
    """An answer that a program can rely on, and that reveals nothing internal."""
    assert answer.status < 500, (asked[:300], answer)
    assert not INSIDES.search(answer.body), (asked[:300], answer)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["x-request-id"])
    if b" /q/" in asked[:16] and answer.headers.get("content-type", "").startswith("text/html"):
        assert head or answer.body.startswith(b"<!doctype html>")  # where people are meant to read it
    elif answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert head or answer.code


@pytest.fixture
async def caller(scene: Scene) -> AsyncIterator[Caller]:
    caller = Caller(scene.server.port)
    yield caller
    await caller.close()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.node.name)


def mangled(rng: random.Random, data: bytes, most: int = 3) -> bytes:
    """The same with a few bytes changed, left out, doubled or put in."""
    out = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del out[at : at + rng.randint(1, 8)]
            case 2:
                out[at:at] = out[at : at + rng.randint(1, 40)]
            case 3:
                out[at:at] = rng.randbytes(rng.randint(1, 6))
            case _:
                out[at:at] = rng.choice([b"\r\n", b"\n", b"\r", b": ", b"\x00", b" ", b"%", b"\xff"])
    return bytes(out)


def wrong_token(rng: random.Random, scene: Scene) -> str:
    """One that is none, though it may look like one."""
    good = rng.choice([scene.waiting, scene.session])
    head, body, signature = good.split(".")
    options: list[Callable[[], str]] = [
        lambda: f"{head}.{body}.{signature[::-1]}",
        lambda: f"{head}.{signature}.{body}",
        lambda: f"{head}.{body}.",
        lambda: f"{head}.{body}",
        lambda: f"{head}..{signature}",
        lambda: f".{body}.{signature}",
        lambda: good + rng.choice([".", "=", "A", ".x.y"]),
        lambda: good[: rng.randrange(len(good))],
        good.swapcase,
        lambda: "eyJhbGciOiJub25lIn0." + body + ".",
        lambda: "".join(rng.choices(string.printable.strip(), k=rng.randint(1, 500))),
        lambda: rng.choice(scene.session.split(".")) + "." + body + "." + signature,
        lambda: "." * rng.randint(1, 5),
        lambda: "A" * rng.randint(2000, 4000),
    ]
    token = rng.choice(options)()
    return token if token not in (scene.waiting, scene.session) else token + "A"


def wrong_value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON."""
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.choice([True, False]),
        lambda: rng.choice([0, -1, 2**31, 2**63, 2**64, -(2**63), 10**30]),
        lambda: rng.choice([0.1, -0.0, 1e308, 5e-324]),
        lambda: rng.choice(WEIRD) * rng.randint(1, 20),
        lambda: "x" * rng.randint(1, 5000),
    ]
    if depth < 4:
        kinds += [
            lambda: [wrong_value(rng, depth + 1) for _ in range(rng.randrange(4))],
            lambda: {rng.choice(WEIRD): wrong_value(rng, depth + 1) for _ in range(rng.randrange(4))},
        ]
    return rng.choice(kinds)()


def wrong_body(rng: random.Random, *fields: str) -> bytes:
    """A body that no call takes: not JSON, no object, or with a field that is none."""
    match rng.randrange(6):
        case 0:
            return rng.choice(
                [b"{", b"[]", b"null", b"1", b'""', b"{}x", b'{"a":}', b"\xff", b"\x00", b"[" * 9000, b"NaN"]
            )
        case 1:
            return rng.randbytes(rng.randint(1, 300)) + b"\x00"
        case 2:
            return json.dumps([wrong_value(rng)]).encode()
        case _:
            content = {name: wrong_value(rng) for name in fields if rng.random() < 0.5}
            return json.dumps(content | {f"no_{rng.randrange(100)}_such_field": wrong_value(rng)}).encode()[:16_384]


async def test_tokens_that_are_none(scene: Scene, caller: Caller, rng: random.Random) -> None:
    for number in range(600):
        method, path = CALLS[1 + number % (len(CALLS) - 1)]
        path = path if number % 3 else slow(path)
        token = wrong_token(rng, scene)
        quoted = "".join(f"%{byte:02X}" for byte in token.encode())[:3600]
        plain = re.sub(r"[^!-~]", "", token) or "."
        body = b"" if method == "POST" else None
        match rng.randrange(5):
            case 0:
                name = "fairline_session" if "/session/" in path else "token"
                data = request(method, f"{path}?{name}={quoted}", body)
            case 1:
                data = request(
                    method, path, body, cookie=f"fairline_ticket_{scene.queue}={plain}; fairline_session={plain}"
                )
            case 2 if path.endswith("leave"):
                data = request(method, path, json.dumps({"token": token, "final": True})[:16_000].encode())
            case _:
                data = request(method, path, body, token=plain)
        assert (await caller.ask(data)).status == 401, data


async def test_bodies_that_are_none(scene: Scene, caller: Caller, rng: random.Random) -> None:
    join = f"/api/v1/queues/{scene.queue}/join"
    names = ("client_id", "user_id", "priority_pass", "name", "phone", "party_size", "metadata", "idempotency_key")
    for number in range(900):
        path = (join, "/api/v1/heartbeat", "/api/v1/leave")[number % 3]
        path = path if rng.random() < 0.7 else slow(path)
        body = wrong_body(rng, *names, "token", "final", "timestamp")
        if rng.random() < 0.3:
            head = request("POST", path, b"", token=scene.waiting, transfer_encoding="chunked")
            data = head + chunked(body, rng.choice([1, 100, 5000]))
        else:
            data = request("POST", path, body, token=scene.waiting)
        answer = await caller.ask(data)
        assert (answer.status, answer.code) == (422, "invalid_request"), (data, answer)


async def test_headers_that_nobody_sends(scene: Scene, caller: Caller, rng: random.Random) -> None:
    names = ["authorization", "cookie", "x-forwarded-for", "x-request-id", "idempotency-key", "origin", "user-agent"]
    names += ["last-event-id", "content-type", "accept", "forwarded", "x-forwarded-proto", "if-match", "range", "te"]
    for _ in range(500):
        method, path = rng.choice(CALLS)
        lines = [f"{rng.choice([method, method, 'HEAD'])} {path} HTTP/1.1".encode(), b"host: x"]
        for _ in range(rng.randint(1, 12)):
            value = bytes(rng.choices([*range(0x21, 0x7F), *range(0x80, 0x100)], k=rng.randrange(60)))
            value = rng.choice([value, b"Bearer " + value, b"a=" + value + b"; =;;b", value * 20, b""])
            lines.append(rng.choice(names).encode() + b": " + value.strip())
        answer = await caller.ask(b"\r\n".join([*lines, b"content-length: 0", b"", b""]))
        assert answer.status >= 400


async def test_addresses_that_lead_nowhere(scene: Scene, caller: Caller, rng: random.Random) -> None:
    characters = string.ascii_letters + string.digits + "/.-_~!$&'()*+,;=:@%?#[]|^{}\\\"<>`"
    for _ in range(500):
        method = rng.choice(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "TRACE"])
        start = rng.choice(
            ["/", "/api/v1/", "/api/v1/queues/", "/api/v1/admin/queues/", "/q/", "/static/", "//", "/api/v1/session/"]
        )
        rest = "".join(rng.choices(characters, k=rng.randrange(60)))
        end = rng.choice(["", "", "/join", "?queue=" + rest, "/tickets/1", "/../../etc/passwd", "%2e%2e%2f", "/."])
        answer = await caller.ask(request(method, start + rest + end, b"" if method == "POST" else None))
        assert answer.status >= 400 or method in ("GET", "HEAD", "OPTIONS")


async def test_operators_calls_without_a_key_or_without_sense(scene: Scene, caller: Caller, rng: random.Random) -> None:
    """Every call of the description: without a key it is refused before anything else; with one, a wrong body is."""
    async with httpx.AsyncClient(base_url=scene.server.base_url) as client:
        description = (await client.get("/openapi.json")).json()
    rows = [
        (method.upper(), path, "requestBody" in call)
        for path, calls in description["paths"].items()
        if path.startswith("/api/v1/admin")
        for method, call in calls.items()
    ]
    assert len(rows) > 15
    for _ in range(15):
        for method, path, takes in rows:
            nowhere = re.sub(r"{(\w+)}", lambda found: "99" if found[1] in "number ticket" else "no-such", path)
            here = path.replace("{queue}", scene.queue).replace("{number}", "2")
            here = re.sub(r"{(\w+)}", "no-such", here)
            key = rng.choice(["", "x", scene.waiting, scene.session, scene.server.admin_key[:-1]])
            body = wrong_body(rng, "id", "name", "count", "level", "reason", "role") if takes else None
            assert (await caller.ask(request(method, here, body, token=key))).status == 401
            if takes:
                answer = await caller.ask(request(method, here, body, token=scene.server.admin_key))
                assert answer.status in (404, 409, 422), (method, here, body, answer)
            elif method != "GET":
                answer = await caller.ask(request(method, nowhere, body, token=scene.server.admin_key))
                assert answer.status in (404, 409, 422), (method, nowhere, answer)


async def test_bytes_that_are_no_request(scene: Scene, rng: random.Random) -> None:
    """Good requests with a few bytes mangled, alone and in bursts: each answer is whole, and then the next."""
    samples = [
        request("GET", "/api/v1/status", token="a.b.c", cookie="a=b"),
        request("POST", "/api/v1/heartbeat", b'{"timestamp":1}', token="a.b.c"),
        request("POST", "/api/v1/queues/nowhere/join", b'{"client_id":"client number one"}'),
        request("POST", "/api/v1/leave", b"", transfer_encoding="chunked") + chunked(b'{"token":"a.b.c"}', 4),
        request("GET", "/healthz", accept="*/*"),
        request("POST", slow("/api/v1/session/start"), b"", connection="close"),
    ]

    async def one(data: bytes) -> None:
        async with connected(scene.server.port) as raw:
            await raw.send(data)
            raw.half_close()
            whole = await raw.rest()
        assert not INSIDES.search(whole), (data, whole)
        again = Raw(asyncio.StreamReader(limit=2**20), raw.writer)
        again.reader.feed_data(whole)
        again.reader.feed_eof()
        while not again.reader.at_eof():
            proper(await again.answer(), asked=data)

    for _ in range(40):
        bursts = [
            mangled(rng, b"".join(rng.choices(samples, k=rng.choice([1, 1, 2, 5]))), rng.choice([1, 3, 20]))
            for _ in range(25)
        ]
        await asyncio.gather(*map(one, bursts))
