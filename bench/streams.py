"""Ten thousand open streams: what each costs in the server, and whether others are kept waiting by them."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import httpx
from rich.table import Table

from bench.http import join, made, write_script, wrk
from bench.served import HOST, Served, fairline

STREAMS = 10_000
WANTED_BYTES, WANTED_P99 = 5 * 1024, 50.0


async def measure(quick: bool) -> list[Table]:
    """Bytes a stream in the workers, and the heartbeats' p99 while the line moves under all of them."""
    streams = 1000 if quick else STREAMS
    async with fairline(FAIRLINE_STREAMS_PER_ADDRESS="0") as served:
        headers = {"authorization": f"Bearer {served.admin_key}"}
        base = f"http://{HOST}:{served.port}"
        async with httpx.AsyncClient(
            base_url=base, headers=headers, timeout=30, limits=httpx.Limits(max_connections=32)
        ) as client:
            await made(client, "watched", {"max_active": 100_000, "admission_rate": 0})
            await made(client, "line", {"admission": "manual"})
            tokens = await join(client, "watched", streams)
            others = await join(client, "line", 1000)
            before = _memory(served)
            watching = [await _open(served, token) for token in tokens]
            await asyncio.sleep(3)  # everyone has received one event
            each = (_memory(served) - before) / streams
            moved = await client.patch("/api/v1/admin/queues/watched", json={"admission_rate": 50})
            moved.raise_for_status()
            with tempfile.TemporaryDirectory(prefix="fairline-wrk-") as folder:
                script = write_script(Path(folder), "heartbeat", others, "POST", "/api/v1/heartbeat")
                load = await wrk(served.port, script, 3 if quick else 10, connections=8)
            heard = sum(task.done() is False for task in watching)
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    table = Table(title=f"{streams:,} open streams on 2 workers, the line moving by 50 a second")
    for column in ("what", "measured", "wanted"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row("memory of the workers, bytes a stream", f"{each:,.0f}", f"≤ {WANTED_BYTES:,}")
    table.add_row("heartbeats meanwhile, p99 ms", f"{load.p99_ms:.1f}", f"< {WANTED_P99:g}")
    table.add_row("heartbeats meanwhile, a second", f"{load.rate:,.0f}", "")
    table.add_row("streams still open at the end", f"{heard:,}", f"{streams:,}")
    return [table]


async def _open(served: Served, token: str) -> asyncio.Task[None]:
    reader, writer = await asyncio.open_connection(HOST, served.port, limit=8192)
    writer.write(f"GET /api/v1/stream HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")

    async def read() -> None:
        try:
            while await reader.read(65_536):
                pass
        finally:
            writer.close()

    return asyncio.create_task(read())


def _memory(served: Served) -> int:
    """Resident memory of the workers that is theirs alone, in bytes."""
    total = 0
    for pid in served.workers():
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if ":" in line
        )
        total += 1024 * sum(int(fields[name].split()[0]) for name in ("Private_Clean", "Private_Dirty"))
    return total
