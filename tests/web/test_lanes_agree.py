"""The fast lane and the ASGI application answer the same requests alike: status, headers and body, up to what must
differ (tokens, times, ids). The one is our protocol, the other the same functions behind uvicorn's own."""

from __future__ import annotations

import asyncio
import json
import random
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from fairline.queue import QueueId
from fairline.room import Room
from fairline.ticket import Action
from fairline.token import Keyring, SessionClaims, TicketClaims
from tests.web.inside import ORIGIN, Inside, open_queue, serving
from tests.web.raw import Answer, Raw, chunked, connected, request

STEPS = 1000
#: What kinds of queues each side has: the same, but for the names.
QUEUES: dict[str, dict[str, Any]] = {
    "open": {"retain_seconds": 3600, "message": "Soon."},
    "limited": {"join_limit_per_ip": 5},
    "little": {"max_queue_size": 3, "one_per": "user"},
    "closed": {"status": "maintenance", "closed_message": "Back at noon."},
}
TICKET_CALLS = [("POST", "/api/v1/heartbeat"), ("GET", "/api/v1/status"), ("POST", "/api/v1/leave")]
SESSION_CALLS = [("POST", f"/api/v1/session/{name}") for name in ("start", "activity", "complete")]
VERIFY = ("GET", "/api/v1/session/verify")
ENTRIES = [*TICKET_CALLS, *SESSION_CALLS, VERIFY, ("GET", "/api/v1/stream")]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
#: Every one of these must be met at least once, or the test says little.
EXPECTED = {
    *((status, "") for status in (200, 201, 204)),
    (401, "token_missing"),
    (401, "token_invalid"),
    (401, "token_expired"),
    (403, "pass_invalid"),
    (404, "not_found"),
    (404, "queue_not_found"),
    (405, "method_not_allowed"),
    (409, "already_in_line"),
    (409, "idempotency_conflict"),
    (409, "session_taken"),
    (409, "transition_refused"),
    (410, "ticket_expired"),
    (413, "body_too_large"),
    (422, "invalid_request"),
    (429, "rate_limited"),
    (503, "queue_full"),
    (503, "queue_maintenance"),
}


class Side:
    """One of the two servers, with queues and people of its own."""

    def __init__(self, inside: Inside) -> None:
        self.room: Room = inside.room
        self.port = inside.port
        self.queues: dict[str, QueueId] = {}
        self.tickets: list[str] = []
        self.sessions: list[str] = []
        self.passes: list[str] = []
        self.numbers: list[int] = []

    async def furnish(self) -> None:
        for kind, settings in QUEUES.items():
            name = f"{kind}-{secrets.token_hex(6)}"
            self.queues[kind] = await open_queue(self.room, name, ticket_prefix="T", **settings)
        self.passes = [(await self.room.issue_pass(self.queues["open"], level, 50))[1] for level in (1, 2, 3)]

    def queue(self, kind: str) -> str:
        return self.queues.get(kind, QueueId(kind))

    def token(self, kind: str, pick: float) -> str:
        """A token of some kind; `pick` chooses among those there are."""
        ticket = _pick(self.tickets, pick)
        session = _pick(self.sessions, pick)
        keyring, queue, now = self.room.keyring, self.queues["open"], int(time.time())
        match kind:
            case "ticket":
                return ticket
            case "session":
                return session
            case "expired":
                claims = TicketClaims(queue=queue, number=1, joined=1, issued=now - 20, expires=now - 10)
                return keyring.tickets.sign(claims)
            case "expired session":
                pass_ = SessionClaims(queue=queue, subject="T-1", number=1, joined=1, issued=1, expires=now - 10)
                return keyring.sessions.sign(pass_)
            case "foreign":
                claims = TicketClaims(queue=queue, number=1, joined=1, issued=now, expires=now + 100)
                return Keyring(b"another server's secret").tickets.sign(claims)
            case "of another queue":
                claims = TicketClaims(queue=queue, number=1, joined=12345, issued=now, expires=now + 100)
                return keyring.tickets.sign(claims)
            case "of no queue":
                claims = TicketClaims(queue="nowhere", number=1, joined=1, issued=now, expires=now + 100)
                return keyring.tickets.sign(claims)
            case "damaged":
                body, _, signature = ticket.rpartition(".")
                return f"{body}.{'A' * len(signature)}"
            case "cut":
                return ticket.rpartition(".")[0]
        return kind


def _pick(tokens: list[str], pick: float) -> str:
    return tokens[int(pick * len(tokens))] if tokens else "none-yet"


#: Part of a request: what is said, or how each side says it.
Part = str | bytes | Callable[[Side], Any]


def said(part: Part, side: Side) -> Any:
    return part(side) if callable(part) else part


