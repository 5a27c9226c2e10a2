"""What grouping gains: calls that arrive together go to the store together."""

from __future__ import annotations

import random
import time
from functools import partial
from itertools import count
from statistics import median

from rich.table import Table

from bench.common import Call, Embedded, arrival, embedded, in_turns, request, table
from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline

CALLERS = (1, 10, 100, 1000)
BATCHES = (1, 10, 100, 500)
WAITING = 20_000


async def measure(quick: bool) -> list[Table]:
    """Single calls to the store, against calls that the service groups; and batches of a given size."""
    slices, seconds = (2, 0.2) if quick else (4, 0.5)
    async with embedded() as found:
        queue = await found.queue("grouping")
        await found.fill(queue, WAITING)
        async with found.service() as service:
            callers = await _callers(service, queue, slices, seconds)
        batches = await _batches(found, queue, 10 if quick else 60)
        for result in (callers, batches):
            result.caption = f"{result.caption}\n{found.described()}"
    return [callers, batches]


async def _callers(service: Fairline, queue: QueueId, slices: int, seconds: float) -> Table:
    people = count(WAITING)
    store, someone = service.store, partial(random.randint, 1, WAITING)

    single: dict[str, Call] = {
        "join": lambda: store.join(queue, [arrival(next(people))]),
        "heartbeat": lambda: store.heartbeat(queue, [someone()]),
    }
    grouped: dict[str, Call] = {
        "join": lambda: service.join(queue, *request(next(people))),
        "heartbeat": lambda: service.heartbeat(queue, someone()),
    }
    result = table(
        f"Single calls, and calls grouped by the service, {WAITING:,} waiting",
        *("what", "how", "callers", "calls a second", "ratio", "p50, ms", "p99, ms"),
        texts=2,
    )
    for what in single:
        ways = [(1, single[what]), (100, single[what]), *((many, grouped[what]) for many in CALLERS)]
        names = ["single, one after the other", "single, at once", *("grouped" for _ in CALLERS)]
        figures = await in_turns(ways, slices, seconds)
        for name, (many, _), one in zip(names, ways, figures, strict=True):
            result.add_row(
                what,
                name,
                str(many),
                f"{one.rate:,.0f}",
                f"{one.rate / figures[0].rate:.1f}×",
                f"{one.percentile(50):.2f}",
                f"{one.percentile(99):.2f}",
                end_section=one is figures[-1],
            )
    result.caption = "Callers, service and client share one core; ratio is to single calls one after the other."
    return result


async def _batches(found: Embedded, queue: QueueId, rounds: int) -> Table:
    """The store's own calls with this many items each, taken in turns."""
    people = count(10_000_000)
    store = found.store
    micros: dict[str, dict[int, list[float]]] = {
        what: {batch: [] for batch in BATCHES} for what in ("join", "heartbeat")
    }
    for _ in range(rounds):
        for batch in BATCHES:
            work = {
                "join": store.join(queue, [arrival(next(people)) for _ in range(batch)]),
                "heartbeat": store.heartbeat(queue, random.sample(range(1, WAITING), batch)),
            }
            for what, call in work.items():
                begun = time.perf_counter()
                await call
                micros[what][batch].append((time.perf_counter() - begun) * 1e6)

    result = table(
        "One call to the store, by how many items it carries",
        *("what", "items", "µs a call", "µs an item", "items a second", "ratio to 1"),
    )
    for what, batches in micros.items():
        for batch, found_micros in batches.items():
            each = median(found_micros) / batch
            ratio = median(batches[1]) / each
            cells = (f"{median(found_micros):,.0f}", f"{each:,.1f}", f"{1e6 / each:,.0f}", f"{ratio:.1f}×")
            result.add_row(what, str(batch), *cells, end_section=batch == BATCHES[-1])
    result.caption = f"Median of {rounds} calls of each kind, taken in turns."
    return result
