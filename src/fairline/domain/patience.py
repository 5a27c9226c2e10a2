"""How many people leave the line, by how long they have waited: those who have outlived the impatient leave rarely."""

from __future__ import annotations

from collections.abc import Sequence

#: The ages at which the classes begin, in seconds since joining. The stores count by them.
AGES = (0, 30, 60, 120, 240, 480, 960, 1920)
#: Before anybody was seen at an age, people leave this much more rarely than at the age before it.
CALMER = 0.6
#: What an age that follows from the one before it is worth, in people who left.
WORTH = 2.0


class Patience:
    """The share of people who leave each second, measured by age."""

    __slots__ = ("_counts", "_shares")

    def __init__(self, left: Sequence[float], waited: Sequence[float]) -> None:
        shares: list[float] = []
        before = 0.0
        for gone, seconds in zip(left, waited, strict=True):
            if before > 0:
                before = (gone + WORTH * CALMER) / (seconds + WORTH / before)
            elif seconds > 0:
                before = gone / seconds
            shares.append(before)
        self._shares = shares
        self._counts = left

    def between(self, young: float, old: float) -> tuple[float, float]:
        """The mean share of people who leave each second while they grow from one age to another, and how many
        departures that is known from."""
        total = seen = 0.0
        old = max(old, young + 1)
        for index, begins in enumerate(AGES):
            ends = AGES[index + 1] if index + 1 < len(AGES) else old
            part = min(old, ends) - max(young, begins)
            if part > 0:
                total += part * self._shares[index]
                seen += self._counts[index]
        return total / (old - young), seen
