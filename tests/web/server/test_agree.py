"""The fast path and the ASGI application answer the same requests alike: status, headers and body, up to what must
differ (tokens, times, ids). The one is our protocol, the other the same functions behind uvicorn's own."""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.domain.tokens import TicketClaims
from tests.backends import PATIENCE_SECONDS
from tests.web.inside import ORIGIN, serving
from tests.web.raw import connected, request
from tests.web.server.plan import Plan
from tests.web.server.sides import Caller, Side, common, learn, operate

SEEDS, STEPS = (2, 6), 1000
#: Every one of these must be met at least once in all of them, or the test says little.
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


async def test_both_ways_answer_alike(sides: tuple[Side, Side]) -> None:
    seen: set[tuple[int, str]] = set()
    for seed in SEEDS:
        seen |= await answered_alike(sides, Plan(seed), random.Random(seed))
    assert seen >= EXPECTED


async def answered_alike(sides: tuple[Side, Side], plan: Plan, moves: random.Random) -> set[tuple[int, str]]:
    """Make the requests of a plan on both sides; the statuses and codes that they were answered with."""
    seen: set[tuple[int, str]] = set()
    async with AsyncExitStack() as stack:
        callers = [Caller(side, stack) for side in sides]
        for number in range(STEPS):
            method, build = plan.step()
            requests = [build(side) for side in sides]
            answers = [await caller.ask(method, data) for caller, data in zip(callers, requests, strict=True)]
            fast, full = (common(side, answer) for side, answer in zip(sides, answers, strict=True))
            assert fast == full, f"step {number}: {requests[0][:500]!r}"
            problem = answers[0].headers.get("content-type") == "application/problem+json"
            seen.add((answers[0].status, answers[0].code if problem and method != "HEAD" else ""))
            what = moves.random()
            for side, answer in zip(sides, answers, strict=True):
                await learn(side, answer)
                if number % 5 == 0:
                    await operate(side, what)
    return seen


async def test_an_internal_error_is_logged_and_the_answer_gives_no_details(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("our insides")

    now = int(time.time())
    for side in sides:
        monkeypatch.setattr(side.service.store, "status", fail)
        claims = TicketClaims(queue=side.queues["open"], number=1, joined=1, issued=now, expires=now + 100)
        status = request("GET", "/api/v1/status", token=side.service.keyring.tickets.sign(claims), x_request_id="n-1")
        with capture_logs() as logs:
            async with connected(side.port) as raw:
                await raw.send(status + status)
                for answer in await raw.answers(2):  # the connection goes on
                    assert (answer.status, answer.code) == (500, "internal_error")
                    assert b"insides" not in answer.body
                    assert b"RuntimeError" not in answer.body
        assert [(entry["event"], entry["request_id"]) for entry in logs] == [("http.failed", "n-1")] * 2


async def test_both_ways_stream_alike(sides: tuple[Side, Side]) -> None:
    """The headers, and what is sent first: to someone who waits, who comes back, who is let in."""
    told: list[list[Any]] = [[], []]
    for side, parts in zip(sides, told, strict=True):
        queue = side.queues["open"]
        async with connected(side.port) as raw:
            await raw.send(request("POST", f"/api/v1/queues/{queue}/join", b"{}"))
            token = (await raw.answer()).json()["token"]
        parts.append(await first_frames(side, token))
        parts.append(await first_frames(side, token, last_event_id="waiting-7."))
        parts.append(await first_frames(side, token, origin=ORIGIN))
        await side.service.call_next(queue, 1)
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
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not re.search(r"event: (position|admitted)", text):
                text += (await raw.reader.readuntil(b"\n\n")).decode()
    text = re.sub(r"(^|\r\n)[0-9a-f]+\r\n", "", text)  # the ASGI application writes it in chunks
    text = re.sub(r"id: admitted-0-[0-9a-f]+", "id: admitted-0-*", text)  # until when they are called is part of it
    text = re.sub(r"retry: \d+", "retry: *", text).replace(side.queues["open"], "<open>")
    text = re.sub(r'"(joined_at|held_until|session_token|redirect_url|claim_before)":"[^"]+"', r'"\1":"*"', text)
    return start, text
