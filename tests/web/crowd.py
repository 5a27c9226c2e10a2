"""A crowd of clients against a running server: many join, watch and send heartbeats at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.backends import PATIENCE_SECONDS
from tests.web.running import RunningServer
from tests.web.sse import EventSource

#: Nobody is refused by limits that are not what the test is about.
OPEN = {"join_limit_per_ip": 0, "max_queue_size": 100_000}


@asynccontextmanager
async def operator(server: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the admin key."""
    headers = {"authorization": f"Bearer {server.admin_key}"}
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(
        base_url=server.base_url, headers=headers, timeout=PATIENCE_SECONDS, limits=limits
    ) as client:
        yield client


async def make_queue(client: httpx.AsyncClient, name: str, **settings: Any) -> str:
    """A new queue; answers its name."""
    answer = await client.post("/api/v1/admin/queues", json={"id": name, **OPEN, **settings})
    assert answer.status_code == 201, answer.text
    return name


async def join(client: httpx.AsyncClient, queue: str, count: int) -> list[dict[str, Any]]:
    """`count` people join, in order of the answer's list, a hundred at a time."""

    async def one(number: int) -> dict[str, Any]:
        answer = await client.post(f"/api/v1/queues/{queue}/join", json={"client_id": f"client-{queue}-{number:06d}"})
        assert answer.status_code == 201, answer.text
        content: dict[str, Any] = answer.json()
        return content

    people: list[dict[str, Any]] = []
    for start in range(0, count, 100):
        people += await asyncio.gather(*(one(number) for number in range(start, min(start + 100, count))))
    return people


@asynccontextmanager
async def watching(server: RunningServer, people: list[dict[str, Any]]) -> AsyncIterator[list[EventSource]]:
    """A stream for each person; each has received something when this begins."""
    streams: list[EventSource] = []
    try:
        for start in range(0, len(people), 200):
            part = [EventSource(server.host, server.port, who["token"]) for who in people[start : start + 200]]
            streams += part
            await everyone(part, lambda stream: bool(stream.events))
        yield streams
    finally:
        await asyncio.gather(*(stream.close() for stream in streams))


async def everyone(
    streams: list[EventSource], done: Callable[[EventSource], bool], seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until it holds for every stream."""
    await asyncio.gather(*(stream.until(done, seconds) for stream in streams))


async def events(client: httpx.AsyncClient, queue: str) -> list[dict[str, Any]]:
    """Everything that happened in a queue."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        answer = await client.get(f"/api/v1/admin/queues/{queue}/events", params={"after": after} if after else {})
        assert answer.status_code == 200, answer.text
        page = answer.json()["events"]
        if not page:
            return found
        found += page
        after = page[-1]["id"]
