"""The eleven queues whose waits are measured, and the people who stand in them. Everything is drawn from one seed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: How long each queue is watched.
SECONDS = 720


@dataclass
class Person:
    """Someone who waits: what they will do, by themselves and once it is their turn."""

    arrives: float
    patience: float = math.inf
    vanishes: bool = False
    """Sends no more heartbeats once the patience is over, instead of leaving."""
    comes: bool = True
    stays: float = 0.0
    level: int = 0


@dataclass(frozen=True)
class Line:
    """A queue, and what happens in it."""

    name: str
    kind: str
    """`clockwork`, `capacity` or `desks`: what decides how fast people go in, and so how exact an estimate can be."""
    settings: Mapping[str, Any]
    crowd: int
    """How many come in the first twenty seconds."""
    arrivals: float
    """How many come in each second after that."""
    stay: float = 0.0
    """The mean of exponential stays inside."""
    desks: int = 0
    service: float = 25.0
    """The mean of log-normal times at a desk, from one call to the next."""
    leave: float = 0.0
    no_shows: float = 0.0
    priorities: float = 0.0
    waves: tuple[float, ...] = (0.0,)
    """When a crowd comes."""
    changes: Mapping[float, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that are changed, by the second. What was told before a change is not held against it."""
    desk_stops: float = math.inf
    """When the last desk stops calling, without being closed."""

    def people(self, seed: int) -> list[Person]:
        """The people of this queue, in the order in which they come."""
        chance = random.Random(f"{seed} {self.name}")
        times = [wave + chance.uniform(0, 20) for wave in self.waves for _ in range(self.crowd)]
        at = 20.0
        while self.arrivals and at < SECONDS:
            at += chance.expovariate(self.arrivals)
            times.append(at)
        return [self._person(chance, at) for at in sorted(times) if at < SECONDS]

    def _person(self, chance: random.Random, at: float) -> Person:
        person = Person(at, stays=chance.expovariate(1 / self.stay) if self.stay else 1.0)
        if chance.random() < self.leave:
            person.patience, person.vanishes = chance.expovariate(1 / 60), chance.random() < 0.5
        person.comes = chance.random() >= self.no_shows
        if chance.random() < self.priorities:
            person.level = chance.choice((1, 1, 2, 2, 3))
        return person

    def service_time(self, chance: random.Random) -> float:
        """How long one person is at a desk."""
        sigma = 0.5
        return chance.lognormvariate(math.log(self.service) - sigma**2 / 2, sigma)


def _auto(rate: float, **more: Any) -> dict[str, Any]:
    return {"admission_rate": rate, "max_active": 5000, "max_queue_size": 50_000, "join_limit_per_ip": 0, **more}


_DESKS = {"admission": "manual", "join_limit_per_ip": 0, "wait_sample": 20}

LINES = [
    Line("two-a-second", "clockwork", _auto(2), crowd=400, arrivals=1.9),
    Line("one-in-ten-seconds", "clockwork", _auto(0.1), crowd=35, arrivals=0.09),
    Line("capacity", "capacity", _auto(20, max_active=60), crowd=550, arrivals=2.8, stay=20),
    Line(
        "leaving",
        "capacity",
        _auto(10, max_active=60, heartbeat_timeout_seconds=30, grace_seconds=10, claim_seconds=20),
        crowd=700,
        arrivals=4.4,
        stay=20,
        leave=0.3,
        no_shows=0.25,
    ),
    Line("halved", "clockwork", _auto(2), crowd=350, arrivals=1.2, changes={360: {"admission_rate": 1}}),
    Line("desks", "desks", _DESKS, crowd=30, arrivals=0.12, desks=3),
    Line("priorities", "clockwork", _auto(2), crowd=350, arrivals=1.9, priorities=0.1),
    Line("stock", "clockwork", _auto(2, stock=700), crowd=400, arrivals=1.8),
    Line("burst", "clockwork", _auto(1, burst=150), crowd=400, arrivals=0.0, waves=(0.0, 330.0)),
    Line("desk-stops", "desks", _DESKS, crowd=25, arrivals=0.12, desks=3, desk_stops=240),
    Line(
        "paused",
        "clockwork",
        _auto(2),
        crowd=400,
        arrivals=1.5,
        changes={300: {"status": "paused"}, 360: {"status": "active"}},
    ),
]
