"""The two servers that are compared, each with queues and people of its own, and what their answers have in common."""

from __future__ import annotations

import json
import re
import secrets
import time
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action
from fairline.domain.tokens import Keyring, SessionClaims, TicketClaims
from fairline.service.fairline import Fairline
from tests.web.inside import Inside, open_queue
from tests.web.raw import Answer, Raw, connected

#: What kinds of queues each side has: the same, but for the names.
QUEUES: dict[str, dict[str, Any]] = {
    "open": {"retain_seconds": 3600, "message": "Soon."},
    "limited": {"join_limit_per_ip": 5},
    "little": {"max_queue_size": 3, "one_per": "user"},
    "closed": {"status": "maintenance", "closed_message": "Back at noon."},
}


class Side:
    """One of the two servers, with queues and people of its own."""

    def __init__(self, inside: Inside) -> None:
        self.service: Fairline = inside.service
        self.port = inside.port
        self.queues: dict[str, QueueId] = {}
        self.tickets: list[str] = []
        self.sessions: list[str] = []
        self.passes: list[str] = []
        self.numbers: list[int] = []

    async def furnish(self) -> None:
        for kind, settings in QUEUES.items():
            name = f"{kind}-{secrets.token_hex(6)}"
            self.queues[kind] = await open_queue(self.service, name, ticket_prefix="T", **settings)
        self.passes = [
            (await self.service.issue_priority_pass(self.queues["open"], level, 50))[1] for level in (1, 2, 3)
        ]

    def queue(self, kind: str) -> str:
        return self.queues.get(kind, QueueId(kind))

    def token(self, kind: str, pick: float) -> str:
        """A token of some kind; `pick` chooses among those there are."""
        ticket = pick_of(self.tickets, pick)
        session = pick_of(self.sessions, pick)
        keyring, queue, now = self.service.keyring, self.queues["open"], int(time.time())
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


def pick_of(tokens: list[str], pick: float) -> str:
    return tokens[int(pick * len(tokens))] if tokens else "none-yet"


# What both sides have in common

_MASKED = {"token", "session_token", "redirect_url", "joined_at", "held_until", "claim_before", "expires_at"}
_ESTIMATES = {
    "estimated_wait_seconds",
    "estimated_wait_range",
    "estimated_wait_at_least_seconds",
    "people_per_minute",
    "next_heartbeat_seconds",
}
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
    described = headers.get("content-type", "").startswith("application/")
    if described:  # the length is that of the request's id too, also where a HEAD has no body
        headers["content-length"] = "*"
    if described and content:
        content = json.loads(content)
        if "request_id" in content:
            assert content["request_id"] == answer.headers["x-request-id"]
            content["request_id"] = "*"
        content = {name: "*" if name in _MASKED else value for name, value in content.items()}
        content = {name: value is None if name in _ESTIMATES else value for name, value in content.items()}
    text = msgspec.json.encode([answer.status, headers, content]).decode()
    for kind, queue in side.queues.items():
        text = text.replace(queue, f"<{kind}>")
    text = re.sub(r"in \d+ s\b", "in * s", text)
    return {"answer": json.loads(text)}


class Caller:
    """A client of one side, which connects again when its connection was closed."""

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
        await side.service.call_next(queue, 1)
    elif what < 0.7 and side.numbers:
        number = side.numbers[int(what * len(side.numbers))]
        ticket = await side.service.ticket(queue, number)
        if ticket.status.value in ("waiting", "admitted"):
            await side.service.act(queue, Action.CANCEL, number)
