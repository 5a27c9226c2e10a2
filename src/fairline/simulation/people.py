"""The people of a simulation, as plain data: who comes when, how long each stays, who gives up and who never shows.

Everything is drawn from one seed, so the same scenario is the same evening every time.
"""

from __future__ import annotations

import math
import random
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.estimate import Wait
from fairline.domain.queue import QueueSettings, Share, checked
from fairline.errors import Invalid

#: How unequal lognormal stays are: the middle one is three quarters of the mean, one in ten lasts twice as long.
STAY_SIGMA = 0.75


class Shape(StrEnum):
    """How arrivals spread: evenly, at random, or as a rush: three times the mean at the start, ebbing to none."""

    EVEN = "even"
    RUSH = "rush"
    POISSON = "poisson"


class Stays(StrEnum):
    """How stays differ: not at all, without memory, or a few much longer than most."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"


class Scenario(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """What is to be simulated. `scenario` makes one and refuses what makes no sense."""

    people: Annotated[int, Meta(ge=1, le=1_000_000)] = 20_000
    over_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 600.0
    """The time in which all of them come."""
    shape: Shape = Shape.RUSH
    stay_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 360.0
    """Mean stay inside, from coming in to being done."""
    stays: Stays = Stays.LOGNORMAL
    start_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 3.0
    """Mean time from being let in to coming in."""
    no_shows: Share = 0.0
    """Share of those let in who never come."""
    give_up: Share = 0.0
    """Share of people who do not wait for ever."""
    patience_seconds: Annotated[float, Meta(gt=0, le=604_800)] = 300.0
    """Mean time until one of those closes the page."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1
    settings: QueueSettings = QueueSettings()
    at_most_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 86_400.0
    """When the simulation ends even if people still wait."""


def scenario(settings: dict[str, Any] | QueueSettings | None = None, **given: Any) -> Scenario:
    """A checked scenario, or Invalid naming the field; `settings` are those of the queue."""
    queue = settings if isinstance(settings, QueueSettings) else checked(settings or {})
    try:
        return msgspec.convert({**given, "settings": queue}, Scenario, from_attributes=True)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`")
        raise Invalid(field, f"{problem}; got {given.get(field)!r:.80}" if field else problem) from None


class Person(Struct):
    """One of the crowd: what they mean to do, and what became of them. Times are seconds since the simulation began."""

    arrives: float
    stays: float
    comes_after: float
    """From being let in to coming in; without end for a no-show."""
    patience: float
    """How long they wait at most."""
    number: int = 0
    """Of their ticket; 0 while they have none."""
    joined: int | None = None
    admitted: int | None = None
    started: int | None = None
    ended: int | None = None
    ending: str = ""
    """`completed`, the reason it lapsed, or the code of the error that refused the joining."""
    position: int | None = None
    """At joining."""
    shown: Wait | None = None
    """The wait they were told at joining."""

    @property
    def waited(self) -> int | None:
        """Seconds from joining to being let in; None for whoever was not."""
        return None if self.admitted is None or self.joined is None else self.admitted - self.joined


def draw_people(wanted: Scenario) -> list[Person]:
    """The people of a scenario, in the order they come."""
    chance = random.Random(wanted.seed)
    return [
        Person(
            arrives=arrives,
            stays=_stay(chance, wanted),
            comes_after=math.inf if chance.random() < wanted.no_shows else _spread(chance, wanted.start_seconds),
            patience=_spread(chance, wanted.patience_seconds) if chance.random() < wanted.give_up else math.inf,
        )
        for arrives in _arrivals(chance, wanted)
    ]


def _arrivals(chance: random.Random, wanted: Scenario) -> list[float]:
    if wanted.shape is Shape.EVEN:
        return [wanted.over_seconds * number / wanted.people for number in range(wanted.people)]
    shares = [chance.random() for _ in range(wanted.people)]
    if wanted.shape is Shape.RUSH:  # the density falls as (1 − x)²
        shares = [1 - (1 - share) ** (1 / 3) for share in shares]
    return sorted(wanted.over_seconds * share for share in shares)


def _stay(chance: random.Random, wanted: Scenario) -> float:
    mean = wanted.stay_seconds
    if mean == 0 or wanted.stays is Stays.FIXED:
        return mean
    if wanted.stays is Stays.EXPONENTIAL:
        return chance.expovariate(1 / mean)
    return chance.lognormvariate(math.log(mean) - STAY_SIGMA**2 / 2, STAY_SIGMA)


def _spread(chance: random.Random, mean: float) -> float:
    return chance.expovariate(1 / mean) if mean else 0.0
