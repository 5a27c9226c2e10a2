"""An evening in virtual time: what is simulated is what the engine would do, the same every time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairline.errors import Invalid
from fairline.simulation.evening import Outcome, Simulation, simulate, simulation
from fairline.simulation.people import Scenario, Shape, Stays, draw_people, scenario


def evening(settings: dict[str, Any] | None = None, **given: Any) -> Scenario:
    plain = {"people": 300, "over_seconds": 60, "shape": "even", "stay_seconds": 30, "stays": "fixed"}
    return scenario({"admission_rate": 2, **(settings or {})}, **{**plain, **given})


# Who comes


def test_the_same_seed_is_the_same_crowd_and_another_is_not() -> None:
    assert draw_people(evening(shape="rush", seed=3)) == draw_people(evening(shape="rush", seed=3))
    assert draw_people(evening(shape="rush", seed=3)) != draw_people(evening(shape="rush", seed=4))


def test_arrivals_have_the_shape_asked_for() -> None:
    for shape, first_third in ((Shape.EVEN, 1 / 3), (Shape.POISSON, 1 / 3), (Shape.RUSH, 19 / 27)):
        crowd = draw_people(evening(people=10_000, over_seconds=900, shape=shape))
        times = [person.arrives for person in crowd]
        assert times == sorted(times), shape
        assert 0 <= times[0] <= times[-1] < 900, shape
        assert sum(time < 300 for time in times) / len(times) == pytest.approx(first_third, abs=0.02), shape


def test_stays_have_the_mean_asked_for() -> None:
    for stays in Stays:
        crowd = draw_people(evening(people=10_000, stay_seconds=120, stays=stays))
        assert sum(person.stays for person in crowd) / len(crowd) == pytest.approx(120, rel=0.03), stays


def test_what_makes_no_sense_is_refused_by_name() -> None:
    odd: list[tuple[dict[str, Any], str]] = [
        ({"people": 0}, "people"),
        ({"people": 2_000_000}, "people"),
        ({"over_seconds": -1}, "over_seconds"),
        ({"no_shows": 1.5}, "no_shows"),
        ({"shape": "square"}, "shape"),
        ({"stay_seconds": float("nan")}, "stay_seconds"),
        ({"settings": {"admission_rate": -1}}, "admission_rate"),
    ]
    for given, field in odd:
        with pytest.raises(Invalid) as caught:
            pytest.fail(f"{scenario(**given)} is taken")
        assert caught.value.field == field, given


# What happens


async def test_everyone_is_let_in_at_the_rate_and_the_waits_add_up() -> None:
    outcome = await simulate(evening({"burst": 1}))
    assert outcome.endings == {"completed": 300}
    assert [point.admitted for point in outcome.series[1:140]] == [2] * 139
    last = max(outcome.people, key=lambda person: person.number)
    assert last.waited == pytest.approx(90, abs=2)  # 300 people at 2 a second, who came within 60
    assert outcome.waits[-1] == last.waited
    assert outcome.peak.waiting == pytest.approx(180, abs=3)
    assert outcome.empty_at == pytest.approx(150, abs=2)
    assert sum(point.joined for point in outcome.series) == sum(point.admitted for point in outcome.series) == 300


async def test_the_same_scenario_is_the_same_evening() -> None:
    wanted = evening(
        people=100, over_seconds=30, shape="poisson", stays="exponential", no_shows=0.1, give_up=0.2, patience_seconds=9
    )
    assert await simulate(wanted) == await simulate(wanted)


async def test_capacity_is_never_exceeded_and_becomes_the_gate() -> None:
    outcome = await simulate(evening({"admission_rate": 50, "max_active": 40}, people=200))
    assert outcome.fullest.inside == 40
    assert outcome.endings == {"completed": 200}


async def test_no_shows_take_capacity_until_their_time_is_up_and_some_give_up() -> None:
    wanted = evening({"claim_seconds": 20}, no_shows=0.2, give_up=0.5, patience_seconds=10)
    outcome = await simulate(wanted)
    endings = outcome.endings
    never_came = [person for person in outcome.people if person.ending == "claim_timeout"]
    assert len(never_came) == pytest.approx(0.2 * len(outcome.waits), rel=0.4)
    assert all(20 <= (person.ended or 0) - (person.admitted or 0) <= 26 for person in never_came)
    assert endings["left"] > 50
    assert set(endings) == {"completed", "claim_timeout", "left"}


async def test_who_stays_long_keeps_the_session_by_page_views() -> None:
    settings = {"admission_rate": 10, "session_seconds": 20, "session_max_seconds": 100}
    short = await simulate(evening(settings, people=10, over_seconds=2, stay_seconds=70))
    assert short.endings == {"completed": 10}
    long = await simulate(evening(settings, people=10, over_seconds=2, stay_seconds=130))
    assert long.endings == {"session_timeout": 10}


async def test_a_full_line_refuses_and_the_rest_go_on() -> None:
    outcome = await simulate(evening({"admission_rate": 1, "max_queue_size": 50}, people=200, over_seconds=1))
    assert outcome.endings == {"completed": 50, "queue_full": 150}


async def test_it_ends_in_time_where_nobody_is_let_in() -> None:
    outcome = await simulate(evening({"status": "paused"}, people=5, at_most_seconds=120))
    assert outcome.endings == {"": 5}
    assert (outcome.series[-1].second, outcome.empty_at, outcome.wait_within(0.5)) == (119, None, None)


# Taking a hand in it


async def test_settings_change_at_a_moment_and_the_line_follows() -> None:
    async def open_wide(running: Simulation) -> None:
        assert running.second == 30
        await running.configure(admission_rate=20)

    outcome = await simulate(evening({"burst": 1}), moments=[(30, open_wide)])
    assert {point.admitted for point in outcome.series[2:30]} == {2}
    assert max(point.admitted for point in outcome.series[30:]) >= 20


async def test_a_forecast_can_be_taken_and_compared_with_what_comes() -> None:
    async with simulation(evening()) as running:
        await running.run_until(60)
        waiting = (await running.snapshot()).waiting
        expected = (await running.forecast()).wait(waiting)
        assert expected is not None
        await running.run_until(1000)
        outcome: Outcome = running.outcome()
    assert outcome.empty_at is not None
    assert outcome.empty_at - 60 == pytest.approx(expected.seconds, rel=0.1)
    assert outcome.estimates.share_within == 1.0


def test_the_example_of_the_documentation_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "try-an-evening-out.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    said: list[tuple[Any, ...]] = []
    exec(compile(code, "try-an-evening-out.md", "exec"), {"print": lambda *what: said.append(what)})
    ((wait, peak, share),) = said
    assert wait < 60
    assert peak > 100
    assert 0 <= share <= 1


async def test_progress_is_told_every_second() -> None:
    seconds: list[tuple[int, int]] = []
    await simulate(evening(people=10), on_progress=lambda running: seconds.append((running.second, running.left)))
    assert [second for second, _ in seconds] == list(range(1, len(seconds) + 1))
    assert seconds[-1][1] == 0


# An opening


async def test_nobody_is_let_in_before_the_start_and_those_who_came_before_are_drawn() -> None:
    outcome = await simulate(evening({"burst": 1}, opening=True, prequeue_seconds=30))
    assert outcome.endings == {"completed": 300}
    assert [point.admitted for point in outcome.series[:30]] == [0] * 30
    assert [point.admitted for point in outcome.series[31:170]] == [2] * 139
    opening = outcome.opening
    assert opening is not None
    before = [person for person in outcome.people if person.joined is not None and person.joined < 30]
    later = [person for person in outcome.people if person.joined is not None and person.joined >= 30]
    assert (opening.start, opening.came_before, opening.drawn) == (30, len(before), 150)
    assert all(person.position is None for person in before)
    admitted = [person.admitted or 0 for person in before]
    assert admitted != sorted(admitted), "they came in as they joined: nothing was drawn"
    assert max(admitted) <= min(person.admitted or 0 for person in later), "a later one was ahead of one who was drawn"
    assert [person.admitted for person in later] == sorted(person.admitted or 0 for person in later)
    assert opening.waits == sorted(each - 30 for each in admitted)


async def test_an_opening_without_a_draw_goes_by_when_people_came() -> None:
    outcome = await simulate(evening({"burst": 1}, opening=True, prequeue_seconds=30, draw=False))
    admitted = [person.admitted or 0 for person in outcome.people]
    assert admitted == sorted(admitted)
    assert admitted[0] >= 30
    assert outcome.opening is not None
    assert (outcome.opening.came_before, outcome.opening.drawn) == (150, 0)


async def test_the_same_seed_is_the_same_draw_and_those_who_left_are_not_in_it() -> None:
    def wanted(seed: int) -> Scenario:
        return evening(people=200, opening=True, prequeue_seconds=170, give_up=0.3, patience_seconds=20, seed=seed)

    first, again, other = [await simulate(wanted(seed)) for seed in (3, 3, 4)]
    assert first.people == again.people
    assert [person.admitted for person in first.people] != [person.admitted for person in other.people]
    opening = first.opening
    assert opening is not None
    assert 0 < opening.drawn < opening.came_before == 200
    assert opening.drawn == sum(person.ended is None or person.ended > 170 for person in first.people)
