"""What a stranger makes a worker remember, and what many honest people do: it is bounded, and its bound is measured."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairline.caches import MOST
from fairline.web.server.head import MOST_FIELDS
from tests.attack.conftest import MakeQueue
from tests.web.raw import connected, request
from tests.web.running import RunningServer

#: What a worker may grow by in all: what it remembers, and as much as allocators leave lying about.
BOUND = MOST + 12_000_000
#: How much memory may differ from one minute of a steady load to the next.
FLAT = 4_000_000
SETTLED = {
    "admission": "manual",
    "join_limit_per_ip": 0,
    "heartbeat_timeout_seconds": 0,
    "target_url": "https://a.test/",
}
BROWSER = {
    "user_agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0",
    "accept_language": "en-GB,en;q=0.9",
    "sec_fetch_site": "same-origin",
    "referer": "https://line.example/q/sale",
}
VERIFY = "/api/v1/session/verify"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    """One worker: all that is sent is its own to remember."""
    running = RunningServer(tmp_path, workers=1)
    yield running
    running.stop()


def resident(server: RunningServer) -> int:
    (pid,) = server.worker_pids()
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


async def ask(server: RunningServer, requests: Iterator[bytes], found: list[tuple[int, bytes]]) -> None:
    async with connected(server.port) as raw:
        for each in requests:
            await raw.send(each)
            answer = await raw.answer()
            found.append((answer.status, answer.body))


def sent(server: RunningServer, requests: Iterable[bytes], connections: int = 16) -> list[tuple[int, bytes]]:
    """What is answered to all of them, by some connections."""

    async def run() -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        shared = iter(requests)
        await asyncio.gather(*(ask(server, shared, found) for _ in range(connections)))
        return found

    return asyncio.run(run())


def let_in(server: RunningServer, operator: httpx.Client, queue: str) -> str:
    """The session token of someone who was called."""
    with httpx.Client(base_url=f"{server.base_url}/api/v1") as someone:
        someone.post(f"/queues/{queue}/join", json={}).raise_for_status()
        operator.post(f"/api/v1/admin/queues/{queue}/call-next", json={}).raise_for_status()
        return str(someone.get("/status", params={"queue": queue}).json()["session_token"])


def fields(number: int) -> str:
    """A query of 8 kB, of many fields."""
    return "&".join(f"{each:x}" for each in range(number, number + 1500))[:7900]


def test_what_strangers_send_once_is_not_remembered_without_end(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(**SETTLED)
    session = let_in(server, operator, queue)
    httpx.get(f"{server.base_url}/q/{queue}").raise_for_status()
    before = resident(server)
    loads: dict[str, tuple[Iterable[bytes], set[int]]] = {
        "queries": ((request("GET", f"/api/v1/queues/{queue}?x{n}&{fields(n)}") for n in range(1200)), {422}),
        "queries of a page": ((request("GET", f"/q/{queue}?x{n}&{fields(n)}") for n in range(1100)), {200}),
        "user agents": (
            (request("GET", VERIFY, token=session, user_agent=f"{n:08d}{'u' * 14_000}") for n in range(4000)),
            {200, 401},
        ),
        "addresses": (
            (
                request("GET", VERIFY, x_original_uri=f"/{n:08d}{'u' * 7000}", x_forwarded_uri=f"/{n:08d}{'u' * 7000}")
                for n in range(1500)
            ),
            {401},
        ),
    }
    grew = {}
    for load, (requests, statuses) in loads.items():
        assert {status for status, _ in sent(server, requests)} <= statuses, load
        grew[load] = resident(server) - before
    assert max(grew.values()) < BOUND / 2, grew


def test_what_many_people_say_once_each_is_bounded(server: RunningServer, make_queue: MakeQueue) -> None:
    queue = make_queue(**SETTLED)
    bodies = (json.dumps({"client_id": secrets.token_hex(8)}).encode() for _ in range(9_000))
    joined = sent(server, (request("POST", f"/api/v1/queues/{queue}/join", body) for body in bodies), 32)
    assert Counter(status for status, _ in joined) == {201: 9_000}
    tokens = [json.loads(body)["token"] for _, body in joined]
    before = resident(server)
    for way in ("/api/v1/heartbeat", "/api/v1/status"):
        method, body = ("POST", b"{}") if way.endswith("heartbeat") else ("GET", b"")
        asked = (request(method, way, body, token=token, **BROWSER) for token in tokens)
        assert {status for status, _ in sent(server, asked, 32)} == {200}
    assert resident(server) - before < BOUND


def test_a_call_refuses_a_query_of_many_fields_and_a_page_does_without_the_rest(
    server: RunningServer, make_queue: MakeQueue
) -> None:
    queue = make_queue(**SETTLED)
    padding = "&".join(["a=1"] * (MOST_FIELDS - 1))
    with httpx.Client(base_url=server.base_url) as client:
        for name, status in (("session/verify", 401), ("status", 422)):
            answer = client.get(f"/api/v1/{name}?queue={queue}&" + "&".join([f"queue={queue}"] * MOST_FIELDS))
            assert (answer.status_code, answer.json()["detail"]) == (status, "The query has more than 50 fields.")
        assert '<html lang="ko"' in client.get(f"/q/{queue}?{padding}&lang=ko").text
        assert '<html lang="en"' in client.get(f"/q/{queue}?{padding}&a=1&lang=ko").text


# At length


@pytest.mark.long
@pytest.mark.timeout(900)
def test_memory_is_flat_after_the_first_minute_of_a_steady_load(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    """40 a second who join, ask where they stand, and go in."""
    auto = {**SETTLED, "admission": "auto", "admission_rate": 200, "max_active": 100_000, "session_seconds": 30}
    queue = make_queue(**auto)

    async def visit(number: int) -> None:
        browser = {**BROWSER, "user_agent": f"{BROWSER['user_agent']} {number % 50}"}
        async with connected(server.port) as raw:

            async def told(asked: bytes) -> Any:
                await raw.send(asked)
                answer = await raw.answer()
                return json.loads(answer.body) if answer.body else {}

            body = json.dumps({"client_id": secrets.token_hex(8)}).encode()
            token = (await told(request("POST", f"/api/v1/queues/{queue}/join", body, **browser)))["token"]
            stands: dict[str, Any] = {}
            while "session_token" not in stands:
                await asyncio.sleep(1)
                stands = await told(request("POST", "/api/v1/heartbeat", b"{}", token=token, **browser))
            given = stands["session_token"]
            await told(request("POST", "/api/v1/session/start", b"{}", token=given, **browser))
            for page in range(3):
                await told(request("GET", VERIFY, None, token=given, x_original_uri=f"/{page}", **browser))

    async def steady(minutes: int) -> list[int]:
        found, visits, began, number = [], set(), time.monotonic(), 0
        for minute in range(1, minutes + 1):
            while time.monotonic() < began + 60 * minute:
                visits.add(asyncio.create_task(visit(number)))
                number += 1
                await asyncio.sleep(max(0.0, began + number / 40 - time.monotonic()))
                for done in [each for each in visits if each.done()]:
                    visits.remove(done)
                    done.result()
            found.append(resident(server))
        await asyncio.gather(*visits)
        return found

    first, *later = asyncio.run(steady(5))
    assert max(later) - first < FLAT, [first, *later]
