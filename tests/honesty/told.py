"""What people were told, held against what followed: coverage, error, direction and width, by length of the wait."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

#: The distances by which the figures are given: true waits in seconds.
DISTANCES = ((0, 30), (30, 120), (120, 600))
#: A wait that is shorter counts as this long where something is given in percent of it.
AT_LEAST_SECONDS = 5.0
#: A rise is one by over a quarter of what was told before, of at least this many seconds.
RISE, RISE_OF_SECONDS = 0.25, 10.0


@dataclass(frozen=True)
class Told:
    """One answer to one person who waited."""

    at: float
    seconds: float | None
    low: float | None
    high: float | None
    cause: str | None = None
    """Why the wait is longer than what was told before."""


@dataclass
class History:
    """All that one person was told, and when it was their turn."""

    answers: list[Told] = field(default_factory=list)
    admitted: float | None = None

    @property
    def withdrawn(self) -> int:
        """How often there was an estimate and then none, without a cause."""
        pairs = pairwise(self.answers)
        return sum(a.seconds is not None and b.seconds is None and b.cause is None for a, b in pairs)

    @property
    def rises(self) -> list[Told]:
        """The answers that were over a quarter more than the one before."""
        told = [each for each in self.answers if each.seconds is not None]
        return [
            new
            for old, new in pairwise(told)
            if (new.seconds or 0) - (old.seconds or 0) > RISE * max(old.seconds or 0, RISE_OF_SECONDS)
        ]


@dataclass(frozen=True)
class Figures:
    """The figures of some answers; in percent of the true wait, except for the coverage."""

    count: int
    coverage: float
    error: float
    bias: float
    width: float

    def __str__(self) -> str:
        return f"{self.coverage:.2f} {self.error:5.1f} {self.bias:+6.1f} {self.width:5.0f}"


def figures(answers: Iterable[tuple[Told, float]]) -> Figures | None:
    """The figures of answers and the waits that followed; None without any."""
    rows = [
        (told.low <= wait <= told.high, told.seconds - wait, told.high - told.low, max(wait, AT_LEAST_SECONDS))
        for told, wait in answers
        if told.seconds is not None and told.low is not None and told.high is not None
    ]
    if not rows:
        return None
    return Figures(
        len(rows),
        sum(within for within, *_ in rows) / len(rows),
        100 * statistics.median(abs(off) / wait for _, off, _, wait in rows),
        100 * statistics.median(off / wait for _, off, _, wait in rows),
        100 * statistics.median(width / wait for _, _, width, wait in rows),
    )


@dataclass(frozen=True)
class Result:
    """What was measured at one queue."""

    name: str
    kind: str
    histories: Sequence[History]
    changes: Sequence[float]
    """When its settings were changed, or a desk stopped."""

    def answers(self, *, across: bool = False) -> list[tuple[Told, float]]:
        """The answers with the waits that followed: those that a change lies between (`across`), or all others."""
        return [
            (told, each.admitted - told.at)
            for each in self.histories
            if each.admitted is not None
            for told in each.answers
            if any(told.at < change < each.admitted for change in self.changes) is across
        ]

    @property
    def whole(self) -> Figures | None:
        return figures(self.answers())

    @property
    def distances(self) -> list[Figures | None]:
        """The figures by the length of the wait."""
        answers = self.answers()
        return [figures((t, wait) for t, wait in answers if low <= wait < high) for low, high in DISTANCES]

    @property
    def withdrawn(self) -> int:
        return sum(each.withdrawn for each in self.histories)

    @property
    def rises(self) -> list[Told]:
        return [rise for each in self.histories for rise in each.rises]

    @property
    def silent(self) -> int:
        """How many rises had no cause."""
        return sum(rise.cause is None for rise in self.rises)

    @property
    def untold(self) -> float:
        """The share of answers without an estimate."""
        answers = [told for each in self.histories for told in each.answers]
        return sum(told.seconds is None for told in answers) / max(1, len(answers))


def table(results: Sequence[Result]) -> str:
    """The figures of all queues as text."""
    head = (
        f"{'queue':<19} {'told':>6} cover error   bias width   0-30 30-120 2-10m  "
        f"width by distance  across none gone rises silent"
    )
    rows = [head]
    for each in results:
        whole, across = each.whole, figures(each.answers(across=True))
        by = "  ".join(f"{part.coverage:.2f}" if part else "  - " for part in each.distances)
        widths = " ".join(f"{part.width:5.0f}" if part else "    -" for part in each.distances)
        rows.append(
            f"{each.name:<19} {whole.count if whole else 0:>6} {whole or '-'!s:<23}   {by}   {widths}   "
            f"{f'{across.coverage:.2f}' if across else '  - '} {each.untold:6.2f} {each.withdrawn:>4} "
            f"{len(each.rises):>5} {each.silent:>6}"
        )
    return "\n".join(rows)
