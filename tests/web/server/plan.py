"""Random requests, the same for both sides: good ones, odd ones, and tokens of every kind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.web.inside import ORIGIN
from tests.web.raw import chunked
from tests.web.server.sides import Side, pick_of

TICKET_CALLS = [("POST", "/api/v1/heartbeat"), ("GET", "/api/v1/status"), ("POST", "/api/v1/leave")]
SESSION_CALLS = [("POST", f"/api/v1/session/{name}") for name in ("start", "activity", "complete")]
VERIFY = ("GET", "/api/v1/session/verify")
ENTRIES = [*TICKET_CALLS, *SESSION_CALLS, VERIFY, ("GET", "/api/v1/stream")]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

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
            given = pick_of(side.passes, pick) if good else side.token("cut", pick)
            return json.dumps(fields | {"priority_pass": given})

        return with_pass

    def _body(self, path: str) -> Part:
        if path.endswith("leave") and self._chance(0.5):
            kind, pick, final = self._choice(TOKENS[:-1]), self._random.random(), self._chance(0.3)
            return lambda side: json.dumps({"token": side.token(kind, pick), "final": final})
        if "/session/" in path:
            return self._choice(["", "", "", "{}", '{"final":true}'])
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
            *[("user-agent", "another agent")] * 6,
            ("content-type", "text/plain;charset=UTF-8"),
            ("accept", "*/*;q=0.1"),
            ("x-forwarded-for", "10.0.0.1, nonsense"),
            ("last-event-id", "waiting-1."),
            ("x-empty", ""),
        ]
        chosen = [self._choice(options) for _ in range(self._choice([0, 1, 2, 4]))]
        chosen.append(("content-type", "application/json"))  # the first of a name counts
        return [bearer, *chosen] if self._chance(0.7) else chosen
