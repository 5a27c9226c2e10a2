"""What an operation reads on PostgreSQL: the tickets it is about, however long the line has grown since its plan was
made. A connection plans a statement when it first runs it, which on a new database is while the tables are empty, and
new statistics come a minute later: in a rush, too late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import LiteralString

import pytest

from fairline.domain.order import SPAN
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Person
from fairline.store import Arrival, Drawn, EstimateSample, Store
from fairline.store.postgres.client import connect
from fairline.store.postgres.disk import Connection
from fairline.store.postgres.embedded import EmbeddedPostgres
from fairline.store.postgres.store import PostgresStore, open_postgres

QUEUE, EMPTY = queue_id("crowded"), queue_id("empty")
CROWD = 3000
#: Ten tickets at a time, each read a few times over, the blocks of the line and the tallies: a small part of the crowd.
FEW = CROWD // 4

Operation = Callable[[Store, QueueId, list[int]], Awaitable[object]]

OPERATIONS: dict[str, Operation] = {
    "join": lambda store, queue, _: store.join(queue, [Arrival(person=Person()) for _ in range(10)]),
    "heartbeat": lambda store, queue, numbers: store.heartbeat(queue, numbers),
    "record_heartbeats": lambda store, queue, numbers: store.record_heartbeats(queue, numbers),
    "status": lambda store, queue, numbers: store.status(queue, numbers),
    "look_up": lambda store, queue, numbers: store.look_up(queue, numbers),
    "unload": lambda store, queue, numbers: store.unload(queue, numbers),
    "record_estimates": lambda store, queue, numbers: store.record_estimates(
        queue, [EstimateSample(n, 60, 30, 90) for n in numbers]
    ),
    "note_nearly": lambda store, queue, _: store.note_nearly(queue, 3),
    "call_next": lambda store, queue, _: store.call_next(queue, 1, desk="Desk 1"),
    "admit": lambda store, queue, _: store.admit(queue, 10),
    "act": lambda store, queue, numbers: store.act(queue, Action.LEAVE, numbers),
    "step_back": lambda store, queue, numbers: _alone(store.step_back, queue, numbers, 2),
    "prioritise": lambda store, queue, numbers: _alone(store.prioritise, queue, numbers, 1),
    "sweep": lambda store, queue, _: store.sweep(queue, 100, every=1),
    "draw_members": lambda store, queue, _: store.draw_members(queue, 0, 10),
    "place_drawn": lambda store, queue, numbers: store.place_drawn(
        queue, "op", [Drawn(number, (CROWD + number) * SPAN, number) for number in numbers]
    ),
}


async def _alone(act: Callable[..., Awaitable[object]], queue: QueueId, numbers: list[int], by: int) -> None:
    if queue == QUEUE:
        await act(queue, numbers[0], by)


@pytest.mark.parametrize("analysed", [False, True])
async def test_what_was_planned_for_a_short_line_does_not_read_the_whole_of_a_long_one(
    tmp_path: Path, analysed: bool
) -> None:
    with EmbeddedPostgres(tmp_path / "postgres", options={"autovacuum": "off"}) as server:
        async with await connect(f"{server.url}&application_name=watcher") as watcher:
            await _joined(server.url, EMPTY, 2)
            await _joined(server.url, QUEUE, 2)
            if analysed:
                await watcher.execute("ANALYZE")
            stores = {name: await _opened(server.url, name) for name in OPERATIONS}
            for name, store in stores.items():
                await OPERATIONS[name](store, EMPTY, [1])
            await _joined(server.url, QUEUE, CROWD)
            reads = dict[str, int]()
            for i, (name, store) in enumerate(stores.items()):
                before = await _read(watcher)
                await OPERATIONS[name](store, QUEUE, [*range(1000 + 100 * i, 1010 + 100 * i)])
                await store.close()
                await _gone(watcher, name)
                reads[name] = await _read(watcher) - before
    assert {name: many for name, many in reads.items() if many > FEW} == {}
    assert min(reads.values()) > 0


async def _opened(url: str, name: str) -> PostgresStore:
    return await open_postgres(f"{url}&application_name={name}", connections=1)


async def _joined(url: str, queue: QueueId, many: int) -> None:
    store = await _opened(url, "crowd")
    if queue not in await store.queues():
        await store.create(queue, checked({"join_limit_per_ip": 0, "admission_rate": 1000, "burst": 1000}))
    for first in range(0, many, 100):
        await store.join(queue, [Arrival(person=Person())] * min(100, many - first))
    await store.close()


async def _gone(watcher: Connection, name: str) -> None:
    """A connection tells what it has read when it ends."""
    deadline = time.monotonic() + 30
    while await _value(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", name):
        assert time.monotonic() < deadline, "the connections of a closed store stay open"
        await asyncio.sleep(0.01)


async def _read(watcher: Connection) -> int:
    """Rows and entries of indexes that were read so far, by those that have gone."""
    return await _value(
        watcher,
        """SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
             + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)""",
    )


async def _value(watcher: Connection, query: LiteralString, *args: str) -> int:
    row = await (await watcher.execute(query, args)).fetchone()
    assert row
    return int(row[0])