TOKENS = [
    *["ticket"] * 8,
    *["session"] * 5,
    "expired",
    "expired session",
    "foreign",
    "of another queue",
    "of no queue",
    "damaged",
    "cut",
    "",
    "a.b.c",
    "....",
    "x" * 3000,
    "é\udc80",
]
ODD_BODIES = [
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"1e999",
    b'{"client_id":1}',
    b'{"client_id":"short"}',
    b'{"nonsense":true}',
    b'{"party_size":1001}',
    b'{"party_size":1.5}',
    b'{"name":"\\ud800"}',
    b'{"name":"\x00"}',
    b'{"metadata":{"a":"' + b"x" * 5000 + b'"}}',
    b'{"metadata":{"n":1e400}}',
    b'{"token":"x","final":"yes"}',
    b"\xff\xfe\x00",
    b"[" * 3000,
    b"{}{}",
    b" " * 16_384,
    b"\xef\xbb\xbf{}",
]
TOO_LARGE = b"x" * 17_000


class Plan:
    """Random steps, the same for both sides: each choice is made once, and put into words by each side for itself."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._choice = self._random.choice

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def step(self) -> tuple[str, Callable[[Side], bytes]]:
        """The method, and the bytes of a request."""
        if self._chance(0.3):
            return self._join()
        if self._chance(0.1):
            return self._request(self._choice(METHODS), self._choice(ENTRIES)[1], self._choice(ODD_BODIES))
        if self._chance(0.05):
            return self._request(
                self._choice(METHODS), self._choice(["/", "/api/v1/statu", "/api/v1/status/x", "/api"])
            )
        method, path = self._choice([*TICKET_CALLS * 2, *SESSION_CALLS, VERIFY, VERIFY])
        body = self._odd_body() if self._chance(0.2) else self._body(path)
        return self._request(method, path, body, self._query())

    def _join(self) -> tuple[str, Callable[[Side], bytes]]:
        kind = self._choice(
            ["open"] * 8 + ["limited"] * 2 + ["little"] * 3 + ["closed", "nowhere", "%20", "-", "x" * 200]
        )
        body = self._odd_body() if self._chance(0.2) else self._join_body()
        return self._request("POST", lambda side: f"/api/v1/queues/{side.queue(kind)}/join", body)

    def _join_body(self) -> Part:
        pick = self._random.random()
        options: dict[str, list[Any]] = {
            "client_id": ["client number one", "client number two", f"client {self._random.random()}"],
            "user_id": ["ann", "bob", f"user {self._random.random()}"],
            "phone": ["+49 30 901820", f"+49 30 90{10_000 + int(90_000 * self._random.random())}"],
            "name": ["Ann", "Änn \N{PARTY POPPER}"],
            "party_size": [1, 4],
            "metadata": [{}, {"a": [1, {"b": None}]}],
            "idempotency_key": ["key one", "key two"],
        }
        fields = {name: self._choice(values) for name, values in options.items() if self._chance(0.35)}
        if not self._chance(0.1):
            return json.dumps(fields) if fields else b""
        good = self._chance(0.5)

        def with_pass(side: Side) -> str:
            given = _pick(side.passes, pick) if good else side.token("cut", pick)
            return json.dumps(fields | {"priority_pass": given})

        return with_pass

    def _body(self, path: str) -> Part:
        if path.endswith("leave") and self._chance(0.5):
            kind, pick, final = self._choice(TOKENS[:-1]), self._random.random(), self._chance(0.3)
            return lambda side: json.dumps({"token": side.token(kind, pick), "final": final})
        return self._choice(["", "", "{}", '{"timestamp":1.5}', '{"client_id":"client number one"}', '{"final":true}'])

    def _odd_body(self) -> Part:
        return self._choice([*ODD_BODIES, TOO_LARGE])

    def _query(self) -> Part:
        pick, kind = self._random.random(), self._choice(TOKENS[:14])
        options: list[Part] = [
            *[""] * 6,
            lambda side: f"?token={side.token(kind, pick)}",
            lambda side: f"?fairline_session={side.token(kind, pick)}",
            lambda side: f"?queue={side.queue('open')}",
            lambda side: f"?queue={side.queue('limited')}&token=a&token={side.token(kind, pick)}",
            "?queue=%ff%00&&&=&token",
            "?" + "a=b&" * 500,
        ]
        return self._choice(options)

    def _request(
        self, method: str, path: Part, body: Part | None = None, query: Part = ""
    ) -> tuple[str, Callable[[Side], bytes]]:
        headers = self._headers()
        chunks = self._choice([0, 0, 0, 1000, 7])

        def build(side: Side) -> bytes:
            lines = [f"{method} {said(path, side)}{said(query, side)} HTTP/1.1", "Host: fairline.test"]
            lines += [f"{name}: {said(value, side)}" for name, value in headers]
            content = said(body, side) if body is not None else b""
            content = content.encode() if isinstance(content, str) else content
            if chunks and body is not None:
                lines.append("Transfer-Encoding: chunked")
                content = chunked(content, chunks)
            elif content or method == "POST":
                lines.append(f"Content-Length: {len(content)}")
            return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + content

        return method, build

    def _headers(self) -> list[tuple[str, Part]]:
        kind, other, pick = self._choice(TOKENS), self._choice(TOKENS), self._random.random()
        queue = self._choice(["open", "limited", "nowhere"])
        bearer = (
            self._choice(["Authorization", "authorization"]),
            lambda side: f"Bearer {side.token(kind, pick)}",
        )
        options: list[tuple[str, Part]] = [
            bearer,
            ("authorization", lambda side: f"bearer   {side.token(kind, pick)}  "),
            ("authorization", lambda side: f"Basic {side.token(kind, pick)}"),
            ("authorization", "Bearer"),
            ("cookie", lambda side: f"a=b; fairline_ticket_{side.queue(queue)}={side.token(other, pick)}; c"),
            ("cookie", lambda side: f"fairline_session={side.token(other, pick)};;=; fairline_client=x"),
            ("idempotency-key", "key one"),
            ("idempotency-key", "k" * 201),
            ("x-request-id", "asked-for_1.2"),
            ("x-request-id", "not allowed/<>"),
            ("origin", ORIGIN),
            ("origin", "https://elsewhere.test"),
            ("user-agent", "Agent \udc80\udcff é"),
            ("user-agent", "another agent"),
            ("content-type", "text/plain;charset=UTF-8"),
            ("accept", "*/*;q=0.1"),
            ("x-forwarded-for", "10.0.0.1, nonsense"),
            ("last-event-id", "waiting-1."),
            ("x-empty", ""),
        ]
        chosen = [self._choice(options) for _ in range(self._choice([0, 1, 2, 4]))]
        return [bearer, *chosen] if self._chance(0.7) else chosen


# What both sides have in common

_MASKED = {"token", "session_token", "redirect_url", "joined_at", "claim_before", "expires_at"}
_ESTIMATES = {"estimated_wait_seconds", "estimated_wait_range", "next_heartbeat_seconds"}
_HOP = {"date", "connection", "transfer-encoding"}


def common(side: Side, answer: Answer) -> dict[str, Any]:
    """An answer without what must differ between two servers."""
    headers = {name: value for name, value in answer.headers.items() if name not in _HOP}
    if headers["x-request-id"] != "asked-for_1.2":
        headers["x-request-id"] = "*"
    if "retry-after" in headers:
        headers["retry-after"] = "*"
    if "set-cookie" in headers:
        headers["set-cookie"] = re.sub(r"=[\w.-]+; Max-Age=\d+", "=*; Max-Age=*", headers["set-cookie"])
    content: Any = answer.body
    if headers.get("content-type", "").startswith("application/") and content:
        content = json.loads(content)
        if "request_id" in content:
            assert content["request_id"] == answer.headers["x-request-id"]
            content["request_id"] = "*"
        content = {name: "*" if name in _MASKED else value for name, value in content.items()}
        content = {name: value is None if name in _ESTIMATES else value for name, value in content.items()}
        headers["content-length"] = "*"
    text = msgspec.json.encode([answer.status, headers, content]).decode()
    for kind, queue in side.queues.items():
        text = text.replace(queue, f"<{kind}>")
    text = re.sub(r"in \d+ s\b", "in * s", text)
    return {"answer": json.loads(text)}


class Caller:
    """A client of one side, which connects again when it was told to go."""

    def __init__(self, side: Side, stack: AsyncExitStack) -> None:
        self._side = side
        self._stack = stack
        self._raw: Raw | None = None

    async def ask(self, method: str, data: bytes) -> Answer:
        if self._raw is None:
            self._raw = await self._stack.enter_async_context(connected(self._side.port))
        await self._raw.send(data)
        answer = await self._raw.answer(head=method == "HEAD")
        if answer.closes or answer.headers.get("content-type", "").startswith("text/event-stream"):
            await self._raw.close()
            self._raw = None
        return answer


async def learn(side: Side, answer: Answer) -> None:
    """Keep what later steps can use."""
    if answer.body and answer.headers.get("content-type") == "application/json":
        content = answer.json()
        if token := content.get("token"):
            side.tickets.append(token)
            if content["queue"] == side.queues["open"]:
                side.numbers.append(content["ticket"])
        if (token := content.get("session_token")) and token not in side.sessions:
            side.sessions.append(token)


async def operate(side: Side, what: float) -> None:
    """Between the steps somebody is called, or put out."""
    queue = side.queues["open"]
    if what < 0.5:
        await side.room.call_next(queue, 1)
    elif what < 0.7 and side.numbers:
        number = side.numbers[int(what * len(side.numbers))]
        ticket = await side.room.ticket(queue, number)
        if ticket.status.value in ("waiting", "admitted"):
            await side.room.act(queue, Action.CANCEL, number)


@pytest.fixture
async def sides(valkey_url: str) -> AsyncIterator[tuple[Side, Side]]:
    secret = secrets.token_bytes(32)
    async with (
        serving(valkey_url, secret=secret) as fast,
        serving(valkey_url, secret=secret, fast=False) as full,
    ):
        both = Side(fast), Side(full)
        for side in both:
            await side.furnish()
        yield both


@pytest.mark.parametrize("seed", [1, 2])
async def test_both_lanes_answer_alike(sides: tuple[Side, Side], seed: int) -> None:
    plan, moves = Plan(seed), random.Random(seed)
    seen: set[tuple[int, str]] = set()
    async with AsyncExitStack() as stack:
        callers = [Caller(side, stack) for side in sides]
        for number in range(STEPS):
            method, build = plan.step()
            requests = [build(side) for side in sides]
            answers = [await caller.ask(method, data) for caller, data in zip(callers, requests, strict=True)]
            fast, full = (common(side, answer) for side, answer in zip(sides, answers, strict=True))
            assert fast == full, f"step {number} of plan {seed}: {requests[0][:500]!r}"
            problem = answers[0].headers.get("content-type") == "application/problem+json"
            seen.add((answers[0].status, answers[0].code if problem and method != "HEAD" else ""))
            what = moves.random()
            for side, answer in zip(sides, answers, strict=True):
                await learn(side, answer)
                if number % 5 == 0:
                    await operate(side, what)
    assert seen >= EXPECTED


async def test_a_failure_of_ours_is_noted_and_says_nothing_of_our_insides(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("our insides")

    now = int(time.time())
    for side in sides:
        monkeypatch.setattr(side.room.store, "rank", fail)
        claims = TicketClaims(queue=side.queues["open"], number=1, joined=1, issued=now, expires=now + 100)
        status = request("GET", "/api/v1/status", token=side.room.keyring.tickets.sign(claims), x_request_id="n-1")
        with capture_logs() as logs:
            async with connected(side.port) as raw:
                await raw.send(status + status)
                for answer in await raw.answers(2):  # the connection goes on
                    assert (answer.status, answer.code) == (500, "internal_error")
                    assert b"insides" not in answer.body
                    assert b"RuntimeError" not in answer.body
        assert [(entry["event"], entry["request_id"]) for entry in logs] == [("http.failed", "n-1")] * 2


async def test_both_lanes_stream_alike(sides: tuple[Side, Side]) -> None:
    """The headers, and what is told first: to someone who waits, who comes back, who is let in."""
    told: list[list[Any]] = [[], []]
    for side, parts in zip(sides, told, strict=True):
        queue = side.queues["open"]
        async with connected(side.port) as raw:
            await raw.send(request("POST", f"/api/v1/queues/{queue}/join", b"{}"))
            token = (await raw.answer()).json()["token"]
        parts.append(await first_frames(side, token))
        parts.append(await first_frames(side, token, last_event_id="waiting-7."))
        parts.append(await first_frames(side, token, origin=ORIGIN))
        await side.room.call_next(queue, 1)
        parts.append(await first_frames(side, token))
    assert told[0] == told[1]
    assert [re.findall("event: ([a-z]+)", frames) for _, frames in told[0]] == [["message", "position"]] * 3 + [
        ["message", "admitted"]
    ]


async def first_frames(side: Side, token: str, **headers: str) -> tuple[Any, str]:
    async with connected(side.port) as raw:
        await raw.send(request("GET", "/api/v1/stream", None, token=token, **headers))
        start = common(side, await raw.answer())
        text = ""
        async with asyncio.timeout(10):
            while not re.search(r"event: (position|admitted)", text):
                text += (await raw.reader.readuntil(b"\n\n")).decode()
    text = re.sub(r"(^|\r\n)[0-9a-f]+\r\n", "", text)  # the full lane writes it in chunks
    text = re.sub(r"retry: \d+", "retry: *", text).replace(side.queues["open"], "<open>")
    text = re.sub(r'"(joined_at|session_token|redirect_url|claim_before)":"[^"]+"', r'"\1":"*"', text)
    return start, text
