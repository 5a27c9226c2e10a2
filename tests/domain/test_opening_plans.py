"""What may be planned, changed, deleted and restored of openings; what is refused says why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairline.domain.opening import (
    ENDED_OPENINGS_KEPT,
    MOST_OPENINGS,
    After,
    DrawKind,
    Opening,
    OpeningState,
    Phase,
    milliseconds,
)
from fairline.domain.opening_steps import (
    checked_with_openings,
    due_step,
    in_force,
    removed,
    with_changed,
    with_new,
    with_openings_of,
    without,
)
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.settings_checks import checked
from fairline.errors import (
    DrawUnderWay,
    FairlineError,
    InvalidRequest,
    InvalidSettings,
    OpeningOverlaps,
    TooManyOpenings,
)
from tests.domain.openings import NIGHT, NOW, SETTINGS, TEN, advanced, at, drawn, opening, planned, the, values


def due_at(settings: QueueSettings) -> datetime:
    due = due_step(settings)
    assert due
    return datetime.fromtimestamp(due.at / 1000, UTC)


# What may be planned


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"starts_at": TEN - timedelta(days=1)}, "starts_at", "must be in the future"),
        ({"prequeue_at": at(0)}, "prequeue_at", "at least a second before starts_at"),
        ({"prequeue_at": at(1)}, "prequeue_at", "at least a second before starts_at"),
        ({"ends_at": at(0)}, "ends_at", "at least a second after starts_at"),
        (
            {"prequeue_at": at(-5), "draw": DrawKind.RANDOM, "draw_grace_seconds": 60, "ends_at": at(1)},
            "ends_at",
            "after draw_grace_seconds",
        ),
        ({"draw": DrawKind.RANDOM}, "prequeue_at", "is needed with a draw"),
        ({"draw_grace_seconds": 5}, "draw_grace_seconds", "is for a draw"),
        ({"settings": {"opens_at": ""}}, "opens_at", "cannot be a setting of an opening"),
        ({"settings": {"status": "paused"}}, "status", "must be active in an opening"),
        ({"settings": {"max_activ": 5}}, "max_activ", "is not a queue setting"),
        ({"settings": {"max_active": 0}}, "max_active", "must be a whole number from 1"),
        ({"settings": {"openings": []}}, "openings", "is not a queue setting"),
        ({"settings": {"session_seconds": 90_000.0}}, "session_max_seconds", "must be at least session_seconds"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(fields: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises((InvalidRequest, InvalidSettings), match=words) as refused:
        with_new(SETTINGS, opening(**fields), NOW)
    assert refused.value.field == field


def test_the_shortest_opening_there_is() -> None:
    second = timedelta(seconds=1)
    settings = planned(drawn(prequeue_at=TEN - second, ends_at=TEN + second))
    assert the(settings).begins_ms + 2000 == the(settings).ends_ms


def test_openings_of_a_queue_may_touch_and_never_overlap() -> None:
    first = drawn()
    for prequeue, start, end in ((-180, -120, -60), (120, 121, None), (120, 121, 180), (-61, -60.5, -60)):
        planned(first, opening("b", prequeue_at=at(prequeue), starts_at=at(start), ends_at=end and at(end)))
    for prequeue, start, end in (
        (-180, -120, -59),
        (-180, -120, None),
        (-59, 0, 1),
        (-120, 60, 180),
        (119, 121, 180),
        (0, 5, None),
    ):
        other = opening("b", prequeue_at=at(prequeue), starts_at=at(start), ends_at=end and at(end))
        for one, another in ((first, other), (other, first)):
            with pytest.raises(OpeningOverlaps, match=f"overlaps with the opening '{one.name}'"):
                planned(one, another)


def test_the_refusal_says_where_an_opening_without_an_end_is_in_the_way() -> None:
    with pytest.raises(OpeningOverlaps, match="which has no end") as refused:
        planned(Opening(id="a", starts_at=TEN), opening("b", starts_at=at(10_000)))
    assert refused.value.other == "a", "without a name, its id"


def test_an_opening_that_has_ended_is_in_nobodys_way() -> None:
    settings = advanced(planned(drawn()), 4)
    assert len(with_new(settings, drawn(id="b"), NOW).openings) == 2


def test_a_queue_has_a_bounded_number_of_openings() -> None:
    day = timedelta(days=1)
    many = [
        Opening(id=f"{n:03}", starts_at=TEN + n * day, ends_at=TEN + n * day + timedelta(hours=1))
        for n in range(MOST_OPENINGS)
    ]
    settings = planned(*many)
    with pytest.raises(TooManyOpenings, match="at most 200"):
        with_new(settings, opening("more", starts_at=TEN + 999 * day), NOW)
    for kept in (1, 5, ENDED_OPENINGS_KEPT, ENDED_OPENINGS_KEPT, ENDED_OPENINGS_KEPT):
        while sum(each.state is OpeningState.ENDED for each in settings.openings) < kept:
            settings = advanced(settings, 3)
    settings = advanced(settings, 3 * 10)
    over = [each.id for each in settings.openings if each.state is OpeningState.ENDED]
    assert over == [f"{n:03}" for n in range(10, 10 + ENDED_OPENINGS_KEPT)], "the newest are kept"
    assert len(settings.openings) == MOST_OPENINGS - 10


def test_the_settings_in_force_are_those_of_the_queue_then() -> None:
    settings = planned(drawn())
    changed = checked({"claim_seconds": 77.0}, settings)
    assert values(in_force(changed, the(changed))) == values(advanced(changed, 1))


def test_a_change_of_settings_is_refused_if_an_opening_to_come_could_not_have_them() -> None:
    settings = planned(drawn(settings={"session_seconds": 4000.0}))
    with pytest.raises(InvalidSettings, match="in the opening 'A'"):
        checked_with_openings({"session_seconds": 60.0, "session_max_seconds": 3600.0}, settings)
    assert checked_with_openings({"session_max_seconds": 4000.0}, settings).session_max_seconds == 4000.0
    over = advanced(settings, 4)
    changed = checked_with_openings({"session_seconds": 60.0, "session_max_seconds": 3600.0}, over)
    assert changed.session_max_seconds == 3600.0


# What may be changed


def test_before_it_begins_all_of_it_can_be_changed() -> None:
    settings = planned(drawn())
    before = the(settings)
    other = replace(drawn(starts_at=at(30), settings={"stock": 5}, add_stock=3, recheck_inside=True), name="Later")
    changed = with_changed(settings, before, other, NOW)
    assert changed.openings == (other,)
    assert values(changed) == values(settings)
    with pytest.raises(InvalidRequest, match="must be in the future"):
        with_changed(settings, before, replace(before, starts_at=at(-2000)), NOW)


FIXED = {
    OpeningState.PREQUEUE: {"prequeue_at", "add_stock", "recheck_inside", "draw"},
    OpeningState.OPEN: {"prequeue_at", "add_stock", "recheck_inside", "starts_at", "draw", "draw_grace_seconds"},
}


@pytest.mark.parametrize(("steps", "state"), [(1, "prequeue"), (3, "open")])
def test_of_an_opening_in_progress_only_what_lies_ahead_can_be_changed(steps: int, state: str) -> None:
    settings = advanced(planned(drawn()), steps)
    before = the(settings)
    changes: dict[str, Any] = {
        "prequeue_at": at(-50),
        "add_stock": 5,
        "recheck_inside": True,
        "starts_at": at(10),
        "draw": DrawKind.NONE,
        "draw_grace_seconds": 60,
        "name": "Another",
        "ends_at": at(600),
        "after": After.CLOSE,
    }
    fixed = FIXED[before.state]
    for field, value in changes.items():
        other = replace(before, **{field: value})
        if field in fixed:
            with pytest.raises(InvalidRequest, match=f"cannot be changed any more: the opening is {state}") as refused:
                with_changed(settings, before, other, milliseconds(at(5)))
            assert refused.value.field == field
            continue
        changed = with_changed(settings, before, other, milliseconds(at(5)))
        assert the(changed) == other
        assert values(changed) == values(settings)
        assert changed.phase == settings.phase


def test_the_start_of_an_opening_in_its_prequeue_can_be_moved_to_a_time_to_come_only() -> None:
    settings = advanced(planned(drawn()), 1)
    before = the(settings)
    assert due_at(with_changed(settings, before, replace(before, starts_at=at(-30)), milliseconds(at(-31)))) == at(-30)
    with pytest.raises(InvalidRequest, match="must be in the future"):
        with_changed(settings, before, replace(before, starts_at=at(-30)), milliseconds(at(-30)))
    late = with_changed(settings, before, replace(before, name="x"), milliseconds(at(1)))
    assert the(late).name == "x", "whatever does not change the start"


def test_while_the_order_is_drawn_nothing_changes() -> None:
    settings = advanced(planned(drawn()), 2)
    before = the(settings)
    with pytest.raises(DrawUnderWay):
        with_changed(settings, before, replace(before, name="x"), milliseconds(at(1)))
    with pytest.raises(DrawUnderWay):
        without(settings, before)
    assert checked_with_openings({"max_active": 3}, settings).phase is Phase.DRAWING


def test_changed_settings_of_an_opening_in_progress_are_in_force_at_once_and_go_back_at_its_end() -> None:
    settings = advanced(planned(drawn()), 3)
    other = replace(the(settings), settings={"max_active": 3, "claim_seconds": 5.0})
    changed = with_changed(settings, the(settings), other, milliseconds(at(5)))
    assert (changed.max_active, changed.claim_seconds, changed.admission_rate) == (3, 5.0, 9.0)
    assert changed.status is QueueStatus.ACTIVE
    assert values(advanced(changed, 1)) == values(SETTINGS)


def test_a_change_of_an_opening_in_progress_leaves_what_staff_have_changed_in_the_queue() -> None:
    night = {"admission_rate": 2.5, "stock": 100}
    opened = advanced(planned(drawn(add_stock=50, settings=night)), 3)
    assert opened.stock == 150
    staff = checked({"status": "paused", "admission_rate": 99.0, "claim_seconds": 77.0}, opened)
    for fields, rate in (
        ({"name": "x", "ends_at": at(90)}, 99.0),
        ({"settings": {**night, "admission_rate": 3.0}}, 3.0),
    ):
        changed = with_changed(staff, the(staff), replace(the(staff), **fields), milliseconds(at(5)))
        assert changed.status is QueueStatus.PAUSED, "it was paused by hand"
        assert (changed.admission_rate, changed.stock, changed.claim_seconds) == (rate, 150, 77.0)
        after = advanced(changed, 1)
        assert (after.status, after.admission_rate, after.stock) == (QueueStatus.MAINTENANCE, 9.0, None)


def test_an_opening_in_progress_is_checked_like_any_other() -> None:
    settings = advanced(planned(drawn(), opening("b", starts_at=at(180))), 3)
    before = the(settings)
    for fields, error in (
        ({"ends_at": at(200)}, OpeningOverlaps),
        ({"ends_at": None}, OpeningOverlaps),
        ({"ends_at": at(0)}, InvalidRequest),
        ({"settings": {"max_active": 0}}, InvalidSettings),
    ):
        with pytest.raises(error):
            with_changed(settings, before, replace(before, **fields), milliseconds(at(5)))


def test_an_opening_that_has_ended_cannot_be_changed() -> None:
    settings = advanced(planned(drawn()), 4)
    with pytest.raises(InvalidRequest, match="Copy it to a new one"):
        with_changed(settings, the(settings), replace(the(settings), name="x"), NOW)


# Deleting and undoing


@pytest.mark.parametrize("steps", [0, 1, 3, 4])
def test_deleted_at_any_state_it_leaves_the_settings_from_before_it(steps: int) -> None:
    other = opening("b", starts_at=at(500))
    settings = advanced(planned(drawn(after=After.CLOSE), other), steps)
    after = without(settings, the(settings))
    assert [each.id for each in after.openings] == ["b"]
    assert after.phase is Phase.NONE
    assert values(after) == values(SETTINGS)
    following = due_step(after)
    assert following
    assert following.opening == other


def test_a_deleted_opening_that_is_not_in_progress_leaves_another_one_in_progress() -> None:
    settings = advanced(planned(drawn(), opening("b", starts_at=at(500))), 2)
    after = without(settings, the(settings, "b"))
    assert (after.phase, after.openings) == (Phase.DRAWING, (the(settings),))
    assert values(after) == values(settings)


def test_restored_settings_bring_back_what_had_not_begun() -> None:
    settings = planned(drawn())
    changed = checked({"max_active": 99}, planned(opening("b", starts_at=at(500))))
    restored = with_openings_of(settings, changed, NOW)
    assert restored == settings
    assert with_openings_of(changed, restored, NOW) == changed


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_restored_settings_leave_an_opening_in_progress_as_far_as_it_is(steps: int) -> None:
    earlier = planned(drawn(), opening("b", starts_at=at(500)), settings=checked({"max_active": 3, "name": "Old"}))
    present = advanced(planned(drawn()), steps)
    restored = with_openings_of(earlier, present, NOW)
    assert the(restored) == the(present)
    assert restored.phase == present.phase
    assert [each.id for each in restored.openings] == ["a", "b"]
    assert (restored.name, restored.status) == ("Old", QueueStatus.ACTIVE)
    assert {name: values(restored)[name] for name in NIGHT} == NIGHT
    ending = advanced(restored, 4 - steps)
    assert (ending.max_active, ending.status, ending.name) == (50, QueueStatus.MAINTENANCE, "Old")


def test_restored_settings_from_within_an_opening_do_not_begin_it_again() -> None:
    present = advanced(planned(drawn()), 4)
    for steps in range(1, 4):
        restored = with_openings_of(advanced(planned(drawn()), steps), present, NOW)
        assert restored.openings == present.openings
        assert restored.phase is Phase.NONE
        assert due_step(restored) is None
        assert {name: values(restored)[name] for name in NIGHT} == {name: values(SETTINGS)[name] for name in NIGHT}


def test_an_opening_whose_time_has_passed_or_is_taken_is_not_restored() -> None:
    earlier = planned(opening("b", starts_at=at(500)))
    begins = the(earlier, "b").begins_ms
    assert with_openings_of(earlier, SETTINGS, begins - 1).openings == earlier.openings
    assert with_openings_of(earlier, SETTINGS, begins).openings == ()
    endless = advanced(planned(opening("c")), 2)
    assert [each.id for each in with_openings_of(earlier, endless, NOW).openings] == ["c"]


def test_what_a_change_no_longer_keeps() -> None:
    settings = planned(drawn(), opening("b", starts_at=at(500)))
    assert removed(settings, settings) == []
    assert removed(settings, without(settings, the(settings, "b"))) == ["b"]
    assert removed(settings, advanced(settings, 4)) == []
    assert removed(SETTINGS, settings) == []


def test_a_refused_opening_changes_nothing() -> None:
    settings = planned(drawn())
    before = msgspec.json.encode(settings)
    with pytest.raises(FairlineError):
        with_new(settings, opening("b"), NOW)
    assert msgspec.json.encode(settings) == before
