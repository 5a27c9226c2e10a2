"""A time in which a line drains at a constant rate."""

from __future__ import annotations

from typing import NamedTuple


class Phase(NamedTuple):
    """A time in which the line drains at a constant rate."""

    lasts: float
    """Seconds."""
    drain: float
    """People a second."""
    seen: float
    """How many observations the drain is measured from; infinite where the drain is a setting."""
    variance: float = 1.0
    """The relative variance of the time from one person to the next, at each place inside or each desk."""
    places: float = 1.0
    """At how many places or desks."""
