"""The script one would write in an afternoon, compared with Fairline on the same server: a list, a hash for each
position, a sorted set of heartbeats. Keys and fields are those of a published design for DragonflyDB; its checks are
separate calls, its writes one pipeline."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from itertools import count
from typing import Any, Self

from redis.asyncio import BlockingConnectionPool, Redis
from rich.table import Table

from bench.common import Call, Embedded, address, agent, digest, embedded, in_turns, request, table

CALLERS = (1, 100)
WAITING = 20_000
TTL = 1800
MAX_QUEUE_SIZE = 10_000_000


async def measure(quick: bool) -> list[Table]:
    """Both in turns, on the same server: joins, heartbeats, and what a position takes."""
    many = WAITING // 4 if quick else WAITING
    slices, seconds = (2, 0.2) if quick else (4, 0.5)
    result = table("The script one would write, and Fairline", "", "naive", "Fairline", "Fairline : naive")
    async with embedded() as found, Naive(found) as naive, found.service() as service:
        await found.fill(await found.queue("warm"), 2_000)
        queue = await found.queue("naive")
        async with found.unwritten():
            before = found.used()[0]
            await found.fill(queue, many)
            between = found.used()[0]
            waiting = await _fill(naive, many)
            after = found.used()[0]

        people = count(many)
        pairs: dict[str, tuple[Call, Call]] = {
            "join": (lambda: naive.join(next(people)), lambda: service.join(queue, *request(next(people)))),
            "heartbeat": (
                lambda: naive.heartbeat(random.choice(waiting)),
                lambda: service.heartbeat(queue, random.randint(1, many)),
            ),
        }
        for what, (theirs, ours) in pairs.items():
            for callers in CALLERS:
                one, other = await in_turns([(callers, theirs), (callers, ours)], slices, seconds)
                who = "1 caller" if callers == 1 else f"{callers} callers at once"
                cells = (f"{one.rate:,.0f}", f"{other.rate:,.0f}", f"{other.rate / one.rate:.1f}")
                result.add_row(f"{what}s a second, {who}", *cells)
        bytes_each = [(after - between) / many, (between - before) / many]
        ratio = bytes_each[1] / bytes_each[0]
        result.add_row(
            f"bytes for each of {many:,} positions", *(f"{each:,.0f}" for each in bytes_each), f"{ratio:.2f}"
        )
        result.caption = (
            "Fairline's column has what the script leaves out: one atomic step, an event for each change, statistics.\n"
            f"{found.described()}"
        )
    return [result]


class Naive:
    """A waiting line with redis-py and nothing else. Two that join at once may both pass the checks."""

    def __init__(self, found: Embedded) -> None:
        # As many connections as Fairline has.
        pool = BlockingConnectionPool.from_url(f"unix://{found.socket}", max_connections=16)
        self._client: Any = Redis.from_pool(pool)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def join(self, person: int) -> str:
        """Take a position, or come back to the one of this address."""
        client, where = self._client, digest(address(person)).hex()
        known = await client.get(f"ipmap:naive:{where}")
        if known:
            return str(known)
        if await client.llen("queue:naive:waiting:0") >= MAX_QUEUE_SIZE:
            raise RuntimeError("the queue is full")
        position, now = str(uuid.uuid4()), time.time()
        async with client.pipeline() as pipe:
            pipe.rpush("queue:naive:waiting:0", position)
            pipe.zadd("queue:naive:positions", {position: int(now * 1_000_000)})
            pipe.hset(f"position:{position}", mapping=_position(person, where, int(now)))
            pipe.expire(f"position:{position}", TTL)
            pipe.set(f"ipmap:naive:{where}", position, ex=TTL)
            pipe.zadd("heartbeat:active", {position: int(now)})
            pipe.hincrby(f"stats:naive:hourly:{int(now) // 3600}", "total_enqueued", 1)
            pipe.zrank("queue:naive:positions", position)
            await pipe.execute()
        return position

    async def heartbeat(self, position: str) -> int:
        """Give a sign of life, and ask for the rank."""
        client, now = self._client, int(time.time())
        if not await client.exists(f"position:{position}"):
            raise RuntimeError("the position has expired")
        async with client.pipeline() as pipe:
            pipe.hset(f"position:{position}", "last_heartbeat", now)
            pipe.expire(f"position:{position}", TTL)
            pipe.zadd("heartbeat:active", {position: now})
            pipe.zrank("queue:naive:positions", position)
            return int((await pipe.execute())[-1])


async def _fill(naive: Naive, many: int) -> list[str]:
    people = iter(range(many))

    async def caller() -> list[str]:
        return [await naive.join(person) for person in people]

    return [position for taken in await asyncio.gather(*(caller() for _ in range(16))) for position in taken]


def _position(person: int, where: str, now: int) -> dict[str, Any]:
    return {
        "queue_id": "naive",
        "session_id": f"sess-{person:012x}",
        "status": "waiting",
        "priority": 0,
        "enqueued_at": now,
        "last_heartbeat": now,
        "ip_address": address(person),
        "ip_hash": where,
        "user_agent": agent(person),
        "metadata": "{}",
    }
