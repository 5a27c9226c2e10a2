"""Parts of the running server are killed under load: nobody loses a place or gets two, and nobody too many is in."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.web.conftest import STORES
from tests.web.crowd import everyone, join, make_queue, operator, watching
from tests.web.running import RunningServer

MAX_ACTIVE = 30
RATE = 50
#: How many join before the next fault.
BETWEEN = 60


class Rush:
    """People who join at a steady pace, each trying again with the same id until they have a ticket."""

    def __init__(self, client: httpx.AsyncClient, queue: str) -> None:
        self._client, self._queue = client, queue
        self.tickets: dict[str, dict[str, Any]] = {}
        self.most_inside = 0
        self.refused: Counter[str] = Counter()
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Join until stopped, and let everyone who came finish joining."""
        joining: set[asyncio.Task[None]] = set()
        number = 0
        while not self._stop.is_set():
            number += 1
            task = asyncio.create_task(self._join(f"rush-{self._queue}-{number:06d}"))
            joining.add(task)
            task.add_done_callback(joining.discard)
            await asyncio.sleep(1 / RATE)
        await asyncio.gather(*joining)

    def stop(self) -> None:
        """Nobody else comes."""
        self._stop.set()

    async def _join(self, client_id: str) -> None:
        while True:
            try:
                answer = await self._client.post(f"/api/v1/queues/{self._queue}/join", json={"client_id": client_id})
            except httpx.TransportError as error:
                self.refused[type(error).__name__] += 1
            else:
                if answer.status_code in (200, 201):
                    self.tickets[client_id] = answer.json()
                    return
                assert answer.status_code == 503, answer.text
                assert answer.json()["code"] == "store_unavailable"
                assert int(answer.headers["retry-after"]) >= 1
                self.refused["503"] += 1
            await asyncio.sleep(random.uniform(0.1, 0.4))


async def _watch_inside(client: httpx.AsyncClient, queue: str, rush: Rush) -> None:
    """Look all the time how many are inside."""
    while True:
        try:
            answer = await client.get(f"/api/v1/admin/queues/{queue}/stats")
            if answer.status_code == 200:
                stats = answer.json()
                rush.most_inside = max(rush.most_inside, stats["admitted"] + stats["active"])
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("store", STORES)
async def test_kills_of_a_worker_and_of_the_store_under_load(
    tmp_path_factory: pytest.TempPathFactory, store: str
) -> None:
    server = RunningServer(tmp_path_factory.mktemp("kills"), store=store)
    try:
        async with operator(server) as client:
            queue = await make_queue(
                client,
                "kills",
                admission_rate=20,
                max_active=MAX_ACTIVE,
                heartbeat_interval_seconds=1,
                heartbeat_timeout_seconds=300,
                grace_seconds=2,
            )
            people = await join(client, queue, 100)
            rush = Rush(client, queue)
            async with watching(server, people) as streams:
                inside = asyncio.create_task(_watch_inside(client, queue, rush))
                rushing = asyncio.create_task(rush.run())
                await _until(lambda: len(rush.tickets) > BETWEEN)
                os.kill(server.worker_pids()[0], signal.SIGKILL)
                await _until(lambda: len(server.worker_pids()) == 2)
                before = len(rush.tickets)
                await _until(lambda: len(rush.tickets) > before + BETWEEN)
                os.kill(server.store_pid(), signal.SIGKILL)
                await _until(lambda: rush.refused["503"] > 0)
                before = len(rush.tickets)
                await _until(lambda: len(rush.tickets) > before + BETWEEN)
                rush.stop()
                await rushing
                inside.cancel()

                await _check_nothing_lost(client, queue, people, rush)
                # Every stream, on whatever connection by now, comes to say where its ticket really is.
                await everyone(streams, lambda stream: stream.open or stream.statuses[-1] == 410)
                for stream in streams:
                    await _tells_the_truth(client, stream)
    finally:
        server.stop()


async def _check_nothing_lost(client: httpx.AsyncClient, queue: str, people: list[dict[str, Any]], rush: Rush) -> None:
    acknowledged = people + list(rush.tickets.values())
    numbers = [who["ticket"] for who in acknowledged]
    assert len(set(numbers)) == len(numbers), "one ticket was given to two"
    stats = (await client.get(f"/api/v1/admin/queues/{queue}/stats")).json()
    assert stats["joined_total"] == len(numbers), "someone has two tickets, or one that nobody knows of"
    assert rush.most_inside <= MAX_ACTIVE
    assert stats["expired_by_reason"].get("heartbeat_timeout", 0) == 0
    headers = {"authorization": ""}
    for who in random.sample(acknowledged, 50):
        headers["authorization"] = f"Bearer {who['token']}"
        answer = await client.get("/api/v1/status", headers=headers)
        assert (answer.status_code, answer.json()["ticket"]) == (200, who["ticket"])


async def _tells_the_truth(client: httpx.AsyncClient, stream: Any) -> None:
    async def agrees() -> bool:
        headers = {"authorization": f"Bearer {stream._token}"}
        truth = (await client.get("/api/v1/status", headers=headers)).json()
        told = stream.last
        return bool((told["status"], told["position"]) == (truth["status"], truth["position"]))

    deadline = time.monotonic() + 60
    while not await agrees():
        assert time.monotonic() < deadline, f"the stream of ticket {stream.last['ticket']} does not tell the truth"
        await asyncio.sleep(0.2)


async def _until(done: Any, seconds: float = 60) -> None:
    for _ in range(int(seconds / 0.05)):
        if done():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"it did not come true within {seconds:.0f} s")
