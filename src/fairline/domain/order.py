"""The order of the line: the numbers from which the stores compute the place of a ticket.

`place` is the number the line is sorted by. It comes from a counter of arrivals `c` that each queue has, never from a
clock: `place = v · 2^24 + min(c − v, 2^24 − 1)`, where `v` is the turn the ticket takes. Without priority `v = c`. A
ticket that goes ahead takes the turn just before the first ticket it overtakes; the second term orders tickets that
share a turn by arrival.

The stores compute places inside their atomic step. tests/model/order.py is the reference they are tested against.
"""

from __future__ import annotations

from enum import StrEnum

#: How many places one turn has.
SPAN = 2**24
#: How far one level moves a ticket ahead under `strict`: more than any number of turns, and exact in a double for 134
#: million joins.
BAND = 2**51
LEVELS = (0, 1, 2, 3)


class PriorityPolicy(StrEnum):
    """How a level above 0 is honoured."""

    SKIP = "skip"
    STRICT = "strict"
