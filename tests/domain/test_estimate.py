"""The estimate against what really happens to a line: a small simulation, person by person and second by second."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueSnapshot
from fairline.domain.settings_checks import checked

RUNS = 60


def snapshot(**changes: Any) -> QueueSnapshot:
    plain = {"now": 0, "stopped": 0, "version": 1, "waiting": 0, "admitted": 0, "active": 0, "completed": 0}
    measured = {"stay_seconds": 0.0, "leave_rate": 0.0, "call_rate": 0.0, "stays_seen": 100}
    return QueueSnapshot(**{**plain, **measured, **changes})


def wait_of(position: int, settings: dict[str, Any], **seen: Any) -> Wait | None:
    return Forecast(checked({"max_active": 10_000_000, **settings}), snapshot(waiting=position, **seen)).wait(position)


def at_next_tick(seed: int) -> tuple[float, float]:
    """The tokens that were left at the last tick, and when the next one is."""
    chance = random.Random(f"tick {seed}")
    return chance.random(), chance.random()


def simulate(
    seed: int,
    position: int,
    *,
    rate: float,
    most: int = 10_000_000,
    inside: int = 0,
    stay: float = 0.0,
    leave_rate: float = 0.0,
    regular: bool = False,
) -> float:
    """How long the person at `position` waits in one evening. Someone at this position does not give up."""
    chance = random.Random(seed)

    def comes_out(at: float) -> float:
        return at + (stay if regular else chance.expovariate(1 / stay)) if stay else float("inf")

    # Those inside came at some time before, at random over the stay they have.
    out = [chance.uniform(0, stay) if regular else comes_out(0) for _ in range(inside)]
    ahead = [chance.expovariate(leave_rate) if leave_rate else float("inf") for _ in range(position - 1)]
    tokens, now = at_next_tick(seed)
    tokens += rate
    while True:
        out = [at for at in out if at > now]
        ahead = [gives_up for gives_up in ahead if gives_up > now]
        going = min(int(tokens), max(0, most - len(out)))
        if going > len(ahead):
            return now
        del ahead[:going]
        out += [comes_out(now) for _ in range(going)]
        tokens = min(tokens - going, max(1, rate)) + rate
        now += 1


#: What is set and seen, and the position someone stands at.
EVENINGS: dict[str, dict[str, Any]] = {
    "the rate is the gate": {"position": 600, "rate": 10},
    "a slow rate": {"position": 40, "rate": 0.3},
    "near the head": {"position": 3, "rate": 10},
    "they fit in": {"position": 80, "rate": 2, "most": 100, "inside": 10, "stay": 1000},
    "capacity is the gate": {"position": 300, "rate": 10, "most": 100, "inside": 100, "stay": 100},
    "capacity is the gate, and all stay equally long": {
        "position": 300, "rate": 10, "most": 100, "inside": 100, "stay": 100, "regular": True
    },
    "the inside fills up first": {"position": 400, "rate": 5, "most": 200, "inside": 0, "stay": 120},
    "it fills up while as many come out": {"position": 900, "rate": 10, "most": 300, "inside": 150, "stay": 40},
    "more go in than there is capacity for, as others come out": {
        "position": 280, "rate": 4, "most": 200, "inside": 0, "stay": 100
    },
    "it never fills up": {"position": 500, "rate": 2, "most": 100, "inside": 95, "stay": 30},
    "it just never fills up": {"position": 500, "rate": 2, "most": 100, "inside": 100, "stay": 50},
    "max_active was lowered": {"position": 100, "rate": 10, "most": 50, "inside": 200, "stay": 60},
    "lowered, and the rate is low": {"position": 100, "rate": 0.5, "most": 50, "inside": 200, "stay": 60},
    "some give up": {"position": 500, "rate": 2, "leave_rate": 0.003},
    "most give up": {"position": 400, "rate": 0.5, "leave_rate": 0.01},
    "some give up while it fills": {
        "position": 600, "rate": 4, "most": 300, "inside": 20, "stay": 200, "leave_rate": 0.002
    },
    "some give up before a full capacity": {
        "position": 200, "rate": 10, "most": 20, "inside": 20, "stay": 60, "leave_rate": 0.001
    },
}  # fmt: skip


@pytest.mark.parametrize("name", EVENINGS)
def test_the_estimate_is_what_happens(name: str) -> None:
    evening = dict(EVENINGS[name])
    truth = [simulate(seed, **evening) for seed in range(RUNS)]
    waits = []
    for seed in range(RUNS):
        tokens, tick = at_next_tick(seed)
        wait = wait_of(
            evening["position"],
            {"admission_rate": evening["rate"], "max_active": evening.get("most", 10_000_000)},
            active=evening.get("inside", 0),
            stay_seconds=evening.get("stay", 0.0),
            leave_rate=evening.get("leave_rate", 0.0),
            now=10_000,
            tokens=tokens,
            tokens_at=9_000 + round(1000 * tick),
        )
        assert wait
        waits.append(wait)
    assert mean(wait.seconds for wait in waits) == pytest.approx(mean(truth), rel=0.15, abs=1)
    kept = sum(wait.low <= seconds <= wait.high for wait, seconds in zip(waits, truth, strict=True))
    assert kept >= 0.8 * RUNS


def inside_range(wait: Wait, truth: Sequence[float]) -> float:
    """The share of evenings whose wait is in the range."""
    return sum(wait.low <= seconds <= wait.high for seconds in truth) / len(truth)


def faded_mean(chance: random.Random, stay: float) -> float:
    """The mean stay as the store measures it, from people who stay by chance."""
    measured = 0.0
    for seen in range(1, 200):
        measured += (chance.expovariate(1 / stay) - measured) / min(seen, 50)
    return measured


def test_the_range_is_honest_about_a_stay_that_was_measured() -> None:
    kept = 0
    for seed in range(RUNS):
        wait = wait_of(
            300,
            {"admission_rate": 10, "max_active": 100},
            active=100,
            stay_seconds=faded_mean(random.Random(1000 + seed), 100),
        )
        assert wait
        kept += wait.low <= simulate(seed, 300, rate=10, most=100, inside=100, stay=100) <= wait.high
    assert kept >= 0.8 * RUNS


# Staff who call


def called_after(seed: int, position: int, mean_gap: float, leave_rate: float) -> float:
    """How long it takes staff, who take between half and one and a half times as long for each, to come to someone."""
    chance = random.Random(seed)
    ahead = [chance.expovariate(leave_rate) if leave_rate else float("inf") for _ in range(position - 1)]
    now = chance.uniform(0, mean_gap)
    while ahead := [gives_up for gives_up in ahead if gives_up > now]:
        ahead.pop(0)
        now += mean_gap * chance.uniform(0.5, 1.5)
    return now


@pytest.mark.parametrize("position", [1, 2, 10, 40])
@pytest.mark.parametrize("leave_rate", [0.0, 0.0005])
def test_staff_who_call_are_expected_to_go_on_as_they_did(position: int, leave_rate: float) -> None:
    truth = [called_after(seed, position, 120, leave_rate) for seed in range(RUNS)]
    wait = wait_of(position, {"admission": "manual"}, call_rate=1 / 120, calls_seen=5, leave_rate=leave_rate)
    assert wait
    assert wait.seconds == pytest.approx(mean(truth), rel=0.15, abs=90)  # nobody knows when they called last
    assert inside_range(wait, truth) >= 0.8


def test_rate_and_capacity_are_no_gates_where_staff_call() -> None:
    settings = {"admission": "manual", "admission_rate": 0.001, "max_active": 1}
    called = {"call_rate": 0.1, "calls_seen": 60}
    wait = wait_of(10, settings, active=1, stay_seconds=1000, **called)
    assert wait is not None
    assert wait == wait_of(10, {"admission": "manual"}, **called)


# Where nothing honest can be said


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"status": "paused"}, {}),
        ({"status": "maintenance"}, {}),
        ({"admission_rate": 0}, {}),
        ({"admission": "manual"}, {"call_rate": 0.0}),
        ({"admission": "manual"}, {"call_rate": 1 / 379, "calls_seen": 1}),  # ten minutes, as they fade
        ({"admission": "manual"}, {"call_rate": 1.0, "calls_seen": 2}),
        ({"admission": "manual"}, {"desks_open": 1, "cycles": 2, "cycle_seconds": 600}),
        ({"stock": 0}, {}),
        ({"stock": 100}, {"completed": 60, "active": 30, "admitted": 1}),
        ({"stock_url": "https://stock.example/"}, {}),
        ({"max_active": 5}, {"active": 5}),
        ({"max_active": 12}, {"active": 3}),
    ],
)
def test_nothing_is_promised_where_nothing_is_known(settings: dict[str, Any], seen: dict[str, Any]) -> None:
    assert wait_of(10, settings, **seen) is None


# Who can still be served before the day ends


def last_within(seconds: float, settings: dict[str, Any], **seen: Any) -> int | None:
    return Forecast(checked({"admission": "manual", **settings}), snapshot(**seen)).last_within(seconds, 50_000)


@pytest.mark.parametrize(
    "seen",
    [
        {"call_rate": 1 / 600, "calls_seen": 1},
        {"call_rate": 1.0, "calls_seen": 4},
        {"desks_open": 1, "cycles": 4, "cycle_seconds": 600},
    ],
)
def test_nobody_is_sent_away_for_a_few_calls(seen: dict[str, Any]) -> None:
    assert last_within(1, {}, **seen) is None


@pytest.mark.parametrize("leave_rate", [0.0, 0.0001, 0.01])
@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({}, {"desks_open": 1, "cycles": 5, "cycle_seconds": 600}),
        ({}, {"desks_open": 3, "cycles": 20, "cycle_seconds": 300}),
        ({"wait_sample": 3}, {"desks_open": 1, "cycles": 3, "cycle_seconds": 600}),
        ({}, {"call_rate": 1 / 60, "calls_seen": 10}),
        ({"admission": "auto", "admission_rate": 0.1}, {}),
    ],
)
def test_who_may_be_served_if_all_goes_well_is_not_sent_away(
    settings: dict[str, Any], seen: dict[str, Any], leave_rate: float
) -> None:
    forecast = Forecast(checked({"admission": "manual", **settings}), snapshot(leave_rate=leave_rate, **seen))
    last = forecast.last_within(3600, 50_000)
    lows = [wait.low for position in range(1, 5000) if (wait := forecast.wait(position))]
    late = [position for position, low in enumerate(lows, 1) if low > 3600]
    assert last == (late[0] - 1 if late else None)


def test_the_more_calls_were_seen_the_sooner_the_line_closes() -> None:
    lasts = [last_within(3600, {}, desks_open=1, cycles=many, cycle_seconds=600) for many in (5, 10, 20, 200)]
    assert lasts == sorted(lasts, key=lambda last: -(last or 0))
    assert None not in lasts
    assert 6 <= (lasts[-1] or 0) < (lasts[0] or 0) < 40


def test_the_last_piece_is_promised_and_no_more() -> None:
    seen = {"completed": 60, "active": 30}
    assert wait_of(10, {"stock": 100}, **seen)
    assert wait_of(11, {"stock": 100}, **seen) is None


def test_before_anyone_came_out_those_who_fit_in_are_told() -> None:
    settings = {"admission_rate": 2, "max_active": 12}
    counted = {"now": 1000, "tokens_at": 1000}
    waits = [wait_of(position, settings, active=2, **counted) for position in range(1, 15)]
    assert [wait.seconds if wait else None for wait in waits] == [p / 2 + 0.5 for p in range(1, 11)] + [None] * 4


# In any case


@given(
    rate=st.floats(0, 1000),
    most=st.integers(1, 10_000),
    inside=st.integers(0, 20_000),
    stay=st.just(0.0) | st.floats(0.01, 100_000),
    leave_rate=st.just(0.0) | st.floats(1e-12, 1),
    call_rate=st.just(0.0) | st.floats(1e-6, 100),
    calls_seen=st.floats(0, 100),
    manual=st.booleans(),
    positions=st.lists(st.integers(1, 1_000_000), min_size=2, max_size=6),
)
def test_nobody_waits_less_than_someone_ahead_of_them(
    rate: float,
    most: int,
    inside: int,
    stay: float,
    leave_rate: float,
    call_rate: float,
    calls_seen: float,
    manual: bool,
    positions: list[int],
) -> None:
    settings = {"admission": "manual" if manual else "auto", "admission_rate": rate, "max_active": most}
    seen = {
        "active": inside,
        "stay_seconds": stay,
        "leave_rate": leave_rate,
        "call_rate": call_rate,
        "calls_seen": calls_seen,
    }
    waits = [wait_of(position, settings, **seen) for position in sorted(positions)]
    told = [wait for wait in waits if wait]
    assert waits[: len(told)] == told, "behind a position without an estimate there is none either"
    assert [wait.seconds for wait in told] == sorted(wait.seconds for wait in told)
    for wait in told:
        assert 0 <= wait.low <= wait.seconds <= wait.high < math.inf


@pytest.mark.parametrize("rate", [5e-324, 2.3e-308, 2.4e-307, 1e-300])
def test_a_wait_without_end_is_not_told(rate: float) -> None:
    waits = [
        wait_of(position, {"admission_rate": rate}, leave_rate=leave_rate, stay_seconds=10.0)
        for position in (1, 2, 10, 1000)
        for leave_rate in (0.0, 1e-6, 1.0)
    ]
    assert all(wait is None or math.isfinite(wait.high) for wait in waits)


def test_while_a_desk_may_have_closed_the_range_holds_both() -> None:
    def at_desks(*silences: float) -> Wait:
        seen = {"desks_open": len(silences), "silences": silences, "cycles": 20, "cycle_seconds": 60}
        wait = wait_of(12, {"admission": "manual"}, cycle_spread=20, **seen)
        assert wait is not None
        return wait

    three, two = at_desks(20, 20, 20), at_desks(20, 20)
    assert three.high < two.seconds
    for silent in (80, 100, 150, 200):  # seconds, where a service takes 60
        doubt = at_desks(20, 20, silent)
        assert doubt.low <= three.seconds < two.seconds <= doubt.high, silent
        assert three.seconds <= doubt.seconds <= two.seconds, silent
    assert at_desks(20, 20, 600) == two  # nobody doubts any more that it has closed


def test_with_few_departures_the_share_that_leaves_is_in_doubt() -> None:
    def at_500(departures: int, head_joined: int) -> Wait:
        left = (float(departures),) * 4 + (0.0,) * 4
        ages = {"left_by_age": left, "waited_by_age": tuple(200 * each for each in left)}
        wait = wait_of(500, {"admission_rate": 5}, leave_rate=0.001, now=200_000, head_joined=head_joined, **ages)
        assert wait is not None
        return wait

    some, more, many = (at_500(departures, 20_000) for departures in (1, 10, 100))
    assert some.high - some.low > 1.2 * (more.high - more.low) > 1.5 * (many.high - many.low)
    # Nobody has waited long enough to be missed: more may have left.
    assert at_500(100, 190_000).low < 0.9 * many.low
