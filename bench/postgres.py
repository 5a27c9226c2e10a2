"""The PostgreSQL store: the load of a busy walk-in line a hundred times over, compared with the way one would write it
(a counter row, COUNT(*) and one call after the other, in transactions), and what a position costs as the line grows.

Both run on the same server, in turns, from processes of their own: 8 staff call all the time while people join. The
plain way is a published design's: in one transaction the idempotency check, the next number from a counter row, the
count of who waits, the entry; calling is one SELECT … FOR UPDATE SKIP LOCKED and an update."""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from rich.table import Table

from bench.common import SETTINGS, Figures, address, agent, arrival, request, table
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.tokens import Keyring
from fairline.service.fairline import Fairline
from fairline.store import MAX_BATCH, Store, open_store
from fairline.store.postgres.client import connect
from fairline.store.postgres.embedded import EmbeddedPostgres

STAFF = 8
#: People who join at once in one process, and the number of processes there are: as `fairline serve` has on two cores.
JOINERS, WORKERS = 40, 2
#: How many a second come in the first run: 33,000 a minute. The other runs are as fast as they go.
WANTED = 550
#: What is left out at the beginning: a connection plans its statements when it first runs them.
WARM_UP_SECONDS = 2.0
PRESS_SECONDS = 0.1
LINES = (100, 10_000, 100_000)
QUEUE = queue_id("desk")
#: The first person of each process in each run.
CROWDS = itertools.count(0, 10_000_000)


async def measure(quick: bool) -> list[Table]:
    """Joins and calls at once, both ways; positions in lines of three lengths."""
    seconds = 3.0 if quick else 15.0
    with (
        tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder,
        EmbeddedPostgres(Path(folder) / "postgres") as server,
    ):
        async with _opened(server.url) as store:
            found = await _counter(server, store, seconds)
            return [found, await _positions(store, LINES[:2] if quick else LINES)]


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Store]:
    store = await open_store(url)
    try:
        yield store
    finally:
        await store.close()


# Joins while staff call


class Load(msgspec.Struct):
    """What one process is to do, and what came of it: seconds each call took."""

    way: str
    url: str
    seconds: float
    pace: float
    """Joins a second; 0 is as fast as they are answered."""
    staff: int
    first: int
    """The first person who comes: everyone comes once, in whichever run."""


class Done(msgspec.Struct):
    """What one process did."""

    joins: list[float]
    calls: list[float]
    seconds: float


async def _counter(server: EmbeddedPostgres, store: Store, seconds: float) -> Table:
    await store.create(QUEUE, checked(SETTINGS | {"admission": "manual", "join_limit_per_ip": 20}))
    async with await connect(server.url) as connection:
        await connection.execute(PLAIN_SCHEMA)
    result = table(
        f"People join while {STAFF} staff call, on PostgreSQL",
        "",
        "joins a minute",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "calls a second",
        "p50 ms",
        "p95 ms",
        texts=1,
    )
    rates = {}
    for title, way, pace in (
        (f"Fairline, {WANTED * 60:,} a minute asked for", "fairline", WANTED),
        ("Fairline, as fast as it goes", "fairline", 0),
        ("the plain way, as fast as it goes", "plain", 0),
    ):
        joins, calls = await _run(way, server.url, seconds, pace)
        rates[title] = joins.rate
        figures = [f"{joins.rate * 60:,.0f}", *(f"{joins.percentile(n):.1f}" for n in (50, 95, 99))]
        figures += [f"{calls.rate:,.0f}", *(f"{calls.percentile(n):.1f}" for n in (50, 95))]
        result.add_row(title, *figures)
    _, fast, plain = rates.values()
    result.caption = (
        f"Fairline : plain = {fast / plain:.1f}. {WORKERS} processes with {JOINERS} people each joining, {STAFF} "
        f"staff who press again {PRESS_SECONDS * 1000:.0f} ms after the last answer.\n{await _described(server.url)}"
    )
    return result


