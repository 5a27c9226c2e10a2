"""What a change would do to the line, against what it then does on the real engine in virtual time."""

from __future__ import annotations

import math
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairline.domain.preview import Why, outlook
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.simulation.evening import Simulation, VirtualClock
from fairline.simulation.people import Person, Scenario, scenario
from fairline.store import open_store
from tests.domain.test_estimate import snapshot

#: Evenings in which nothing changes, the rate, the capacity, and both.
SEEDS = range(20) if os.environ.get("FAIRLINE_LONG") else (9, 4, 1, 15)


def test_a_change_shows_in_the_wait_of_the_last_one() -> None:
    now = snapshot(waiting=600, now=1_000_000, tokens=0.5, tokens_at=1_000_000)
    for rate, seconds in ((1, 600), (5, 120), (10, 60)):
        found = outlook(checked({"admission_rate": rate}), now)
        assert found.wait
        assert found.wait.seconds == pytest.approx(seconds, abs=0.5)
        assert found.clears == pytest.approx(1_000_000 + seconds * 1000, abs=500)
        assert found.why is None


def test_where_nothing_honest_can_be_said_it_says_why() -> None:
    dark: list[tuple[dict[str, Any], dict[str, Any], Why]] = [
        ({}, {"waiting": 0}, Why.NOBODY_WAITS),
        ({"status": "paused"}, {}, Why.NOT_ACTIVE),
        ({"status": "maintenance"}, {}, Why.NOT_ACTIVE),
        ({"stock_url": "https://stock.example/"}, {}, Why.STOCK_UNKNOWN),
        ({"stock": 99}, {}, Why.STOCK_SHORT),
        ({"stock": 200}, {"completed": 50, "active": 51}, Why.STOCK_SHORT),
        ({"admission": "manual"}, {}, Why.NOT_CALLED_YET),
        ({"admission_rate": 0}, {}, Why.RATE_ZERO),
        ({"max_active": 90}, {}, Why.STAYS_UNKNOWN),
    ]
    for settings, seen, why in dark:
        found = outlook(checked(settings), snapshot(**{"waiting": 100, **seen}))
        assert (found.wait, found.clears, found.why) == (None, None, why), (settings, seen)


# On the real engine


def evening(seed: int) -> tuple[Scenario, float, dict[str, Any]]:
    """A sale by chance; when someone thinks of a change, and which. Some keep what they have."""
    chance = random.Random(seed)
    stay, rate = chance.uniform(20, 50), chance.uniform(3, 15)
    capacity = round(rate * stay * chance.choice([0.4, 0.6, 0.8, 1.5, 3]))
    change_at = stay * chance.uniform(3, 5)
    through = min(rate, capacity / stay)  # what goes in each second
    wanted = scenario(
        {
            "admission_rate": rate,
            "max_active": capacity,
            "claim_seconds": chance.uniform(20, 60),
            "join_limit_per_ip": 0,
        },
        people=round(through * (change_at + chance.uniform(90, 200))),
        over_seconds=change_at,
        shape=chance.choice(["rush", "poisson", "even"]),
        stay_seconds=stay,
        stays=chance.choice(["exponential", "lognormal"]),
        no_shows=chance.choice([0, 0.05, 0.1]),
        give_up=chance.choice([0, 0.05, 0.1]),
        patience_seconds=chance.uniform(60, 200),
        seed=seed,
        at_most_seconds=3000,
    )
    change: dict[str, Any] = {}
    if chance.random() < 0.6:
        change["admission_rate"] = rate * chance.uniform(0.5, 2)
    if chance.random() < 0.6:
        change["max_active"] = round(capacity * chance.uniform(0.6, 1.8))
    return wanted, change_at, change


@asynccontextmanager
async def begun(wanted: Scenario, url: str, seed: int) -> AsyncIterator[Simulation]:
    clock = VirtualClock()
    store = await open_store(url, clock=clock)
    running = Simulation(wanted, store, clock, QueueId(f"evening-{seed}"))
    await running.begin()
    yield running
    await running.service.close()
    await store.delete(running.queue)
    await store.close()


def last_in_line(people: list[Person]) -> Person:
    waiting = (p for p in people if p.number and p.admitted is None and not p.ending and math.isinf(p.patience))
    return max(waiting, key=lambda person: person.number)


@pytest.mark.timeout(600)  # on the real engine, an evening is a second and a half of work for one core
async def test_the_preview_is_what_then_happens_and_the_ranges_shown_hold(module_valkey_url: str) -> None:
    compared = within = 0
    for seed in SEEDS:
        wanted, change_at, change = evening(seed)
        async with begun(wanted, module_valkey_url, seed) as running:
            await running.run_until(change_at)
            now, settings = await running.service.snapshot(running.queue)
            previewed = outlook(checked(change, settings), now).wait
            last = last_in_line(running.people)
            decided = running.second
            await running.configure(**change)
            while last.admitted is None:
                assert not running.over
                await running.step()
            assert previewed, seed
            assert previewed.seconds == pytest.approx(last.admitted - decided, rel=0.15), (seed, now)
            # Who was shown a wait and then met another rate was not shown a wrong one.
            counted = [p for p in running.people if p.admitted is not None and (not change or p.admitted < decided)]
            shown = [(p.shown, p.waited) for p in counted if p.shown and p.waited is not None]
            compared += len(shown)
            within += sum(wait.low <= waited <= wait.high for wait, waited in shown)
    assert compared > 250 * len(SEEDS)
    assert within / compared >= 0.8
