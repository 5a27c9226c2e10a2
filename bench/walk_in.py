"""A walk-in line over HTTP on PostgreSQL: 300 people a minute take a number while five staff call, serve and finish.

Everyone comes with a name, a phone number and a party, each at a moment of their own, whether or not the one before was
answered late. What the server said is kept in a record of our own, and compared with it at the end: no label was given
twice, nobody was called twice, and everyone who still waits stands where the record says."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import httpx
from msgspec import Struct, field
from rich.table import Table

from bench.common import Figures, address, agent, table
from bench.served import HOST, WORKERS, Served, fairline

QUEUE = "desk"
STAFF = 5
JOINS_A_MINUTE = 300
SECONDS, QUICK_SECONDS = 300.0, 20.0
#: How long one is served, in seconds. Five desks are a little slower than people come, so that a line forms.
SERVED_SECONDS = (0.8, 1.4)
#: An empty line is read again after this many seconds.
PRESS_SECONDS = 0.2
#: Milliseconds that 95 of 100 calls keep within.
WANTED = {"join": 50.0, "call-next": 20.0}
#: This many of those who still wait are asked for their position.
SAMPLE = 100
SETTINGS: dict[str, Any] = {
    "admission": "manual",
    "heartbeat_timeout_seconds": 0,
    "claim_seconds": 3600,
    "session_seconds": 3600,
    "max_queue_size": 100_000,
    "phone_region": "KR",
    "one_per": "phone",
    "label_restart": "daily",
    "time_zone": "Asia/Seoul",
    "desks": [f"Desk {number}" for number in range(1, STAFF + 1)],
}


class Record(Struct):
    """What the server said, as we saw it."""

    tokens: dict[int, str] = field(default_factory=dict)
    """By ticket: what proves who holds it."""
    labels: list[str] = field(default_factory=list)
    called: list[int] = field(default_factory=list)
    completed: int = 0
    joins: Figures = field(default_factory=Figures)
    calls: Figures = field(default_factory=Figures)

    def waiting(self) -> list[int]:
        """Who still waits, in the order they came."""
        return sorted(self.tokens.keys() - set(self.called))


async def measure(quick: bool) -> list[Table]:
    """The walk-in line for five minutes, or less."""
    seconds = QUICK_SECONDS if quick else SECONDS
    # Everyone has an address of their own, which a proxy forwards: this client is the proxy.
    async with (
        fairline(FAIRLINE_STORE="embedded-postgres", FAIRLINE_TRUSTED_PROXIES=HOST) as served,
        _client(served) as people,
        _client(served, served.admin_key) as staff,
    ):
        _expect(await staff.post("/admin/queues", json={"id": QUEUE, **SETTINGS}), 201)
        record = Record()
        await _run(people, staff, record, seconds)
        wrong = await _wrong_positions(people, record)
    return [_figures(record, seconds), _checks(record, wrong)]


def _client(served: Served, key: str = "") -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(base_url=f"http://{HOST}:{served.port}/api/v1", headers=headers, timeout=30)


async def _run(people: httpx.AsyncClient, staff: httpx.AsyncClient, record: Record, seconds: float) -> None:
    begun = time.perf_counter()
    until = begun + seconds

    async def arrivals() -> None:
        async with asyncio.TaskGroup() as coming:
            for person in range(round(seconds * JOINS_A_MINUTE / 60)):
                await asyncio.sleep(max(0.0, begun + person * 60 / JOINS_A_MINUTE - time.perf_counter()))
                coming.create_task(_join(people, record, person))

    await asyncio.gather(arrivals(), *(_work(staff, record, desk, until) for desk in SETTINGS["desks"]))
    record.joins.seconds = record.calls.seconds = time.perf_counter() - begun


async def _join(people: httpx.AsyncClient, record: Record, person: int) -> None:
    body = {"name": f"Kim {person}", "phone": f"010-{20_000_000 + person}", "party_size": 1 + person % 4}
    headers = {
        "Idempotency-Key": f"form-{person:012x}",
        "User-Agent": agent(person),
        "X-Forwarded-For": address(person),
    }
    start = time.perf_counter()
    answer = await people.post(f"/queues/{QUEUE}/join", json=body, headers=headers)
    record.joins.latencies.append(time.perf_counter() - start)
    _expect(answer, 201)
    people.cookies.clear()  # the next one is someone else
    joined = answer.json()
    record.tokens[joined["ticket"]] = joined["token"]
    record.labels.append(joined["label"])


async def _work(staff: httpx.AsyncClient, record: Record, desk: str, until: float) -> None:
    """One member of staff, from the first call to the last."""
    queue = f"/admin/queues/{QUEUE}"
    while time.perf_counter() < until:
        start = time.perf_counter()
        answer = await staff.post(f"{queue}/call-next", json={"count": 1, "desk": desk})
        record.calls.latencies.append(time.perf_counter() - start)
        _expect(answer, 200)
        tickets = answer.json()["tickets"]
        if not tickets:
            await asyncio.sleep(PRESS_SECONDS)
            continue
        number = tickets[0]["ticket"]
        record.called.append(number)
        _expect(await staff.post(f"{queue}/tickets/{number}/start"), 200)
        await asyncio.sleep(random.uniform(*SERVED_SECONDS))
        _expect(await staff.post(f"{queue}/tickets/{number}/complete"), 200)
        record.completed += 1


def _expect(answer: httpx.Response, status: int) -> None:
    if answer.status_code != status:
        raise RuntimeError(f"{answer.request.url.path} was answered {answer.status_code}: {answer.text[:200]}")


async def _wrong_positions(people: httpx.AsyncClient, record: Record) -> tuple[int, int]:
    """Of how many the position is not the count of those ahead in our record, and of how many it was asked."""
    ahead = {number: i for i, number in enumerate(record.waiting())}
    asked = random.sample(sorted(ahead), min(SAMPLE, len(ahead)))
    wrong = 0
    for number in asked:
        headers = {"Authorization": f"Bearer {record.tokens[number]}"}
        answer = await people.get("/status", params={"queue": QUEUE}, headers=headers)
        _expect(answer, 200)
        told = answer.json()
        wrong += (told["position"], told["queue_length"]) != (ahead[number] + 1, len(ahead))
    return wrong, len(asked)


def _figures(record: Record, seconds: float) -> Table:
    result = table(
        f"A walk-in line on PostgreSQL, {seconds:.0f} s: {JOINS_A_MINUTE} joins a minute, {STAFF} staff, "
        f"{WORKERS} workers",
        "call",
        "calls",
        "a minute",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "wanted, p95 ms",
        "",
    )
    for name, figures in (("join", record.joins), ("call-next", record.calls)):
        shares = [figures.percentile(nth) for nth in (50, 95, 99)]
        result.add_row(
            name,
            f"{len(figures.latencies):,}",
            f"{figures.rate * 60:,.0f}",
            *(f"{share:.1f}" for share in shares),
            f"< {WANTED[name]:.0f}",
            "reached" if shares[1] < WANTED[name] else "missed",
        )
    return result


def _checks(record: Record, positions: tuple[int, int]) -> Table:
    wrong, asked = positions
    result = table("What the server said, compared with our own record", "", "of", "wrong", texts=1)
    for name, of, found in (
        ("labels given twice", len(record.labels), len(record.labels) - len(set(record.labels))),
        ("people called twice", len(record.called), len(record.called) - len(set(record.called))),
        ("people called and not served to the end", len(record.called), len(record.called) - record.completed),
        ("positions that are not the count ahead", asked, wrong),
    ):
        result.add_row(name, f"{of:,}", f"{found:,}")
    result.caption = f"{len(record.waiting()):,} still waited at the end."
    return result