async def _run(way: str, url: str, seconds: float, pace: float) -> tuple[Figures, Figures]:
    loads = [Load(way, url, seconds, pace / WORKERS, STAFF // WORKERS, next(CROWDS)) for _ in range(WORKERS)]
    done = await asyncio.gather(*map(_in_process, loads))
    took = max(each.seconds for each in done)
    return (
        Figures([second for each in done for second in each.joins], took),
        Figures([second for each in done for second in each.calls], took),
    )


async def _in_process(load: Load) -> Done:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.postgres", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await child.communicate(msgspec.json.encode(load))
    finally:
        if child.returncode is None:
            child.terminate()
            await child.wait()
    if child.returncode:
        raise RuntimeError("a process that was to make the load failed")
    return msgspec.json.decode(said, type=Done)


async def _work(load: Load) -> Done:
    ways = {"fairline": _fairline, "plain": _plain}
    async with ways[load.way](load) as (join, call):
        joins, calls = list[float](), list[float]()
        begun = time.perf_counter()
        counted = begun + WARM_UP_SECONDS
        until = counted + load.seconds
        people = itertools.count(load.first)

        async def timed(seconds: list[float], act: Any, *args: Any) -> None:
            start = time.perf_counter()
            await act(*args)
            if start > counted:
                seconds.append(time.perf_counter() - start)

        async def joiner(number: int) -> None:
            # At a pace, everyone has a moment of their own, whether or not the one before was answered late.
            due = begun + (number / load.pace if load.pace else 0)
            while due < until and time.perf_counter() < until:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await timed(joins, join, next(people))
                due = due + JOINERS / load.pace if load.pace else begun

        async def desk() -> None:
            while time.perf_counter() < until:
                await timed(calls, call)
                await asyncio.sleep(PRESS_SECONDS)

        await asyncio.gather(*map(joiner, range(JOINERS)), *(desk() for _ in range(load.staff)))
        return Done(joins, calls, time.perf_counter() - counted)


@asynccontextmanager
async def _fairline(load: Load) -> AsyncIterator[tuple[Any, Any]]:
    async with _opened(load.url) as store:
        service = Fairline(store, Keyring(bytes(32)))
        try:
            yield lambda person: service.join(QUEUE, *request(person)), lambda: service.call_next(QUEUE, 1, "Desk")
        finally:
            await service.close()


PLAIN_SCHEMA = """
CREATE SCHEMA plain;
CREATE TABLE plain.sequences (venue text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO plain.sequences VALUES ('desk', 0);
CREATE TABLE plain.entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, venue text NOT NULL, token text NOT NULL,
  position bigint NOT NULL, status text NOT NULL DEFAULT 'WAITING', idempotency_key text UNIQUE, address text,
  user_agent text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON plain.entries (venue, status, created_at);
"""


@asynccontextmanager
async def _plain(load: Load) -> AsyncIterator[tuple[Any, Any]]:
    # As many connections as Fairline has.
    async with AsyncConnectionPool(load.url, min_size=8, max_size=8, timeout=60) as pool:

        async def join(person: int) -> None:
            key = f"key-{person}"
            async with pool.connection() as connection, connection.transaction():
                await connection.execute("SELECT * FROM plain.entries WHERE idempotency_key = %s", [key])
                value = await _value(
                    connection, "UPDATE plain.sequences SET value = value + 1 WHERE venue = 'desk' RETURNING value"
                )
                waiting = await _value(
                    connection, "SELECT count(*) FROM plain.entries WHERE venue = 'desk' AND status = 'WAITING'"
                )
                await connection.execute(
                    """INSERT INTO plain.entries (venue, token, position, idempotency_key, address, user_agent)
                       VALUES ('desk', %s, %s, %s, %s, %s)""",
                    [f"RCOUNTER-{value:06d}", waiting + 1, key, address(person % 2**32), agent(person)],
                )

        async def call() -> None:
            async with pool.connection() as connection, connection.transaction():
                found = await connection.execute(
                    """SELECT id FROM plain.entries WHERE venue = 'desk' AND status = 'WAITING'
                       ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED"""
                )
                if row := await found.fetchone():
                    await connection.execute("UPDATE plain.entries SET status = 'CALLED' WHERE id = %s", row)

        yield join, call


async def _value(connection: AsyncConnection[Any], query: str) -> int:
    row = await (await connection.execute(query)).fetchone()
    assert row
    return int(row[0])


# Positions


async def _positions(store: Store, lengths: Sequence[int]) -> Table:
    result = table(
        "What it costs to know where people stand, as the line grows",
        "waiting",
        "one position, ms",
        "100 positions, ms",
        "250 positions, ms",
        "250 heartbeats, ms",
        "a call, ms",
        texts=0,
    )
    for length in lengths:
        queue = queue_id(f"line-{length}")
        await store.create(queue, checked(SETTINGS))
        for first in range(0, length, MAX_BATCH):
            await store.join(queue, [arrival(person) for person in range(first, min(first + MAX_BATCH, length))])
        cells = [await _timed(store.status, queue, length, many) for many in (1, 100, 250)]
        cells += [await _timed(store.heartbeat, queue, length, 250), await _timed(_call(store), queue, length, 1)]
        result.add_row(f"{length:,}", *(f"{cell:.2f}" for cell in cells))
    result.caption = "Medians, one call after the other; the tickets asked for are spread over the whole line."
    return result


def _call(store: Store) -> Any:
    return lambda queue, _: store.call_next(queue, 1)


async def _timed(act: Any, queue: QueueId, length: int, many: int, times: int = 40) -> float:
    took = []
    for _ in range(times):
        numbers = random.sample(range(1, length + 1), min(many, length))
        start = time.perf_counter()
        await act(queue, numbers)
        took.append(time.perf_counter() - start)
    return sorted(took)[times // 2] * 1000


async def _described(url: str) -> str:
    async with await connect(url) as connection:
        row = await (await connection.execute("SHOW server_version")).fetchone()
        assert row
        return f"PostgreSQL {row[0]} over a Unix socket, fsync on, synchronous_commit on"


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_work(msgspec.json.decode(sys.stdin.buffer.read(), type=Load))))
    )
