"""The table of transitions: what it must hold whatever is added to it."""

from __future__ import annotations

from itertools import product

import pytest

from fairline.ticket import LIVE, REASONS, TRANSITIONS, Action, Reason, Status, label

ENDED = frozenset(Status) - LIVE
#: A lapse has its reason from the state it ends; these are all it can have.
LAPSES = {
    Status.WAITING: {Reason.HEARTBEAT_TIMEOUT, Reason.LEFT},
    Status.ADMITTED: {Reason.CLAIM_TIMEOUT, Reason.NO_SHOW},
    Status.ACTIVE: {Reason.SESSION_TIMEOUT},
}


def test_nothing_leads_out_of_an_ended_ticket() -> None:
    assert {Status.COMPLETED, Status.EXPIRED} == ENDED
    assert not [(state, action) for state, action in TRANSITIONS if state in ENDED]


def test_every_state_can_be_reached_from_waiting() -> None:
    reached = {Status.WAITING}
    for _ in Status:
        reached |= {to for (state, _), to in TRANSITIONS.items() if state in reached}
    assert reached == set(Status)


def test_every_action_is_possible_in_some_state() -> None:
    assert {action for _, action in TRANSITIONS} == set(Action)


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_ticket_can_end(state: Status) -> None:
    for action in (Action.LEAVE, Action.REVOKE, Action.LAPSE):
        assert TRANSITIONS[state, action] is Status.EXPIRED


def test_whatever_expires_a_ticket_leaves_a_reason() -> None:
    expiring = {action for (_, action), to in TRANSITIONS.items() if to is Status.EXPIRED}
    assert expiring == {*REASONS, Action.LAPSE}


def test_every_reason_can_come_about() -> None:
    assert {*REASONS.values(), *(reason for reasons in LAPSES.values() for reason in reasons)} == set(Reason)
    assert set(LAPSES) == {state for state, action in TRANSITIONS if action is Action.LAPSE}


def test_only_an_active_ticket_completes() -> None:
    assert [key for key, to in TRANSITIONS.items() if to is Status.COMPLETED] == [(Status.ACTIVE, Action.COMPLETE)]


def test_the_ways_into_the_room_are_admission_and_a_call() -> None:
    into = {action for (state, action), to in TRANSITIONS.items() if state is Status.WAITING and to is Status.ADMITTED}
    assert into == {Action.ADMIT, Action.CALL}
    assert not [to for (state, _), to in TRANSITIONS.items() if state is Status.WAITING and to is Status.ACTIVE]


def test_the_only_way_back_is_a_return_to_the_line() -> None:
    order = list(Status)
    back = [key for key, to in TRANSITIONS.items() if order.index(to) < order.index(key[0])]
    assert back == [(Status.ADMITTED, Action.RETURN)]


def test_an_action_that_stays_in_its_state_only_stays_there() -> None:
    """A beat, a recall or a touch is a sign of life; no state takes it for something else."""
    staying = {action for (state, action), to in TRANSITIONS.items() if to is state}
    assert staying == {Action.BEAT, Action.PRIORITISE, Action.RECALL, Action.TOUCH}
    for (state, action), to in TRANSITIONS.items():
        assert action not in staying or to is state


@pytest.mark.parametrize(("state", "action"), [*product(Status, Action)])
def test_the_documentation_has_the_same_table(state: Status, action: Action, documented: set[tuple[str, str]]) -> None:
    assert ((state, action) in TRANSITIONS) == ((state, action.replace("_", "-")) in documented)


@pytest.fixture(scope="module")
def documented(pytestconfig: pytest.Config) -> set[tuple[str, str]]:
    """The first two columns of the table in states.md."""
    page = (pytestconfig.rootpath / "docs/explanation/states.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    return {(row[0], row[1]) for row in rows if len(row) == 5}


def test_codes_in_records_never_change() -> None:
    """The order is written into stored records: new ones are appended."""
    assert [*Status][:5] == ["waiting", "admitted", "active", "completed", "expired"]
    assert [*Reason][:8] == [
        "heartbeat_timeout",
        "cancelled",
        "left",
        "claim_timeout",
        "no_show",
        "session_timeout",
        "terminated",
        "revoked",
    ]


@pytest.mark.parametrize(
    ("number", "printed"), [(1, "RDEMO-000001"), (123, "RDEMO-000123"), (1_234_567, "RDEMO-1234567")]
)
def test_a_label_is_what_a_counter_prints(number: int, printed: str) -> None:
    assert label("DEMO", number) == printed
