"""Bytes for each position that waits, key by key."""

from __future__ import annotations

from rich.table import Table

from bench.common import Embedded, embedded, table
from fairline.domain.queue import QueueId
from fairline.store.valkey.keys import PARTS, key

TARGET = 350
LIMITED = 5_000

_HOLDS = {
    "line": "who waits, by place",
    "due": "the one deadline",
    "tickets": "the packed record",
    "holders": "who holds which ticket",
}


async def measure(quick: bool) -> list[Table]:
    """Fill one queue, and ask the server what each of its keys takes."""
    many = 10_000 if quick else 100_000
    async with embedded() as found:
        # The scripts, buffers and connections are there before anything is counted.
        await found.fill(await found.queue("warm"), 3_000)
        queue = await found.queue("memory")
        used_before, resident_before = found.used()
        await found.fill(queue, many)
        used, resident = found.used()
        sizes = {part: _size(found, queue, part) / many for part in PARTS}
        events = sizes.pop("events")

        result = table(f"Memory for each waiting position, {many:,} waiting", "", "bytes", "target")
        small = sum(size for part, size in sizes.items() if part not in _HOLDS)
        for part, holds in _HOLDS.items():
            result.add_row(f"{part}: {holds}", f"{sizes[part]:.0f}")
        result.add_row("all other keys of the queue", f"{small:.0f}", end_section=True)
        result.add_row("sum of MEMORY USAGE", f"{sum(sizes.values()):.0f}", f"≤ {TARGET}", style="bold")
        result.add_row(
            f"events: the stream, kept to about 100,000 ({events * many / 1e6:.1f} MB in all)", f"{events:.0f}"
        )
        result.add_row("used_memory of the server, events included", f"{(used - used_before) / many:.0f}")
        result.add_row("resident memory of the server, events included", f"{(resident - resident_before) / many:.0f}")
        result.add_row("limit on joins per address, for one minute after the join", f"{await _limit(found):.0f}")
        result.caption = found.described()
    return [result]


def _size(found: Embedded, queue: QueueId, part: str) -> int:
    return found.server.memory_usage(key(queue, part), samples=0) or 0


async def _limit(found: Embedded) -> float:
    """What counting the joins of an address adds, where everybody has another one: two queues, with and without."""
    each = []
    for name, limit in (("limited", 20), ("unlimited", 0)):
        queue = await found.queue(name, join_limit_per_ip=limit)
        before, _ = found.used()
        await found.fill(queue, LIMITED)
        each.append((found.used()[0] - before) / LIMITED)
    return each[0] - each[1]
