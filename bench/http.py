"""Whole calls over HTTP compared with a bare uvicorn echo of JSON, in interleaved rounds.

The calls are heartbeat, status, verify and join."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import httpx
from msgspec import Struct
from rich.table import Table

from bench.served import HOST, Served, echo, fairline

CONNECTIONS = 64
OPEN: dict[str, Any] = {"join_limit_per_ip": 0, "max_queue_size": 5_000_000, "heartbeat_timeout_seconds": 86_400}
WAITING = 10_000
#: At least this much of the echo's calls a second, as ratios of the same run.
WANTED = {"heartbeat": 1.0, "status": 1.0, "verify": 1.0, "join": 0.7}
ROUNDS, ROUND_SECONDS = 3, 3
#: How long the load lasts in all: each call, and the echo with nothing said, between two echoes.
SECONDS = ROUNDS * ROUND_SECONDS * (1 + 2 * (len(WANTED) + 1))

#: The measure, and next to it the same application where nothing is sent: it answers without reading any JSON.
ECHO, NOTHING_SAID = "bare uvicorn, JSON echo", "bare uvicorn, no JSON in"

#: Each connection of wrk takes the next token for each request. The requests are made beforehand: what the load costs
#: itself is no part of what is measured.
SCRIPT = """
local counter, threads, requests = 0, 0, {{}}
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init()
  for line in io.lines("{tokens}") do
    local head = "{method} {path} HTTP/1.1\\r\\nHost: bench\\r\\nAuthorization: Bearer "
    requests[#requests + 1] = head .. line .. "\\r\\n\\r\\n"
  end
  counter = id * 3571
end
function request()
  counter = counter + 1
  return requests[counter % #requests + 1]
end
"""
#: What the echo is asked: JSON of the size that a client with something to say sends.
ECHO_SCRIPT = """
local body = '{"timestamp":1794823511443,"client_id":"8f14e45f-ceea-467f-a9f2-3c7b1d0e6a55","page":"/q/winter-sale"}'
local head = "POST / HTTP/1.1\\r\\nHost: bench\\r\\nContent-Type: application/json\\r\\nContent-Length: "
local asked = head .. #body .. "\\r\\n\\r\\n" .. body
function request() return asked end
"""
#: Someone new with each request; there are more of them than join in a round.
JOIN_SCRIPT = """
local counter, threads, requests = 0, 0, {{}}
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init()
  local head = "POST /api/v1/queues/joins/join HTTP/1.1\\r\\nHost: bench\\r\\nContent-Type: application/json"
  for number = 1, {people} do
    local body = '{{"client_id":"{run}-' .. id .. '-' .. number .. '"}}'
    requests[number] = head .. "\\r\\nContent-Length: " .. #body .. "\\r\\n\\r\\n" .. body
  end
end
function request()
  counter = counter + 1
  return requests[(counter - 1) % #requests + 1]
end
"""
PEOPLE = 60_000
SYNCS = 50
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
_SHARE = re.compile(r"(50|99)%\s+([\d.]+)(us|ms|s)")
_BAD = re.compile(r"Non-2xx or 3xx responses: (\d+)")


class Load(Struct):
    """What one round of wrk saw."""

    rate: float
    p50_ms: float
    p99_ms: float


async def measure(quick: bool) -> list[Table]:
    """Calls a second of each, as shares of the echo's around it."""
    if shutil.which("wrk") is None:
        raise RuntimeError("wrk is needed: apt-get install wrk")
    rounds, seconds = (1, 2) if quick else (ROUNDS, ROUND_SECONDS)
    seen: dict[str, list[Load]] = {name: [] for name in (ECHO, NOTHING_SAID, *WANTED)}
    shares: dict[str, list[float]] = {name: [] for name in (NOTHING_SAID, *WANTED)}
    syncs: list[float] = []
    with tempfile.TemporaryDirectory(prefix="fairline-wrk-") as folder:
        async with fairline() as served, echo() as bare:
            scripts = await _prepare(served, Path(folder))
            for number in range(rounds):
                syncs.append(sync_ms(Path(folder)))
                seen[ECHO].append(await wrk(bare.port, scripts[ECHO], seconds))
                for name in shares:
                    port, script = served.port, scripts.get(name) or _join_script(Path(folder), number)
                    if name == NOTHING_SAID:
                        port, script = bare.port, scripts["heartbeat"]
                    seen[name].append(await wrk(port, script, seconds))
                    seen[ECHO].append(await wrk(bare.port, scripts[ECHO], seconds))
                    # Of the echo just before and just after it: the speed of a machine changes within a minute.
                    around = mean(load.rate for load in seen[ECHO][-2:])
                    shares[name].append(seen[name][-1].rate / around)
    table = Table(
        title=f"Calls over HTTP: {CONNECTIONS} connections, 2 workers, {WAITING:,} waiting, medians of {rounds} rounds",
        caption=f"Who joins is answered once it is on disk: a sync took {median(syncs):.2f} ms before a round.",
    )
    for column in ("call", "a second", "p99 ms", "of the echo", "wanted"):
        table.add_column(column, justify="left" if column == "call" else "right")
    for name, loads in seen.items():
        share = median(shares[name]) if name in shares else 1.0
        wanted = f"≥ {WANTED[name]:.1f}" if name in WANTED else ""
        rate, p99 = median(load.rate for load in loads), median(load.p99_ms for load in loads)
        table.add_row(name, f"{rate:,.0f}", f"{p99:.1f}", f"{share:.2f}", wanted)
    return [table]


async def _prepare(served: Served, folder: Path) -> dict[str, Path]:
    """Fill the queues, and write a script of wrk for each call."""
    headers = {"authorization": f"Bearer {served.admin_key}"}
    limits = httpx.Limits(max_connections=32)
    async with httpx.AsyncClient(
        base_url=f"http://{HOST}:{served.port}", headers=headers, limits=limits, timeout=30
    ) as client:
        for queue in ("line", "joins"):
            await made(client, queue, {"admission_rate": 0})
        await made(client, "inside", {"admission_rate": 10_000, "max_active": 2000})
        waiting = await join(client, "line", WAITING)
        inside = await sessions(client, await join(client, "inside", 1000))
    (folder / "echo.lua").write_text(ECHO_SCRIPT, encoding="utf-8")
    return {
        ECHO: folder / "echo.lua",
        "heartbeat": write_script(folder, "heartbeat", waiting, "POST", "/api/v1/heartbeat"),
        "status": write_script(folder, "status", waiting, "GET", "/api/v1/status"),
        "verify": write_script(folder, "verify", inside, "GET", "/api/v1/session/verify?queue=inside"),
    }


async def made(client: httpx.AsyncClient, queue: str, settings: dict[str, Any]) -> None:
    """A queue for measuring: nobody is turned away, or lapses meanwhile."""
    (await client.post("/api/v1/admin/queues", json={"id": queue, **OPEN, **settings})).raise_for_status()


async def join(client: httpx.AsyncClient, queue: str, count: int) -> list[str]:
    """A number of people join; answers their tokens."""

    async def one(number: int) -> str:
        answer = await client.post(f"/api/v1/queues/{queue}/join", json={"client_id": f"bench-{queue}-{number}"})
        answer.raise_for_status()
        return str(answer.json()["token"])

    tokens: list[str] = []
    for start in range(0, count, 250):
        tokens += await asyncio.gather(*(one(number) for number in range(start, min(start + 250, count))))
    return tokens


async def sessions(client: httpx.AsyncClient, tokens: list[str]) -> list[str]:
    """Session tokens of people who are let in."""

    async def one(token: str) -> str:
        while True:
            answer = await client.get("/api/v1/status", headers={"authorization": f"Bearer {token}"})
            content = answer.raise_for_status().json()
            if "session_token" in content:
                return str(content["session_token"])
            await asyncio.sleep(0.2)

    return [await one(token) for token in tokens]


def write_script(folder: Path, name: str, tokens: list[str], method: str, path: str) -> Path:
    """A script for wrk that takes the tokens in turn."""
    listed = folder / f"{name}.tokens"
    listed.write_text("\n".join(tokens), encoding="utf-8")
    script = folder / f"{name}.lua"
    script.write_text(SCRIPT.format(tokens=listed, method=method, path=path), encoding="utf-8")
    return script


def _join_script(folder: Path, run: int) -> Path:
    script = folder / f"join-{run}.lua"
    script.write_text(JOIN_SCRIPT.format(run=f"round-{run}", people=PEOPLE), encoding="utf-8")
    return script


def sync_ms(folder: Path) -> float:
    """How long the disk takes to have what a batch of joins adds to a file; the median of some, in milliseconds."""
    taken, sync = [], getattr(os, "fdatasync", os.fsync)  # macOS has the latter alone
    with (folder / "synced").open("ab", buffering=0) as file:
        for _ in range(SYNCS):
            file.write(bytes(8000))
            begun = time.perf_counter()
            sync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return median(taken) * 1000


async def wrk(port: int, script: Path, seconds: int, connections: int = CONNECTIONS) -> Load:
    """One round of load on a port."""
    process = await asyncio.create_subprocess_exec(
        "wrk", "--latency", "-t", "2", "-c", str(connections), "-d", f"{seconds}s", "-s", str(script),
        f"http://{HOST}:{port}/", stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    rate, shares = _RATE.search(output), {share: (value, unit) for share, value, unit in _SHARE.findall(output)}
    if rate is None or not {"50", "99"} <= shares.keys():
        raise RuntimeError(f"wrk said something else:\n{output}")
    if bad := _BAD.search(output):
        raise RuntimeError(f"{bad.group(1)} calls were refused under {script.name}:\n{output}")
    p50, p99 = (float(shares[at][0]) * {"us": 0.001, "ms": 1, "s": 1000}[shares[at][1]] for at in ("50", "99"))
    return Load(float(rate.group(1)), p50, p99)
