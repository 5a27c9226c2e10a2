"""A simulated day: what people are told in eleven kinds of queue is what then happens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.backends import Postgres
from tests.honesty.lines import LINES
from tests.honesty.told import DISTANCES, Figures, Result, table
from tests.honesty.virtual import watch

#: By what decides how fast people go in: the least share of true waits inside the range, over all and at each distance
#: over 30 seconds; the widest range and the largest median error, in percent of the wait. This seed reaches that with
#: a margin; docs/explanation/waits.md has other seeds and longer days.
COVERAGE = {"clockwork": 0.93, "capacity": 0.93, "desks": 0.88}
FAR = {"clockwork": 0.87, "capacity": 0.89, "desks": 0.83}
WIDTH = {"clockwork": 10, "capacity": 44, "desks": 100}
ERROR = {"clockwork": 3, "capacity": 9, "desks": 24}
#: A distance with fewer answers says nothing: they all share the fate of a few people.
ANSWERS = 150


def held(results: Sequence[Result]) -> list[str]:
    """What does not hold."""
    return [problem for result in results for problem in _problems(result)]


def _problems(result: Result) -> list[str]:
    whole = result.whole
    if whole is None:
        return [f"{result.name}: nobody was told a wait"]
    far = [part for part, (least, _) in zip(result.distances, DISTANCES, strict=True) if least >= 30]
    covered = [part for part in far if isinstance(part, Figures) and part.count >= ANSWERS]
    checks = {
        "coverage": whole.coverage >= COVERAGE[result.kind],
        "coverage by distance": all(part.coverage >= FAR[result.kind] for part in covered),
        "width": whole.width <= WIDTH[result.kind],
        "error": whole.error <= ERROR[result.kind],
        "no estimate is withdrawn": result.withdrawn == 0,
        "every rise has its cause": result.silent == 0,
    }
    # Right after a desk has stopped, nobody can know it: there, only what is said of a change has to hold.
    held = checks if result.name != "desk-stops" else {name: checks[name] for name in list(checks)[-2:]}
    return [f"{result.name}: {name}" for name, holds in held.items() if not holds]


async def test_what_is_told_holds(module_valkey_url: str) -> None:
    results = await watch(module_valkey_url, LINES, seed=7, seconds=540)
    assert held(results) == [], "\n" + table(results)


def test_what_is_told_holds_on_postgresql_too(tmp_path: Path) -> None:
    """Some minutes of two queues: the estimator is the same, what it is given comes from the other store."""
    lines = [line for line in LINES if line.name in ("one-in-ten-seconds", "desks")]
    backend = Postgres(tmp_path)
    try:
        results = asyncio.run(watch(backend.start(), lines, seed=7, seconds=400))
    finally:
        backend.stop()
    assert held(results) == [], "\n" + table(results)
