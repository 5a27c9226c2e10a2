"""Runs all eleven queues at once in real time, on a running server over HTTP: `make honesty ARGS="--seed 7"`.

It takes twelve minutes, which is why `make test` has the same in virtual time (test_honesty.py).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.honesty.day import Day
from tests.honesty.lines import LINES, SECONDS, Person
from tests.honesty.told import Result, Told, table

#: How long a server may take to start.
START_SECONDS = 60


class Live:
    """A running server, as people, staff and operators reach it."""

    def __init__(self, client: httpx.AsyncClient, admin_key: str, began: float) -> None:
        self._client = client
        self._admin = {"Authorization": f"Bearer {admin_key}"}
        self._began = began
        self._tokens: dict[tuple[str, int], str] = {}
        self._sessions: dict[tuple[str, int], str] = {}
        self._seen: dict[str, str] = {}

    async def create(self, queue: str, settings: Mapping[str, Any]) -> None:
        await self._staff("POST", "", {"id": queue, "target_url": "http://127.0.0.1:1/", **settings})

    async def configure(self, queue: str, changes: Mapping[str, Any]) -> None:
        await self._staff("PATCH", f"/{queue}", dict(changes))

    async def join(self, queue: str, first: int, people: Sequence[Person]) -> list[tuple[int, Told]]:
        return list(await asyncio.gather(*(self._join(queue, n, each) for n, each in enumerate(people, first))))

    async def heartbeat(self, queue: str, numbers: Sequence[int]) -> list[Told | None]:
        return list(await asyncio.gather(*(self._beat(queue, number) for number in numbers)))

    async def leave(self, queue: str, numbers: Sequence[int]) -> None:
        await asyncio.gather(*(self._person("POST", "/api/v1/leave", queue, n, {"final": True}) for n in numbers))

    async def finish(self, queue: str, numbers: Sequence[int]) -> None:
        for number in numbers:
            for action in ("start", "complete"):  # refused where the ticket has lapsed meanwhile
                path = f"/api/v1/admin/queues/{queue}/tickets/{number}/{action}"
                await self._client.post(path, json={}, headers=self._admin)

    async def call(self, queue: str, desk: str) -> int | None:
        called = await self._staff("POST", f"/{queue}/call-next", {"count": 1, "desk": desk})
        return called["tickets"][0]["ticket"] if called.get("tickets") else None

    async def let_in(self, queue: str) -> list[tuple[int, float]]:
        after = f"&after={self._seen[queue]}" if queue in self._seen else ""
        found = await self._staff("GET", f"/{queue}/events?limit=500{after}")
        events = found["events"]
        if events:
            self._seen[queue] = events[-1]["id"]
        return [
            (each["ticket"], datetime.fromisoformat(each["at"]).timestamp() - self._began)
            for each in events
            if each["type"] in ("admitted", "called")
        ]

    async def _join(self, queue: str, n: int, person: Person) -> tuple[int, Told]:
        body = {"client_id": f"{queue} {n}", **({"priority": person.level} if person.level else {})}
        if person.level:
            answer = await self._staff("POST", f"/{queue}/join", body)
        else:
            answer = (await self._client.post(f"/api/v1/queues/{queue}/join", json=body)).json()
        self._tokens[queue, answer["ticket"]] = answer.get("token", "")
        return answer["ticket"], self._told(answer)

    async def _beat(self, queue: str, number: int) -> Told | None:
        answer = await self._person("POST", "/api/v1/heartbeat", queue, number, {})
        return self._told(answer) if answer.get("position") else None

    def _told(self, answer: Mapping[str, Any]) -> Told:
        low, high = answer.get("estimated_wait_range") or (None, None)
        changed = answer.get("wait_changed") or {}
        return Told(time.time() - self._began, answer.get("estimated_wait_seconds"), low, high, changed.get("cause"))

    async def _person(self, method: str, path: str, queue: str, number: int, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._tokens[queue, number]}"}
        found = await self._client.request(method, path, json=body, headers=headers)
        return found.json() if found.content else {}

    async def _staff(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found = await self._client.request(method, f"/api/v1/admin/queues{path}", json=body, headers=self._admin)
        if found.is_error:
            raise RuntimeError(f"{method} {path}: {found.status_code} {found.text}")
        return found.json() if found.content else {}


async def watch(url: str, admin_key: str, seed: int, seconds: int) -> list[Result]:
    """Run all queues for so many seconds on the server at `url`."""
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        server = Live(client, admin_key, time.time())
        days = [Day(line, server, seed) for line in LINES]
        for day in days:
            await day.open()
        began = time.monotonic()
        for second in range(1, seconds + 1):
            await asyncio.sleep(max(0.0, began + second - time.monotonic()))
            await asyncio.gather(*(day.second(second) for day in days))
        return [day.result for day in days]


async def main() -> None:
    """Start a server, run the queues, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    asked = parser.parse_args()
    key = "honesty-" + "0" * 40
    with tempfile.TemporaryDirectory(prefix="fairline-honesty-") as folder:
        port = _free_port()
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairline", "serve", "--port", str(port), "--data", str(Path(folder) / "data")),
            env={**_environment(), "FAIRLINE_ADMIN_KEY": key, "FAIRLINE_WORKERS": "1"},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await _ready(f"http://127.0.0.1:{port}")
            results = await watch(f"http://127.0.0.1:{port}", key, asked.seed, asked.seconds)
        finally:
            server.terminate()
            await server.wait()
    sys.stdout.write(table(results) + "\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}


async def _ready(url: str) -> None:
    """Wait until the server takes requests."""
    async with httpx.AsyncClient(base_url=url) as client, asyncio.timeout(START_SECONDS):
        while True:
            try:
                if (await client.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.2)


if __name__ == "__main__":
    asyncio.run(main())
