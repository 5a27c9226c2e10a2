"""The reference model of the order: which place a ticket takes. Every store is tested against it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from fairline.domain.order import BAND, SPAN, PriorityPolicy


def place_of(turn: float, count: int) -> float:
    """The place of the `count`-th arrival when it takes `turn`."""
    return float(turn * SPAN + min(count - turn, SPAN - 1))


def turn_of(place: float) -> int:
    """The turn a place belongs to."""
    return math.floor(place / SPAN)


class Order:
    """Assigns places in one queue. It keeps the number of arrivals and the last turn given to each level."""

    def __init__(self) -> None:
        self.count = 0
        self.last: dict[int, int] = {}

    def next_place(
        self,
        line: Sequence[float],
        level: int,
        policy: PriorityPolicy,
        share: Sequence[float],
        on_hold: Sequence[float] = (),
    ) -> float:
        """The place for a ticket of `level` that arrives now. `line` has the sorted places of the tickets that wait,
        `on_hold` the places reserved for tickets on hold."""
        self.count += 1
        if level == 0:
            return place_of(self.count, self.count)
        if policy is PriorityPolicy.STRICT:
            place = place_of(self.count, self.count) - level * BAND
        else:
            place = self._skip(line, level, share[level], on_hold)
        self.last[level] = max(turn_of(place), self.last.get(level, -BAND))
        return place

    def step_back(self, line: Sequence[float], index: int, count: int, level: int) -> list[float]:
        """The places of the ticket at `index` (from 0) and of the `count` tickets behind it, after it let them go
        first: their places in order, then its own. The set of places stays the same; only their owners change."""
        places = list(line[index : index + count + 1])
        if level and len(places) > 1:  # a later ticket of the same level stays behind
            self.last[level] = max(turn_of(places[-1]), self.last.get(level, -BAND))
        return places

    def _skip(self, line: Sequence[float], level: int, share: float, on_hold: Sequence[float]) -> float:
        index = len(line) - math.floor(share * len(line))
        if index == len(line):
            turn = self.count
        elif index == 0:
            turn = turn_of(line[0]) - 1
        else:
            turn = max(turn_of(line[index]) - 1, turn_of(line[index - 1]))
        # Nobody overtakes an equal: never before the last turn given to the same or a higher level.
        floor = max((turn for at, turn in self.last.items() if at >= level), default=-BAND)
        if turn <= floor:
            turn = floor if self.count - floor < SPAN else floor + 1
        # Places within one turn run out after SPAN arrivals (or a change from strict): then take the next turn.
        while place_of(turn, self.count) in line or place_of(turn, self.count) in on_hold:
            turn += 1
        return place_of(turn, self.count)


def beside(place: float, taken: Collection[float]) -> float:
    """The place in the same turn behind all who have one there by themselves."""
    found = turn_of(place) * SPAN + SPAN // 2
    while found in taken:
        found += 1
    return float(found)
