"""The table of transitions: what it must hold whatever is added to it."""

from __future__ import annotations

from itertools import product

import pytest

from fairline.domain.ticket import (
    LIVE,
    REASONS,
    TAKES_BACK,
    TRANSITIONS,
    WHILE_ON_HOLD,
    Action,
    Reason,
    Status,
    goes_to,
    label,
)

ENDED = frozenset(Status) - LIVE
#: A lapse has its reason from the state it ends; these are all it can have.
LAPSES = {
    Status.WAITING: {Reason.HEARTBEAT_TIMEOUT, Reason.LEFT},
    Status.ADMITTED: {Reason.CLAIM_TIMEOUT, Reason.NO_SHOW},
    Status.ACTIVE: {Reason.SESSION_TIMEOUT},
}


def test_all_that_leads_out_of_an_ended_ticket_takes_back_a_no_show_or_a_removal() -> None:
    assert {Status.COMPLETED, Status.EXPIRED} == ENDED
    assert [key for key in TRANSITIONS if key[0] in ENDED] == [(Status.EXPIRED, action) for action in TAKES_BACK]


def test_who_is_on_hold_can_be_released_or_go_and_nothing_else() -> None:
    for action in Action:
        kept = goes_to(Status.WAITING, action, on_hold=True)
        assert (kept is not None) == (action in WHILE_ON_HOLD), action
        assert kept in (None, Status.EXPIRED) or action in (Action.HEARTBEAT, Action.RELEASE), action


def test_who_is_not_on_hold_cannot_be_released() -> None:
    assert goes_to(Status.WAITING, Action.RELEASE) is None
    assert all(goes_to(*key) is to for key, to in TRANSITIONS.items() if key[1] is not Action.RELEASE)


def test_every_state_can_be_reached_from_waiting() -> None:
    reached = {Status.WAITING}
    for _ in Status:
        reached |= {to for (state, _), to in TRANSITIONS.items() if state in reached}
    assert reached == set(Status)


def test_every_action_is_possible_in_some_state() -> None:
    assert {action for _, action in TRANSITIONS} == set(Action)


def test_every_live_ticket_can_end() -> None:
    for state, action in product(LIVE, (Action.LEAVE, Action.REVOKE, Action.LAPSE)):
        assert TRANSITIONS[state, action] is Status.EXPIRED, (state, action)


def test_whatever_expires_a_ticket_leaves_a_reason() -> None:
    expiring = {action for (_, action), to in TRANSITIONS.items() if to is Status.EXPIRED}
    assert expiring == {*REASONS, Action.LAPSE}


def test_every_reason_can_come_about() -> None:
    assert {*REASONS.values(), *(reason for reasons in LAPSES.values() for reason in reasons)} == set(Reason)
    assert set(LAPSES) == {state for state, action in TRANSITIONS if action is Action.LAPSE}


def test_only_an_active_ticket_completes() -> None:
    assert [key for key, to in TRANSITIONS.items() if to is Status.COMPLETED] == [(Status.ACTIVE, Action.COMPLETE)]


def test_the_ways_in_are_admission_and_a_call() -> None:
    into = {action for (state, action), to in TRANSITIONS.items() if state is Status.WAITING and to is Status.ADMITTED}
    assert into == {Action.ADMIT, Action.CALL}
    assert not [to for (state, _), to in TRANSITIONS.items() if state is Status.WAITING and to is Status.ACTIVE]


def test_the_only_ways_back_are_a_return_to_the_line_and_the_undo_of_an_end() -> None:
    order = list(Status)
    back = [key for key, to in TRANSITIONS.items() if order.index(to) < order.index(key[0])]
    assert back == [
        (Status.ADMITTED, Action.RETURN),
        (Status.ADMITTED, Action.HOLD),
        (Status.EXPIRED, Action.REINSTATE),
        (Status.EXPIRED, Action.PUT_BACK),
    ]


def test_an_action_that_stays_in_its_state_only_stays_there() -> None:
    """A heartbeat, a recall or a touch is a sign of life; no state takes it for something else. Only a hold also takes
    someone who was called: back to the line, and on hold."""
    staying = {action for (state, action), to in TRANSITIONS.items() if to is state}
    in_line = {Action.HEARTBEAT, Action.PRIORITISE, Action.HOLD, Action.RELEASE, Action.STEP_BACK}
    assert staying == {*in_line, Action.RECALL, Action.TOUCH}
    for (state, action), to in TRANSITIONS.items():
        assert action not in staying or to is state or (state, action) == (Status.ADMITTED, Action.HOLD)


def test_the_documentation_has_the_same_table(pytestconfig: pytest.Config) -> None:
    page = (pytestconfig.rootpath / "docs/explanation/states.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    documented = {(row[0], row[1]) for row in rows if len(row) == 5}
    for state, action in product(Status, Action):
        is_there = (state, action.replace("_", "-")) in documented
        assert ((state, action) in TRANSITIONS) == is_there, (state, action)


def test_codes_in_records_never_change() -> None:
    """The order is written into stored records: new ones are appended."""
    assert [*Status][:5] == ["waiting", "admitted", "active", "completed", "expired"]
    assert [*Reason][:10] == [
        "heartbeat_timeout",
        "cancelled",
        "left",
        "claim_timeout",
        "no_show",
        "session_timeout",
        "terminated",
        "revoked",
        "transferred",
        "closed",
    ]


def test_a_label_is_what_a_desk_prints() -> None:
    numbers = (1, 123, 1_234_567)
    assert [label("DEMO", number) for number in numbers] == ["RDEMO-000001", "RDEMO-000123", "RDEMO-1234567"]


def test_a_label_by_series_or_by_day_has_its_serial() -> None:
    assert [label("DEMO", 4711, serial) for serial in ("A0012", "000007")] == ["RDEMO-A0012", "RDEMO-000007"]
