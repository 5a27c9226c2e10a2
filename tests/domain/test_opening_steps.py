"""The steps of an opening: when each is due, and the settings that it leaves."""

from __future__ import annotations

from datetime import datetime

import pytest
from msgspec.structs import replace

from fairline.domain.opening import (
    HELD_BACK,
    After,
    OpeningState,
    Phase,
    milliseconds,
)
from fairline.domain.opening_steps import (
    Step,
    activated,
    begun,
    current_opening,
    due_step,
    ended,
    next_opening,
)
from fairline.domain.queue_settings import QueueStatus
from fairline.domain.settings_checks import checked
from tests.domain.openings import NIGHT, SETTINGS, TEN, advanced, at, drawn, opening, planned, the, values

# The steps


def test_an_opening_with_a_draw_begins_closes_draws_opens_and_ends() -> None:
    settings = planned(drawn(draw_grace_seconds=30))
    seen: list[tuple[object, object]] = []
    for _ in range(4):
        due = due_step(settings)
        assert due
        seen.append((due.step, (due.at - milliseconds(TEN)) / 60_000))
        settings = advanced(settings, 1)
        seen.append((the(settings).state, settings.phase))
    assert seen == [
        (Step.BEGIN, -60.0),
        (OpeningState.PREQUEUE, Phase.PREQUEUE),
        (Step.CLOSE, 0.5),
        (OpeningState.DRAWING, Phase.DRAWING),
        (Step.DRAW, 0.5),
        (OpeningState.OPEN, Phase.OPEN),
        (Step.END, 120.0),
        (OpeningState.ENDED, Phase.NONE),
    ]
    assert due_step(settings) is None
    assert the(settings).count == 12


def test_without_a_draw_the_prequeue_opens_at_the_start() -> None:
    settings = advanced(planned(opening(prequeue_at=at(-60))), 1)
    due = due_step(settings)
    assert due
    assert (settings.phase, due.step, due.at) == (Phase.PREQUEUE, Step.OPEN, milliseconds(TEN))
    settings = advanced(settings, 1)
    assert (settings.phase, the(settings).count) == (Phase.OPEN, 0)
    assert due_step(settings) is None, "it has no end"


def test_without_a_prequeue_it_begins_and_opens_at_the_same_moment() -> None:
    settings = planned(opening(ends_at=at(5)))
    first = due_step(settings)
    second = due_step(advanced(settings, 1))
    assert first
    assert second
    assert [(each.step, each.at) for each in (first, second)] == [
        (Step.BEGIN, milliseconds(TEN)),
        (Step.OPEN, milliseconds(TEN)),
    ]


def test_phases_hold_people_back_before_the_start_only() -> None:
    settings = planned(drawn())
    held = [advanced(settings, steps).held_back for steps in range(5)]
    assert held == [False, True, True, False, False]
    assert {Phase.PREQUEUE, Phase.DRAWING} == HELD_BACK


def test_its_settings_are_in_force_from_its_beginning_to_its_end() -> None:
    settings = planned(drawn())
    during = {**values(SETTINGS), **values(checked(NIGHT)), "name": "Sale", "status": QueueStatus.ACTIVE}
    found = [values(advanced(settings, steps)) for steps in range(5)]
    for steps in (1, 2, 3):
        assert {name: found[steps][name] for name in NIGHT} == NIGHT, steps
        assert found[steps] == {**values(SETTINGS), **NIGHT, "status": QueueStatus.ACTIVE}, steps
    assert during["name"] == found[1]["name"]
    assert found[4] == found[0] == values(SETTINGS)
    assert the(advanced(settings, 4)).before == {}


def test_what_somebody_changes_meanwhile_stays_and_what_the_opening_had_changed_goes_back() -> None:
    settings = advanced(planned(drawn()), 3)
    settings = checked({"admission_rate": 99.0, "claim_seconds": 77.0}, settings)
    after = advanced(settings, 1)
    assert (after.admission_rate, after.max_active, after.claim_seconds) == (9.0, 50, 77.0)


def test_its_end_may_close_the_queue() -> None:
    open_before = checked({"status": "active"}, SETTINGS)
    for base, after, status in (
        (SETTINGS, After.RESTORE, QueueStatus.MAINTENANCE),
        (open_before, After.RESTORE, QueueStatus.ACTIVE),
        (open_before, After.CLOSE, QueueStatus.MAINTENANCE),
    ):
        settings = planned(drawn(after=after), settings=base)
        assert advanced(settings, 3).status is QueueStatus.ACTIVE
        assert advanced(settings, 4).status is status


@pytest.mark.parametrize("minutes", [30, 120])
def test_a_queue_that_an_opening_closes_is_not_opened_again_by_an_earlier_opens_at(minutes: int) -> None:
    base = checked({"opens_at": at(minutes).isoformat()}, SETTINGS)
    settings = planned(drawn(after=After.CLOSE), settings=base)
    late = begun(settings, the(settings), milliseconds(at(121)))
    for after in (advanced(settings, 4), late):
        assert (after.status, due_step(after)) == (QueueStatus.MAINTENANCE, None)


