"""Runs the benchmarks: `python -m bench [names…] [--quick]`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, NamedTuple

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from bench import gate, grouping, http, instructions, memory, naive, openings, postgres, scale, start, streams, walk_in
from bench.common import machine, stolen
from fairline.errors import FairlineError

#: No part takes nearly as long on two cores, beyond the time it is to last; one that does is stuck.
SECONDS = 180


class Part(NamedTuple):
    """One benchmark."""

    shows: str
    measure: Callable[[bool], Awaitable[list[Table]]]
    lasts: float = 0.0
    """Seconds that it lasts however quick the machine is."""


async def durability(_quick: bool) -> list[Table]:
    """The part that has a command of its own, and takes no less when quick."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.durability")
    try:
        if await child.wait():
            raise RuntimeError("bench.durability failed")
    finally:
        if child.returncode is None:
            child.terminate()
            await child.wait()
    return []


PARTS = {
    "memory": Part("bytes for each position that waits, key by key", memory.measure),
    "scale": Part("what an operation costs with 1,000 to 1,000,000 waiting", scale.measure),
    "grouping": Part("what it gains that calls which arrive together go to the store together", grouping.measure),
    "naive": Part("the script one would write oneself, on the same server", naive.measure),
    "durability": Part("what it costs that every call is on disk before it is answered", durability),
    "postgres": Part(
        "a walk-in line a hundred times over on PostgreSQL, compared with the plain way", postgres.measure
    ),
    "openings": Part("a pre-queue of 200,000: the draw by its parts, and the first admission", openings.measure),
    "desk": Part("a walk-in line over HTTP for five minutes, on PostgreSQL", walk_in.measure, walk_in.SECONDS),
    "http": Part(
        "whole calls over HTTP, compared with an echo that does nothing (needs wrk)", http.measure, http.SECONDS
    ),
    "instructions": Part(
        "what a call costs a worker and Valkey, counted by callgrind (needs valgrind)",
        instructions.measure,
        instructions.SECONDS,
    ),
    "gate": Part("what checking the session token adds to a page through nginx (needs wrk and nginx)", gate.measure),
    "start": Part("how soon after a start each of thousands of open pages has its place", start.measure),
    "streams": Part("what an open stream costs, and whether others wait for it (needs wrk)", streams.measure),
}


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Which parts: {', '.join(PARTS)}. All of them if none.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller and shorter: to see that it runs, not to quote.")
    ] = False,
    list_parts: Annotated[bool, typer.Option("--list", help="Say what there is, and run nothing.")] = False,
) -> None:
    """Measure what Fairline costs. Compare the ratios of one run, not numbers of different machines."""
    console = Console(width=max(120, Console().width))
    if list_parts:
        for name, part in PARTS.items():
            console.print(f"{name:<12}{part.shows}")
        return
    unknown = [name for name in names or () if name not in PARTS]
    if unknown:
        raise typer.BadParameter(f"there is no part {unknown[0]!r}. There are: {', '.join(PARTS)}.")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            failed = runner.run(run(console, names or list(PARTS), quick))
    except asyncio.CancelledError:
        raise typer.Exit(128 + signal.SIGTERM) from None
    raise typer.Exit(1 if failed else 0)


async def run(console: Console, names: list[str], quick: bool) -> list[str]:
    """Run the parts one after the other, and answer which failed. However this ends, what they started ends too."""
    task = asyncio.current_task()
    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    failed = []
    for name in names:
        console.rule(f"[bold]{name}[/]: {PARTS[name].shows}", align="left")
        load, begun, before = os.getloadavg()[0], time.perf_counter(), stolen()
        most = SECONDS + PARTS[name].lasts
        try:
            async with asyncio.timeout(most):
                tables = await PARTS[name].measure(quick)
        except (RuntimeError, FairlineError, TimeoutError) as error:
            failed.append(name)
            console.print(f"[red]Not measured:[/] {str(error) or f'it took more than {most:.0f} s'}\n")
            continue
        for table in tables:
            console.print(table)
        took = time.perf_counter() - begun
        taken, ticks = (now - then for now, then in zip(stolen(), before, strict=True))
        console.print(
            f"[dim]{machine()}; load average before {load:.1f}; took {took:.0f} s, of which the host gave "
            f"{taken / max(1, ticks):.0%} to others[/]\n"
        )
    return failed


if __name__ == "__main__":
    typer.run(main)
