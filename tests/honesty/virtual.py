"""Runs the queues in virtual time on an embedded Valkey: `python -m tests.honesty.virtual --seed 7`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fairline.store.valkey.embedded import EmbeddedValkey
from tests.honesty.day import Day
from tests.honesty.lines import LINES, SECONDS, Line
from tests.honesty.server import engine
from tests.honesty.told import Result, table


async def watch(url: str, lines: Sequence[Line], seed: int, seconds: int = SECONDS) -> list[Result]:
    """Run these queues for so many seconds on the store at `url`, all at once."""
    async with engine(url) as server:
        days = [Day(line, server, seed) for line in lines]
        for day in days:
            await day.open()
        for second in range(1, seconds + 1):
            await server.pass_second(second)
            for day in days:
                await day.second(second)
        return [day.result for day in days]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    lines = [line for line in LINES if asked.only in line.name]
    with tempfile.TemporaryDirectory(prefix="fairline-honesty-") as folder:
        server = EmbeddedValkey(Path(folder), fsync="everysec")
        try:
            sys.stdout.write(table(asyncio.run(watch(server.start(), lines, asked.seed))) + "\n")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
