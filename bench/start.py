"""A start with thousands of open pages: how soon after it each of them has its place."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from typing import Any

import httpx
from rich.table import Table

from bench.http import join, made
from bench.served import HOST, Served, fairline

PAGES = 5000
#: How many streams are opened at once.
AT_ONCE = 100
#: Seconds: until the pre-queue opens, until the start once all pages are open, and how long they are waited for.
PREQUEUE, START, PATIENCE = 1.0, 3.0, 30.0
WANTED_P99 = 2.0
_PLACED = re.compile(rb'"position":(\d+)')


class OpenPage:
    """The stream of one page: when it first had a position, and which."""

    def __init__(self) -> None:
        self.position = 0
        self.at = 0.0
        self.placed = asyncio.Event()

    async def follow(self, served: Served, token: str) -> asyncio.Task[None]:
        """Open the stream; what is returned goes on reading it."""
        reader, writer = await asyncio.open_connection(HOST, served.port, limit=65_536)
        writer.write(f"GET /api/v1/stream HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")

        async def read() -> None:
            try:
                while part := await reader.read(65_536):
                    if not self.position and (found := _PLACED.search(part)):
                        self.at, self.position = time.time(), int(found[1])
                        self.placed.set()
            finally:
                writer.close()

        return asyncio.create_task(read())


async def measure(quick: bool) -> list[Table]:
    """From the start to the frame with the position, for each page, when the order is drawn meanwhile."""
    pages = 500 if quick else PAGES
    table = Table(title=f"A start with {pages:,} open pages, 2 workers: seconds until each page has its place")
    for column in ("draw done", "p50", "p99", "last", "wanted p99"):
        table.add_column(column, justify="right")
    async with fairline(FAIRLINE_STREAMS_PER_ADDRESS="0") as served, _client(served) as client:
        table.add_row(*await _start(served, client, pages), f"≤ {WANTED_P99:g}")
    return [table]


async def _start(served: Served, client: httpx.AsyncClient, pages: int) -> list[str]:
    queue = "start"
    await made(client, queue, {"admission": "manual", "status": "maintenance"})
    path = f"/api/v1/admin/queues/{queue}/openings"
    fields = {"prequeue_at": _in(PREQUEUE), "starts_at": _in(3600), "draw": "random"}
    opening = (await client.post(path, json=fields)).raise_for_status().json()
    async with asyncio.timeout(PATIENCE):
        phase = ""
        while phase != "prequeue":
            phase = (await client.get(f"/api/v1/queues/{queue}")).json()["phase"]
    tokens = await join(client, queue, pages)
    shown = [OpenPage() for _ in tokens]
    reading: list[asyncio.Task[None]] = []
    for first in range(0, pages, AT_ONCE):
        part = zip(shown[first : first + AT_ONCE], tokens[first : first + AT_ONCE], strict=True)
        reading += await asyncio.gather(*(page.follow(served, token) for page, token in part))
    changed = await client.patch(f"{path}/{opening['id']}", json={"starts_at": _in(START)})
    starts = datetime.fromisoformat(changed.raise_for_status().json()["starts_at"]).timestamp()
    try:
        async with asyncio.timeout(START + PATIENCE):
            await asyncio.gather(*(page.placed.wait() for page in shown))
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    if sorted(page.position for page in shown) != list(range(1, pages + 1)):
        raise RuntimeError("somebody has no place, or two have the same")
    late = sorted(page.at - starts for page in shown)
    found = (await client.get(f"/api/v1/draws/{queue}.{opening['id']}")).raise_for_status().json()
    drawn = datetime.fromisoformat(found["drawn_at"]).timestamp() - starts
    cuts = quantiles(late, n=100)
    return [f"{each:.2f}" for each in (drawn, cuts[49], cuts[98], late[-1])]


@asynccontextmanager
async def _client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    options: dict[str, Any] = {"timeout": 30, "limits": httpx.Limits(max_connections=32)}
    headers = {"authorization": f"Bearer {served.admin_key}"}
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{served.port}", headers=headers, **options) as client:
        yield client


def _in(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
