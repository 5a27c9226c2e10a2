"""A database in trouble: a queue on it, callers who try again, and what must be true of it at any moment."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from psycopg import AsyncConnection

from fairline.domain.queue import QueueId, queue_id
from fairline.errors import StoreUnavailable
from fairline.store import Arrival, Joined, Store
from fairline.store.postgres.client import connect

QUEUE = queue_id("trouble")

#: How long anything here may take on a slow machine.
SECONDS = 30
CALM: dict[str, Any] = {"join_limit_per_ip": 0, "admission": "manual", "max_active": 100_000, "claim_seconds": 3600}


async def wait_for_locks(watch: AsyncConnection[Any], many: int) -> None:
    """Until this many wait for a lock."""
    deadline, row = time.monotonic() + SECONDS, None
    while row != (many,):
        assert time.monotonic() < deadline, f"{row} wait for a lock, not {many}"
        found = await watch.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        row = await found.fetchone()


async def until(ask: Any) -> Any:
    """Ask again until the store is back, as clients do."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return await ask()
        except StoreUnavailable as away:
            if time.monotonic() > deadline:
                pytest.fail(f"the store did not come back by itself: {away}")
            await asyncio.sleep(0.05)


#: What must be true of a queue at any moment; each counts what is not.
WHOLE = {
    "the line has who waits": """SELECT count(*) FROM (SELECT queue, number, place FROM fairline.tickets
        WHERE status = 'waiting') t FULL JOIN fairline.line l USING (queue, number, place)
        WHERE t IS NULL OR l IS NULL""",
    "the blocks have the line": """SELECT count(*) FROM (SELECT queue, place >> 30 AS block, count(*)::int AS waiting
        FROM fairline.line GROUP BY 1, 2) l FULL JOIN fairline.blocks b USING (queue, block, waiting)
        WHERE l IS NULL OR b IS NULL""",
    "the tallies have the tickets": """SELECT count(*) FROM fairline.tallies c WHERE
        (waiting, admitted, active) <> (SELECT count(*) FILTER (WHERE status = 'waiting'),
          count(*) FILTER (WHERE status = 'admitted'), count(*) FILTER (WHERE status = 'active')
          FROM fairline.tickets t WHERE t.queue = c.queue)""",
    "every live ticket has its holder": """SELECT count(*) FROM (SELECT queue, number, holder FROM fairline.tickets
        WHERE status IN ('waiting', 'admitted', 'active') AND holder IS NOT NULL) t
        FULL JOIN fairline.holders h USING (queue, number, holder) WHERE t IS NULL OR h IS NULL""",
    "events have no gap": """SELECT count(*) FROM fairline.tallies c JOIN fairline.queues q ON q.key = c.queue
        WHERE event - created <> (SELECT count(*) FROM fairline.events e WHERE e.queue = c.queue)""",
    "every join is told and counted": """SELECT count(*) FROM fairline.tallies c
        WHERE number <> (SELECT count(*) FROM fairline.events e WHERE e.queue = c.queue AND type = 'joined')
        OR number <> coalesce((SELECT value FROM fairline.stats s
          WHERE s.queue = c.queue AND span = 'total' AND name = 'joined'), 0)""",
}


async def nothing_half_done(url: str) -> None:
    async with await connect(url) as connection:
        for promise, query in WHOLE.items():
            row = await (await connection.execute(query)).fetchone()
            assert row == (0,), promise


class Rush:
    """Workers that join and call, each retrying what was not answered, until stopped."""

    def __init__(self, store: Store, queue: QueueId = QUEUE) -> None:
        self._store, self._queue = store, queue
        self.joined: dict[bytes, int] = {}
        self.called: dict[bytes, list[int]] = {}
        self.refused = 0
        self._over = False

    async def run(self, joiners: int = 6, desks: int = 2) -> None:
        await asyncio.gather(*map(self._join, range(joiners)), *map(self._call, range(desks)))

    def stop(self) -> None:
        self._over = True

    async def until(self, *, joined: int = 0, refused: int = 0) -> None:
        deadline = time.monotonic() + SECONDS
        while len(self.joined) < joined or self.refused < refused:
            assert time.monotonic() < deadline, f"{len(self.joined)} have joined, {self.refused} were refused"
            await asyncio.sleep(0.01)

    async def _join(self, joiner: int) -> None:
        for batch in range(1_000_000):
            if self._over:
                return
            keys = [b"%d-%d-%d" % (joiner, batch, i) for i in range(5)]
            reply = await self._again(
                lambda keys=keys: self._store.join(
                    self._queue, [Arrival(client=key, key=key, fingerprint=key) for key in keys]
                )
            )
            for key, item in zip(keys, reply.items, strict=True):
                assert isinstance(item, Joined), item
                self.joined[key] = item.ticket.number

    async def _call(self, desk: int) -> None:
        for press in range(1_000_000):
            if self._over:
                return
            key = b"press-%d-%d" % (desk, press)
            called = await self._again(lambda key=key: self._store.call_next(self._queue, 1, key=key))
            self.called[key] = [ticket.number for ticket in called]

    async def _again(self, ask: Any) -> Any:
        while True:
            try:
                return await ask()
            except StoreUnavailable:
                self.refused += 1
                await asyncio.sleep(0.02)


async def until_refused(ask: Any) -> str:
    """Ask again until the store is away; what it says of that."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            await ask()  # some sessions have yet to read the settings again
        except StoreUnavailable as away:
            return str(away)
    pytest.fail("the store is not away")
