"""The people of a simulation, as plain data: when they come, how long they stay, who gives up and who never comes.

Everything is drawn from one seed, so the same scenario always has the same people.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.estimate import Wait
from fairline.domain.queue_settings import QueueSettings, Share
from fairline.domain.settings_checks import checked
from fairline.errors import Invalid

#: The spread of lognormal stays: the median is three quarters of the mean, and one in ten lasts twice the mean.
STAY_SIGMA = 0.75


class Shape(StrEnum):
    """How arrivals are spread: evenly, at random, or as a rush that falls from three times the mean to none."""

    EVEN = "even"
    RUSH = "rush"
    POISSON = "poisson"


class Stays(StrEnum):
    """How stays differ: not at all, exponentially (without memory), or with a few much longer than most."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"


class Scenario(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """The parameters of a simulation. `scenario` builds and checks one."""

    people: Annotated[int, Meta(ge=1, le=1_000_000)] = 20_000
    over_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 600.0
    """The time in which all people come."""
    shape: Shape = Shape.RUSH
    stay_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 360.0
    """Mean stay inside, from coming in to the end."""
    stays: Stays = Stays.LOGNORMAL
    start_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 3.0
    """Mean time from being let in to coming in."""
    no_shows: Share = 0.0
    """Share of the admitted people who never come."""
    give_up: Share = 0.0
    """Share of people who do not wait until their turn."""
    patience_seconds: Annotated[float, Meta(gt=0, le=604_800)] = 300.0
    """Mean time until one of these people closes the page."""
    opening: bool = False
    """Whether the evening begins with a pre-queue. People come from its first second on."""
    prequeue_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    """How long the pre-queue is open before the start."""
    draw: bool = True
    """Whether the order of the pre-queue is drawn; otherwise it is that of joining."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1
    settings: QueueSettings = QueueSettings()
    at_most_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 86_400.0
    """When the simulation ends, even if people still wait."""


def scenario(settings: dict[str, Any] | QueueSettings | None = None, **given: Any) -> Scenario:
    """Return a checked scenario, or raise Invalid with the name of the field. `settings` are the queue's settings."""
    queue = settings if isinstance(settings, QueueSettings) else checked(settings or {})
    try:
        return msgspec.convert({**given, "settings": queue}, Scenario, from_attributes=True)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`")
        raise Invalid(field, f"{problem}; got {given.get(field)!r:.80}" if field else problem) from None


class Person(Struct):
    """One person: what they plan to do, and what happened. Times are in seconds since the start of the simulation."""

    arrives: float
    stays: float
    comes_after: float
    """The time from admission to coming in; infinite for a no-show."""
    patience: float
    """The longest time they wait."""
    number: int = 0
    """The number of their ticket; 0 while they have none."""
    joined: int | None = None
    admitted: int | None = None
    started: int | None = None
    ended: int | None = None
    ending: str = ""
    """`completed`, the reason why the ticket lapsed, or the code of the error that refused the join."""
    position: int | None = None
    """The position at joining."""
    shown: Wait | None = None
    """The wait that was shown at joining."""

    @property
    def waited(self) -> int | None:
        """Seconds from joining to admission; None for people who were not admitted."""
        return None if self.admitted is None or self.joined is None else self.admitted - self.joined


def draw_people(wanted: Scenario) -> list[Person]:
    """Draw the people of a scenario, in the order of their arrival."""
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


def within(waits: Sequence[int], share: float) -> int | None:
    """The wait that this share did not exceed, of waits in order."""
    return waits[max(0, math.ceil(share * len(waits)) - 1)] if waits else None