def test_a_queue_that_an_opening_closes_still_opens_at_a_later_opens_at() -> None:
    base = checked({"opens_at": at(121).isoformat()}, SETTINGS)
    due = due_step(advanced(planned(drawn(after=After.CLOSE), settings=base), 4))
    assert due
    assert (due.step, due.at) == (Step.ACTIVATE, milliseconds(at(121)))


def test_stock_is_added_at_the_start_and_stays() -> None:
    for before, after in ((None, 40), (0, 40), (3, 43)):
        settings = planned(drawn(add_stock=40), settings=checked({"stock": before}, SETTINGS))
        stocks = [advanced(settings, steps).stock for steps in range(5)]
        assert stocks == [before, before, before, after, after]


def test_settings_that_an_opening_does_not_have_any_more_are_left_out_when_it_ends() -> None:
    settings = advanced(planned(drawn()), 3)
    old = replace(the(settings), before={**the(settings).before, "a_setting_of_an_earlier_version": 1})
    assert ended(replace(settings, openings=(old,)), old).max_active == 50


def test_a_missed_opening_ends_without_having_begun() -> None:
    for after, status in ((After.RESTORE, QueueStatus.ACTIVE), (After.CLOSE, QueueStatus.MAINTENANCE)):
        base = checked({"status": "active"}, SETTINGS)
        settings = planned(drawn(after=after), settings=base)
        over = begun(settings, the(settings), milliseconds(at(120)))
        assert (the(over).state, the(over).missed, over.phase) == (OpeningState.ENDED, True, Phase.NONE)
        assert (over.status, over.max_active) == (status, 50)
        assert due_step(over) is None
    settings = planned(drawn())
    late = begun(settings, the(settings), milliseconds(at(120)) - 1)
    assert (the(late).state, the(late).missed) == (OpeningState.PREQUEUE, False)


def test_steps_of_several_openings_come_one_after_the_other() -> None:
    second = opening("b", starts_at=at(120), ends_at=at(180), settings={"max_active": 3})
    settings = planned(second, drawn())
    assert [each.id for each in settings.openings] == ["a", "b"]
    order = []
    while due := due_step(settings):
        assert due.opening
        order.append((due.opening.id, due.step.value, settings.max_active))
        settings = advanced(settings, 1)
    assert order == [
        ("a", "begin", 50),
        ("a", "close", 7),
        ("a", "draw", 7),
        ("a", "end", 7),
        ("b", "begin", 50),
        ("b", "open", 3),
        ("b", "end", 3),
    ]
    assert values(settings) == values(SETTINGS)


def test_a_queue_in_maintenance_opens_at_opens_at() -> None:
    settings = checked({"opens_at": "2027-01-15T11:00:00+01:00"}, SETTINGS)
    due = due_step(settings)
    assert due
    assert (due.step, due.at, due.opening) == (Step.ACTIVATE, milliseconds(TEN), None)
    after = activated(settings)
    assert (after.status, after.opens_at) == (QueueStatus.ACTIVE, "")
    assert due_step(after) is None
    for status in ("active", "paused"):
        assert due_step(checked({"status": status}, settings)) is None, status


def test_the_opening_in_progress_and_the_next_one() -> None:
    second = opening("b", starts_at=at(120))
    settings = planned(drawn(), second)
    found = []
    for steps in range(5):
        now = advanced(settings, steps)
        current, following = current_opening(now), next_opening(now)
        found.append((current and current.id, following and following.id))
    assert found == [(None, "a"), ("a", "a"), ("a", "a"), ("a", "b"), (None, "b")]
    assert next_opening(SETTINGS) is None


# Times


def test_times_are_moments_whatever_their_offset() -> None:
    texts = ["2027-01-15T10:00:00Z", "2027-01-15T19:00:00+09:00", "2027-01-15T04:30:00-05:30"]
    found = {opening(starts_at=datetime.fromisoformat(text)).starts_ms for text in texts}
    assert found == {milliseconds(TEN)}


def test_the_hours_that_summer_time_skips_and_repeats_are_as_long_as_they_are() -> None:
    """In Berlin the clock goes from 02:00 to 03:00 on 28 March 2027, and from 03:00 to 02:00 on 31 October."""
    for prequeue, start, end in (
        ("2027-03-28T01:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-28T03:30:00+02:00"),
        ("2027-10-31T02:00:00+02:00", "2027-10-31T02:30:00+02:00", "2027-10-31T02:00:00+01:00"),
    ):
        times = [datetime.fromisoformat(text) for text in (prequeue, start, end)]
        settings = planned(drawn(prequeue_at=times[0], starts_at=times[1], ends_at=times[2]))
        steps = []
        while due := due_step(settings):
            steps.append(due.at)
            settings = advanced(settings, 1)
        begins = steps[0]
        assert [(each - begins) / 60_000 for each in steps] == [0, 30, 30, 60]
