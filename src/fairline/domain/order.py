"""The order of the line: what place a ticket takes.

`place` is the number the line is sorted by. It comes from a per-queue counter of turns `c`, never from a clock:
`place = v · 2^24 + min(c − v, 2^24 − 1)`, where `v` is the turn the ticket takes. Without priority `v = c`. A ticket
that goes ahead takes the turn just before the first one it passes; the second term orders those who share a turn by
when they came.

The stores do the same arithmetic inside their atomic step; this module is the reference they are tested against.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

#: How many places one turn has.
SPAN = 2**24
#: What a level is worth under `strict`: more than any number of turns, and exact in a double for 134 million joins.
BAND = 2**51
LEVELS = (0, 1, 2, 3)


class PriorityPolicy(StrEnum):
    """How a level above 0 is honoured."""

    SKIP = "skip"
    STRICT = "strict"


def place_of(turn: float, count: int) -> float:
    """The place of the `count`-th arrival when it takes `turn`."""
    return float(turn * SPAN + min(count - turn, SPAN - 1))


def turn_of(place: float) -> int:
    """The turn a place belongs to."""
    return math.floor(place / SPAN)


class Order:
    """Gives out places for one queue: the counter and the last turn given to each level."""

    def __init__(self) -> None:
        self.count = 0
        self.last: dict[int, int] = {}

    def next_place(
        self,
        line: Sequence[float],
        level: int,
        policy: PriorityPolicy,
        share: Sequence[float],
        aside: Sequence[float] = (),
    ) -> float:
        """The place for someone of `level` who comes now; `line` is the sorted places of those who wait, `aside` those
        kept for whoever is held."""
        self.count += 1
        if level == 0:
            return place_of(self.count, self.count)
        if policy is PriorityPolicy.STRICT:
            place = place_of(self.count, self.count) - level * BAND
        else:
            place = self._skip(line, level, share[level], aside)
        self.last[level] = max(turn_of(place), self.last.get(level, -BAND))
        return place

    def step_back(self, line: Sequence[float], rank: int, many: int, level: int) -> list[float]:
        """The places of the one at `rank` (from 0) and those behind, once it let `many` of them pass: theirs first, in
        order, then its own. They are the same places, dealt out anew."""
        places = list(line[rank : rank + many + 1])
        if level and len(places) > 1:  # an equal who comes later stays behind
            self.last[level] = max(turn_of(places[-1]), self.last.get(level, -BAND))
        return places

    def _skip(self, line: Sequence[float], level: int, share: float, aside: Sequence[float]) -> float:
        rank = len(line) - math.floor(share * len(line))
        if rank == len(line):
            turn = self.count
        elif rank == 0:
            turn = turn_of(line[0]) - 1
        else:
            turn = max(turn_of(line[rank]) - 1, turn_of(line[rank - 1]))
        # Nobody overtakes an equal: never before the last turn given to the same or a higher level.
        floor = max((turn for at, turn in self.last.items() if at >= level), default=-BAND)
        if turn <= floor:
            turn = floor if self.count - floor < SPAN else floor + 1
        # Places within one turn run out after SPAN arrivals (or a change from strict): take the next turn then.
        while place_of(turn, self.count) in line or place_of(turn, self.count) in aside:
            turn += 1
        return place_of(turn, self.count)
