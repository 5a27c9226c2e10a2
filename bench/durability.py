"""What `appendfsync always` costs against `everysec`, for writes of a join's size, grouped as Fairline groups them.

    python bench/durability.py [--folder DIR]    DIR on the disk to be measured; takes 20 s

The two servers run side by side and are measured in turns, slice by slice, so that what else the machine does falls on
both alike. Latency is that of one call, however many items it carries.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from itertools import product
from pathlib import Path
from statistics import quantiles
from typing import Any, Literal
from urllib.parse import unquote

import redis
from rich.console import Console
from rich.table import Table

from fairline.store.valkey.embedded import EmbeddedValkey

POLICIES: tuple[Literal["always", "everysec"], ...] = ("always", "everysec")
BATCHES = (1, 10, 100)
CALLERS = (1, 8)
SLICES = 4
SLICE_SECONDS = 0.4

# Four writes an item, as a join has them: place in the line, deadline, record, holder.
JOIN = """
for i = 1, #ARGV do
  local n = redis.call('INCR', KEYS[5])
  redis.call('ZADD', KEYS[1], n, n)
  redis.call('ZADD', KEYS[2], n, n)
  redis.call('HSET', KEYS[3], n, string.rep('r', 120))
  redis.call('HSET', KEYS[4], n, string.rep('h', 20))
end
"""
KEYS = [f"{{q}}:{name}" for name in ("line", "due", "tickets", "holders", "next")]


class Figures:
    """Calls of one policy, batch and number of callers: what each took, and for how long they ran."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.seconds = 0.0

    def rate(self, batch: int) -> float:
        """Items a second."""
        return len(self.latencies) * batch / self.seconds

    def percentile(self, nth: int) -> float:
        """The latency that `nth` percent of the calls keep within, in milliseconds."""
        return quantiles(self.latencies, n=100)[nth - 1] * 1000


def run_slice(url: str, batch: int, callers: int, into: Figures) -> None:
    """Let the callers make one call after the other until the slice is over."""
    arguments: list[Any] = [b"x"] * batch
    ready = threading.Barrier(callers + 1)
    until = [0.0]

    def caller() -> None:
        with redis.Redis(unix_socket_path=unquote(url.removeprefix("valkey+unix://"))) as client:
            script = client.script_load(JOIN)
            ready.wait()
            while (begun := time.perf_counter()) < until[0]:
                client.evalsha(script, len(KEYS), *KEYS, *arguments)
                into.latencies.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=caller) for _ in range(callers)]
    for thread in threads:
        thread.start()
    begun = time.perf_counter()
    until[0] = begun + SLICE_SECONDS
    ready.wait()
    for thread in threads:
        thread.join()
    into.seconds += time.perf_counter() - begun


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where the data goes; by default the system's temporary folder")
    where = parser.parse_args().folder
    table = Table(title="appendfsync always → everysec")
    for heading in ("items a call", "callers", "items a second", "ratio", "p50 of a call, ms", "ratio", "p99", "ratio"):
        table.add_column(heading, justify="right")

    with tempfile.TemporaryDirectory(dir=where) as folder:
        servers = {policy: EmbeddedValkey(Path(folder, policy), fsync=policy) for policy in POLICIES}
        try:
            urls = {policy: server.start() for policy, server in servers.items()}
            for callers, batch in product(CALLERS, BATCHES):
                found = {policy: Figures() for policy in POLICIES}
                for _ in range(SLICES):
                    for policy in POLICIES:
                        run_slice(urls[policy], batch, callers, found[policy])
                always, everysec = (found[policy] for policy in POLICIES)
                row = [str(batch), str(callers)]
                for text, one, other in (
                    ("{:,.0f} → {:,.0f}", always.rate(batch), everysec.rate(batch)),
                    ("{:.2f} → {:.2f}", always.percentile(50), everysec.percentile(50)),
                    ("{:.2f} → {:.2f}", always.percentile(99), everysec.percentile(99)),
                ):
                    row += [text.format(one, other), f"{other / one:.2f}"]
                table.add_row(*row)
        finally:
            for server in servers.values():
                server.stop()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
