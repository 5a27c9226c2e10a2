"""What an operation costs in a short line and in a long one: it should hardly matter."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Awaitable
from statistics import median
from typing import TypeVar

from rich.table import Table

from bench.common import Embedded, arrival, digest, embedded, table
from fairline.domain.queue import QueueId
from fairline.store import Joined

T = TypeVar("T")

BATCH = 100
TARGET = 2.0
SIZES = (1_000, 10_000, 100_000, 1_000_000)
ROUNDS = 40
#: Seconds between sweeps: long enough that the queue's clock is never taken to have stood still.
EVERY = 86_400.0


async def measure(quick: bool) -> list[Table]:
    """Fill a line of each length, then do a batch of everything on each of them in turns."""
    sizes = SIZES[:3] if quick else SIZES
    rounds = ROUNDS // 4 if quick else ROUNDS
    async with embedded() as found:
        lines = [Line(found, await found.queue(f"line-{size}"), size) for size in sizes]
        async with found.unwritten():
            seconds = [await found.fill(line.queue, line.size) for line in lines]
        # The disk takes the same for a batch in any line, and would only hide what differs.
        found.server.config_set("appendfsync", "everysec")
        for line in lines:
            await line.round()
            line.micros.clear()
        for _ in range(rounds):
            for line in lines:
                await line.round()

        result = table(
            f"Cost of one item in a batch of {BATCH}, by how many wait: µs (ratio to {sizes[0]:,})",
            "operation",
            *(f"{size:,}" for size in sizes),
            "target",
        )
        for name, shortest in lines[0].micros.items():
            ratios = (median(b / a for a, b in zip(shortest, line.micros[name], strict=True)) for line in lines)
            cells = zip((median(line.micros[name]) for line in lines), ratios, strict=True)
            result.add_row(name, *(f"{micros:.1f} ({ratio:.2f}×)" for micros, ratio in cells), f"≤ {TARGET:g}×")
        rate = sizes[-1] / seconds[-1]
        result.caption = "\n".join(
            (
                f"Median of {rounds} rounds that take the lines in turns; a ratio is the median of the rounds' ratios.",
                f"The longest line took {seconds[-1]:.0f} s to fill: {rate:,.0f} joins/s by 1,000, not yet on disk.",
                found.described(),
            )
        )
    return [result]


class Line:
    """One queue, kept at about its length: whenever people are let in, called or swept, as many have joined before."""

    def __init__(self, found: Embedded, queue: QueueId, size: int) -> None:
        self.size = size
        self.queue = queue
        self.micros: defaultdict[str, list[float]] = defaultdict(list)
        self._store = found.store
        self._random = random.Random(size)
        self._first, self._last = 1, size
        self._gone: set[int] = set()

    async def round(self) -> None:
        """A batch of everything. Those asked about are spread over the whole line."""
        store, queue = self._store, self.queue
        await self._join()
        await self._timed("heartbeat", store.heartbeat(queue, self._anyone()))
        await self._timed("status", store.status(queue, self._anyone()))
        admitted = (await self._timed("admit", store.admit(queue, BATCH))).items
        self._pass_by(admitted)
        visitors = [(number, digest(f"visitor {number}")) for number in admitted]
        await self._timed("visit", store.visit(queue, "visit", visitors))
        await self._join()
        self._pass_by([ticket.number for ticket in await self._timed("call_next", store.call_next(queue, BATCH))])
        await self._join()
        leaving = self._anyone()
        await store.unload(queue, leaving)
        swept = await self._timed("sweep", store.sweep(queue, BATCH, every=EVERY))
        if sorted(lapsed.number for lapsed in swept.lapsed) != sorted(leaving):
            raise RuntimeError(f"swept {len(swept.lapsed)} tickets, not the {BATCH} that had left")
        self._gone.update(leaving)

    async def _join(self) -> None:
        people = range(self._last, self._last + BATCH)
        joined = await self._timed("join", self._store.join(self.queue, [arrival(person) for person in people]))
        self._last = max(item.ticket.number for item in joined.items if isinstance(item, Joined))

    async def _timed(self, name: str, work: Awaitable[T]) -> T:
        begun = time.perf_counter()
        done = await work
        self.micros[name].append((time.perf_counter() - begun) / BATCH * 1e6)
        return done

    def _pass_by(self, numbers: list[int]) -> None:
        """The head of the line has moved on."""
        if len(numbers) != BATCH:
            raise RuntimeError(f"let in {len(numbers)}, not {BATCH}")
        self._first = numbers[-1] + 1

    def _anyone(self) -> list[int]:
        chosen: set[int] = set()
        while len(chosen) < BATCH:
            chosen.add(self._random.randint(self._first, self._last))
            chosen -= self._gone
        return list(chosen)
