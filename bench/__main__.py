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

from bench import grouping, memory, naive, scale
from bench.common import machine

#: No part takes nearly as long on two cores; one that does is stuck.
SECONDS = 180


class Part(NamedTuple):
    """One benchmark."""

    shows: str
    measure: Callable[[bool], Awaitable[list[Table]]]


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
    """Measure what Fairline costs. Compare the ratios of one run, not figures of different machines."""
    console = Console(width=max(120, Console().width))
    if list_parts:
        for name, part in PARTS.items():
            console.print(f"{name:<12}{part.shows}")
        return
    unknown = [name for name in names or () if name not in PARTS]
    if unknown:
        raise typer.BadParameter(f"there is no part {unknown[0]!r}. There are: {', '.join(PARTS)}.")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(console, names or list(PARTS), quick))


async def run(console: Console, names: list[str], quick: bool) -> None:
    """Run the parts one after the other; the end of this process, however it comes, ends what they started."""
    task = asyncio.current_task()
    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    console.print(f"[bold]Fairline benchmarks[/] on {machine()}, uvloop")
    for name in names:
        console.rule(f"{name}: {PARTS[name].shows}", align="left")
        load, begun = os.getloadavg()[0], time.perf_counter()
        async with asyncio.timeout(SECONDS):
            tables = await PARTS[name].measure(quick)
        for table in tables:
            console.print(table)
        console.print(f"[dim]{machine()}; load before {load:.1f}; took {time.perf_counter() - begun:.0f} s[/]\n")


if __name__ == "__main__":
    typer.run(main)
