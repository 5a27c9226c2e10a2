"""Histories that chance comes to only after a long search, step by step."""

from __future__ import annotations

from typing import Any

from fairline.domain.order import PriorityPolicy
from fairline.domain.ticket import Action, Status
from fairline.store import Arrival
from tests.store.beside import StoreBesideModel
from tests.store.chances import FAR

Step = tuple[Any, ...]
SKIP, STRICT = ({"priority_policy": policy} for policy in PriorityPolicy)
WAITING, ADMITTED, ACTIVE = ([(status, 0)] for status in (Status.WAITING, Status.ADMITTED, Status.ACTIVE))
M = StoreBesideModel
HISTORIES: dict[str, list[Step]] = {
    "places within a turn run out": [
        (M.configure, STRICT, 0),
        (M.a_crowd_joins, 9, 1, 1),
        (M.configure, SKIP, 0),
        (M.a_crowd_joins, 11, 1, 1),
        *[(M.a_crowd_joins, 0, 0, level) for level in (2, 2, 3, 1, 2, 3, 3)],
    ],
    "no one is passed who shares a turn": [
        (M.configure, {"priority_skip": (0, 0.5, 0.5, 1)}, 0),
        (M.a_crowd_joins, 10, 0, 1),
        (M.a_crowd_joins, 2, 1, 1),
        (M.a_crowd_joins, 0, 0, 2),
    ],
    "a session is never longer than its cap": [
        (M.configure, {"session_seconds": 600, "session_max_seconds": 900}, 0),
        (M.some_are_called_and_start, 1),
        *[step for _ in range(3) for step in ((M.time_goes_on, 400.0), (M.visit, "touch", ACTIVE, b"me", 1))],
        (M.a_deadline_comes, 0, 1, FAR),
        (M.a_deadline_comes, 0, 0, FAR),
    ],
    "someone closes the page, comes back, and closes it for good": [
        (M.people_send_signs, "unload", WAITING),
        (M.time_goes_on, 29.999),
        (M.people_send_signs, "heartbeat", WAITING),
        (M.time_goes_on, 3.3),
        (M.people_send_signs, "unload", WAITING),
        (M.people_send_signs, "unload", WAITING),
        (M.a_deadline_comes, 0, 1, FAR),
        (M.a_deadline_comes, 0, 0, FAR),
    ],
    "someone closes the page, comes back, and is silent": [
        (M.pages_close, WAITING),
        (M.time_goes_on, 299.0),
        (M.people_send_signs, "heartbeat", WAITING),
        (M.a_deadline_comes, 0, 1, FAR),
        (M.a_deadline_comes, 0, 0, FAR),
    ],
    "someone is called, recalled and returned": [
        (M.a_crowd_joins, 3, 0, 2),
        (M.call_next, 2, "Desk 2", b"press-1", None),
        (M.act, Action.RECALL, ADMITTED),
        (M.act, Action.RETURN, ADMITTED),
        (M.call_next, 2, "Desk 2", b"press-1", None),
        (M.call_next, 1, "", b"", None),
    ],
    "someone called is put on hold, and stays there until released": [
        (M.a_crowd_joins, 3, 0, 2),
        (M.call_next, 2, "Desk 2", b"", None),
        (M.act, Action.HOLD, [(Status.ADMITTED, 0), (Status.ADMITTED, 1)]),
        *[(M.prioritise, (None, n), 3) for n in range(4)],
        *[(M.step_back, (None, n), 1, None) for n in range(4)],
        (M.call_next, 4, "Desk 2", b"", None),
        (M.act, Action.HOLD, ADMITTED),
        (M.act, Action.RELEASE, [(None, n) for n in range(4)]),
        (M.call_next, 4, "Desk 2", b"", None),
    ],
    "the only one there is is called and put on hold": [
        (M.a_crowd_joins, 0, 0, 0),
        (M.call_next, 1, "Desk 2", b"", None),
        (M.time_goes_on, 3.3),
        (M.act, Action.HOLD, ADMITTED),
        (M.prioritise, (None, 0), 0),
        (M.time_goes_on, 3.3),
        (M.act, Action.RELEASE, [(None, 0)]),
        (M.call_next, 1, "Desk 2", b"", None),
    ],
    "someone is removed and put back where the place was given to someone else": [
        (M.configure, STRICT, 0),
        (M.a_crowd_joins, 1, 1, 1),
        (M.configure, SKIP, 0),
        (M.act, Action.CANCEL, [(None, 1)]),
        (M.a_crowd_joins, 1, 3, 2),
        (M.act, Action.CANCEL, [(None, 3)]),
        (M.a_crowd_joins, 0, 0, 3),
        (M.act, Action.PUT_BACK, [(None, 3), (None, 1)]),
        (M.call_next, 20, "", b"", None),
    ],
    "a bucket fills up while nobody waits, and no further": [
        (M.configure, {"admission_rate": 2.5, "burst": 25}, 0),
        *[(M.a_crowd_and_some_ticks, n, 8, 3.0) for n in (0, 0, 60, 0, 20)],
    ],
    "who waits for the next token loses none": [
        (M.configure, {"admission_rate": 0.3}, 0),
        (M.a_crowd_and_some_ticks, 30, 8, 1.0),
        (M.a_crowd_and_some_ticks, 0, 8, 1.0),
        (M.time_goes_on, 1000.0),
        (M.a_crowd_and_some_ticks, 0, 8, 0.1),
    ],
    "the clock goes back between ticks": [
        (M.configure, {"admission_rate": 7.77}, 0),
        (M.a_crowd_and_some_ticks, 60, 3, 1.0),
        (M.time_goes_back, 4.5),
        (M.a_crowd_and_some_ticks, 60, 8, 1.0),
    ],
    "an order is drawn in two steps, while some leave, wait on hold and come": [
        (M.configure, {"admission_rate": 0, "heartbeat_timeout_seconds": 60}, 0),
        (M.a_crowd_joins, 9, 0, 2),
        (M.act, Action.HOLD, [(None, 2), (None, 4)]),
        (M.freeze_draw, "one", 3),
        (M.act, Action.CANCEL, [(None, 1), (None, 5)]),
        (M.place_drawn, "one", 0, 4),
        (M.a_crowd_joins, 2, 1, 3),
        (M.place_drawn, "one", 0, 1000),
        (M.act, Action.RELEASE, [(None, 2), (None, 4)]),
        (M.act, Action.PUT_BACK, [(None, 1), (None, 5)]),
        (M.step_back, (Status.WAITING, 3), 2, None),
        (M.place_drawn, "one", 0, 1000),
        (M.call_next, 20, "", b"", None),
    ],
    "an order is drawn by level": [
        (M.configure, STRICT, 0),
        *[(M.a_crowd_joins, 2, level, level) for level in (0, 1, 2)],
        (M.an_opening_from_its_beginning_to_its_start, 5, 3, 1, 1.0),
        (M.configure, SKIP, 0),
        *[(M.a_crowd_joins, 2, level, level) for level in (0, 1, 2, 3)],
    ],
    "nobody of a draw is left": [
        (M.a_crowd_joins, 3, 0, 1),
        (M.freeze_draw, "one", 0),
        (M.act, Action.CANCEL, [(None, n) for n in range(4)]),
        (M.time_goes_on, 20_000.0),
        (M.sweep, 1000, FAR, 0.0),
        (M.draw_members, 0, 5),
        (M.place_drawn, "one", 0, 1000),
        (M.freeze_draw, "two", 0),
    ],
    "a rate of nought": [
        (M.configure, {"admission_rate": 0, "burst": 25}, 0),
        (M.a_crowd_and_some_ticks, 30, 3, 1.0),
        (M.configure, {"admission_rate": 1}, 0),
        (M.a_crowd_and_some_ticks, 0, 3, 1.0),
    ],
    "stock is sold, given back, and sold again": [
        (M.configure, {"stock": 12, "admission_rate": 100}, 0),
        (M.a_crowd_and_some_ticks, 20, 2, 1.0),
        (M.visit, "start", [(Status.ADMITTED, n) for n in range(6)], b"me", 1),
        (M.act, Action.COMPLETE, [(Status.ACTIVE, n) for n in range(3)]),
        (M.a_crowd_and_some_ticks, 0, 2, 1.0),
        (M.act, Action.LEAVE, [(Status.ACTIVE, n) for n in range(3)]),
        (M.a_crowd_and_some_ticks, 0, 2, 1.0),
    ],
    "a priority pass is used up, and one ends": [
        (M.issue_or_withdraw_a_pass, "gold", 2, 2),
        (M.issue_or_withdraw_a_pass, "silver", 3, 1),
        *[(M.join, [Arrival(pass_id="gold", limited=False)] * 3)] * 2,
        (M.time_goes_on, 90.0),
        (M.join, [Arrival(pass_id="silver", limited=False)] * 2),
        (M.issue_or_withdraw_a_pass, "silver", 3, 1),
        (M.time_goes_on, 1000.0),
        (M.join, [Arrival(pass_id="silver", limited=False)]),
        (M.issue_or_withdraw_a_pass, "silver", None, 1),
    ],
    "a sweep is late, and then very late": [
        (M.a_crowd_joins, 3, 0, 0),
        *[step for late in (5.0, 7.5, 7.501) for step in ((M.time_goes_on, late), (M.sweep, 1000, 5.0, 0.0))],
    ],
    "the clock of the store is wrong for a day": [
        (M.a_crowd_joins, 3, 0, 0),
        (M.sweep, 1000, 5.0, 0.0),
        (M.time_goes_on, 86_400.0),
        (M.sweep, 1000, 5.0, 0.0),
        (M.time_goes_back, 86_395.0),
        (M.sweep, 1000, 5.0, 0.0),
        (M.a_deadline_comes, 0, 1, FAR),
        (M.a_deadline_comes, 0, 0, FAR),
    ],
}
