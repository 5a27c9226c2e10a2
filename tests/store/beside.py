"""The store and the plain model of tests/model: everything is done to both, and all answers are compared."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.order import PriorityPolicy
from fairline.domain.queue_settings import QueueStatus
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import LIVE, Action, Status, Went
from fairline.store import MAX_BATCH, Arrival, Visit, Visitor
from fairline.store.contract import ACTS
from tests.model.records import Entry
from tests.store.beside_draws import DrawRules
from tests.store.chances import FAR, Pick, arrivals, changes, levels, one_of, picks, some, waiting_picks, who
from tests.store.remains import left_over


class StoreBesideModel(DrawRules):
    """Does everything to both, and compares every answer and, after each step, everything there is to see."""

    @initialize(changed=changes, count=st.integers(0, 40), seconds=one_of(0, 100))
    def begin(self, changed: dict[str, Any], count: int, seconds: float) -> None:
        self.configure({**changed, "status": QueueStatus.ACTIVE}, 0)
        self.a_crowd_joins(count, 0, 0)
        self.clock.advance(seconds)

    def numbers(self, chosen: list[Pick]) -> list[int]:
        return [self.number(pick) for pick in chosen]

    def number(self, pick: Pick) -> int:
        status, n = pick
        if status and not self.model.having(status):
            self.make_one(status)
        among = [t.number for t in self.model.having(status)] if status else []
        among = among or [*range(1, self.model.number + 2)]
        return among[n % len(among)]

    def make_one(self, status: Status) -> None:
        """Bring someone into a state, unless the settings are against it."""
        if not self.model.having(Status.WAITING):
            self.a_crowd_joins(3, 0, 0)
        if status is Status.ADMITTED:
            self.call_next(1, "Desk 1", b"", None)
        elif status is Status.ACTIVE:
            self.some_are_called_and_start(2)

    # Joining

    @rule(group=st.lists(arrivals, min_size=1, max_size=4))
    def join(self, group: list[Arrival]) -> None:
        self.both(self.store.join(self.queue, group), lambda: [self.join_one(arrival) for arrival in group])

    @rule(count=st.integers(1, 30), most=one_of(0, 0, 1, 2), last=levels)
    def a_crowd_joins(self, count: int, most: int, last: int) -> None:
        crowd = [Arrival(limited=False, priority=level) for level in [most] * count + [last]]
        self.both(self.store.join(self.queue, crowd), lambda: [self.join_one(arrival) for arrival in crowd])

    @rule(count=st.integers(1, 4))
    def some_go_straight_through(self, count: int) -> None:
        crowd = [Arrival(limited=False, through=True)] * count
        self.both(self.store.join(self.queue, crowd), lambda: [self.join_one(arrival) for arrival in crowd])

    @rule(pick=waiting_picks, many=one_of(1, 2, 3), late=one_of(0, 0, 0, 1), who=who)
    def friends_join(self, pick: Pick, many: int, late: int, who: bytes) -> None:
        number = self.number(pick)
        self.both(self.store.group(self.queue, number), lambda: self.model.group(number))
        group = self.model.group(number)
        code = (group.first, group.joined + late) if group else (number, 1)
        friends = [Arrival(limited=False, group=code)] * many + [Arrival(client=who, user=who, group=code)]
        self.both(self.store.join(self.queue, friends), lambda: [self.model.join(friend) for friend in friends])

    def join_one(self, arrival: Arrival) -> Any:
        before, last = self.model.line(), self.model.number
        joined = self.model.join(arrival)
        if self.model.number > last and not arrival.through:
            self.keeps_the_promises(self.model.tickets[-1], before)
        return joined

    @rule(pick=waiting_picks, level=one_of(0, 1, 2, 3))
    def prioritise(self, pick: Pick, level: int) -> None:
        number, before = self.number(pick), self.model.line()
        self.both(self.store.prioritise(self.queue, number, level), lambda: self.model.prioritise(number, level))
        moved = self.model.find(number)
        if moved and moved.status is Status.WAITING and not moved.on_hold:
            self.keeps_the_promises(moved, before, level)

    def keeps_the_promises(self, t: Entry, before: list[Entry], level: int | None = None) -> None:
        """A person who came or moved up has passed only those of a lower level, and no more of them than promised."""
        level = t.level if level is None else level
        after, others = self.model.line(), [other for other in before if other is not t]
        ahead = before[: before.index(t)] if t in before else before
        passed = [other for other in after[after.index(t) + 1 :] if other in ahead]
        assert [other for other in after if other is not t] == others
        assert len({other.place for other in after}) == len(after)
        policy = self.model.settings.priority_policy
        if policy is PriorityPolicy.SKIP:
            assert len(passed) <= math.floor(self.model.settings.priority_skip[level] * len(others))
        else:  # a change of policy holds for those who come after it
            passed = [other for other in passed if other.policy is policy]
            assert level == 0 or all(o.level >= level for o in after[: after.index(t)] if o.policy is policy)
        assert all(other.level < level for other in passed)

    # Waiting

    @rule(
        what=one_of("heartbeat", "unload", "unload", "status"), chosen=st.lists(waiting_picks, min_size=1, max_size=6)
    )
    def people_send_signs(self, what: str, chosen: list[Pick]) -> None:
        numbers = self.numbers(chosen)
        self.both(getattr(self.store, what)(self.queue, numbers), lambda: getattr(self.model, what)(numbers))

    @rule(chosen=st.lists(waiting_picks, min_size=1, max_size=6))
    def pages_close(self, chosen: list[Pick]) -> None:
        numbers = self.numbers(chosen)
        self.both(self.store.heartbeat(self.queue, numbers, closing=True), lambda: self.model.close_page(numbers))

    @rule(chosen=st.lists(waiting_picks, min_size=1, max_size=6))
    def signs_of_life_are_written_late(self, chosen: list[Pick]) -> None:
        numbers = self.numbers(chosen)
        self.both(self.store.record_heartbeats(self.queue, numbers), lambda: self.model.keep(numbers))

    # Letting in

    @rule(at_most=one_of(1, 3, 1000, 1000), every=one_of(0.001, 0.5, 1.0, 10.0), lease=one_of(0.0, 0.0, 0.5))
    def admit(self, at_most: int, every: float, lease: float) -> None:
        self.both(
            self.store.admit(self.queue, at_most, every=every, lease=lease),
            lambda: self.model.admit(at_most, every=every, lease=lease),
        )

    @rule(crowd=st.integers(0, 30), ticks=st.integers(2, 8), every=one_of(0.1, 1.0, 3.0))
    def a_crowd_and_some_ticks(self, crowd: int, ticks: int, every: float) -> None:
        self.a_crowd_joins(crowd, 0, 0)
        for _ in range(ticks):
            self.clock.advance(every)
            self.admit(1000, every, every / 2)

    @rule(
        count=st.integers(0, 4),
        desk=one_of("", "Desk 2"),
        key=one_of(b"", b"", b"press-1", b"press-2"),
        pick=st.none() | st.none() | picks,
    )
    def call_next(self, count: int, desk: str, key: bytes, pick: Pick | None) -> None:
        number = None if pick is None else self.number(pick)
        self.both(
            self.store.call_next(self.queue, count, desk=desk, key=key, number=number),
            lambda: self.model.call_next(count, desk=desk, key=key, number=number),
        )

    @rule(count=st.integers(1, 4))
    def some_are_called_and_start(self, count: int) -> None:
        self.call_next(count, "", b"", None)
        visitors = [Visitor(t.number, b"me") for t in self.model.having(Status.ADMITTED)]
        self.both(self.store.visit(self.queue, "start", visitors), lambda: self.model.visit("start", visitors))

    # Inside, and out

    @rule(
        what=one_of("start", "touch", "visit"),
        chosen=some,
        by=one_of(b"me", b"me", b"me", b"you"),
        views=one_of(1, 1, 0, 7),
    )
    def visit(self, what: Visit, chosen: list[Pick], by: bytes, views: int) -> None:
        visitors = [Visitor(number, by, views) for number in self.numbers(chosen)]
        self.both(self.store.visit(self.queue, what, visitors), lambda: self.model.visit(what, visitors))

    @rule(action=one_of(*sorted(ACTS)), chosen=some)
    def act(self, action: Action, chosen: list[Pick]) -> None:
        numbers = self.numbers(chosen)
        self.both(self.store.act(self.queue, action, numbers), lambda: self.model.act(action, numbers))

    @rule(action=one_of(Action.HOLD, Action.RELEASE), chosen=st.lists(waiting_picks, min_size=1, max_size=4))
    def on_hold_count_or_back(self, action: Action, chosen: list[Pick]) -> None:
        self.act(action, chosen)

    @rule(pick=one_of((Status.ADMITTED, 0), (Status.ADMITTED, 1)), again=st.booleans())
    def nobody_comes_and_then_they_do(self, pick: Pick, again: bool) -> None:
        number = self.number(pick)
        for action in (Action.NO_SHOW, Action.REINSTATE, Action.REINSTATE)[: 2 + again]:
            self.both(self.store.act(self.queue, action, [number]), partial(self.model.act, action, [number]))

    @rule(pick=one_of((Status.WAITING, 0), (Status.WAITING, 1), (Status.ADMITTED, 0)), wait=one_of(0.0, 3.3, 400.0))
    def someone_is_removed_and_put_back(self, pick: Pick, wait: float) -> None:
        number, acts = self.number(pick), (Action.CANCEL, Action.PUT_BACK)
        for action in acts:
            self.both(self.store.act(self.queue, action, [number]), partial(self.model.act, action, [number]))
            self.clock.advance(wait)

    @rule(pick=waiting_picks, places=one_of(1, 1, 2, 5, 100), seen=one_of(None, None, 1, 3))
    def step_back(self, pick: Pick, places: int, seen: int | None) -> None:
        number, before = self.number(pick), [t.number for t in self.model.line()]
        ours = lambda: self.model.step_back(number, places, seen)  # noqa: E731
        self.both(self.store.step_back(self.queue, number, places, seen), ours)
        after = [t.number for t in self.model.line()]
        if number in before:  # they are further back by that many at most, and nobody else has changed places
            assert before.index(number) <= after.index(number) <= before.index(number) + places
        assert [n for n in after if n != number] == [n for n in before if n != number]

    @rule(pick=picks, there=one_of(1, 2))
    def transfer(self, pick: Pick, there: int) -> None:
        number, went = self.number(pick), Went("other", there, 1, f"ROTHER-{there}")
        self.both(self.store.transfer(self.queue, number, went), lambda: self.model.transfer(number, went))

    @rule(pick=picks, reason=one_of("abuse", "fraud"))
    def revoke(self, pick: Pick, reason: str) -> None:
        number = self.number(pick)
        self.both(self.store.revoke(self.queue, number, reason), lambda: self.model.revoke(number, reason))

    # Time

    @rule(seconds=one_of(0.001, 0.4, 1.0, 3.3, 29.999, 90.0, 1000.0, 20_000.0))
    def time_goes_on(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(n=st.integers(0, 20), early=one_of(-1, 0, 1), every=one_of(5.0, FAR, FAR))
    def a_deadline_comes(self, n: int, early: int, every: float) -> None:
        """One of the next there are, to the millisecond."""
        dues = sorted(t.due for t in self.model.tickets if t.due is not None and t.due > self.model.clock)
        if dues:
            self.clock.now = round(dues[n % len(dues)]) + self.model.stopped - early
            self.sweep(1000, every, 0.0)

    @rule(seconds=st.floats(0.001, 5))
    def time_goes_back(self, seconds: float) -> None:
        self.clock.advance(-seconds)

    @rule(at_most=one_of(1, 5, 1000, 1000), every=one_of(1.0, 5.0, 100.0, FAR, FAR), lease=one_of(0.0, 0.0, 2.5))
    def sweep(self, at_most: int, every: float, lease: float) -> None:
        self.both(
            self.store.sweep(self.queue, at_most, every=every, lease=lease),
            lambda: self.model.sweep(at_most, every=every, lease=lease),
        )

    # The operator

    @rule(changed=changes, late=one_of(0, 0, 0, 0, 1))
    def configure(self, changed: dict[str, Any], late: int) -> None:
        new, version = checked(changed, self.model.settings), self.model.version - late
        self.both(self.store.configure(self.queue, new, version), lambda: self.model.configure(new, version))

    @rule(pass_id=one_of("gold", "silver"), level=st.none() | st.integers(0, 3), uses=st.integers(1, 3))
    def issue_or_withdraw_a_pass(self, pass_id: str, level: int | None, uses: int) -> None:
        if level is None:
            self.both(
                self.store.withdraw_priority_pass(self.queue, pass_id),
                lambda: self.model.withdraw_priority_pass(pass_id),
            )
        else:
            issued = (pass_id, level, uses, 100.0 * uses)
            self.both(
                self.store.issue_priority_pass(self.queue, *issued), lambda: self.model.issue_priority_pass(*issued)
            )

    # Windows are long against the time an example takes: the store clears away old hits by its own clock.
    @rule(name=one_of("ip:1", "user:2"), limit=st.integers(1, 3), seconds=one_of(60.0, 3600.0))
    def limit(self, name: str, limit: int, seconds: float) -> None:
        self.both(
            self.store.limit(self.queue, name, "status", limit, seconds),
            lambda: self.model.limit(name, "status", limit, seconds),
        )

    # Openings

    @rule(phase=one_of(*Phase), pick=waiting_picks, level=levels, key=one_of(b"", b"press-1"))
    def a_phase_for_a_moment(self, phase: Phase, pick: Pick, level: int, key: bytes) -> None:
        self.enter(phase)
        self.some_go_straight_through(1)
        self.a_crowd_joins(2, 0, level)
        self.admit(1000, 1.0, 0.0)
        self.prioritise(pick, level)
        self.step_back(pick, 2, None)
        self.call_next(1, "", key, None)
        self.enter(Phase.NONE)

    @rule(crowd=st.integers(0, 30), last=levels, seed=st.integers(0, 9), seconds=one_of(1.0, 90.0))
    def an_opening_from_its_beginning_to_its_start(self, crowd: int, last: int, seed: int, seconds: float) -> None:
        self.enter(Phase.PREQUEUE)
        self.a_crowd_joins(crowd, 0, last)
        self.admit(1000, 1.0, 0.0)
        self.clock.advance(seconds)
        self.forget_draws(["one"])
        self.enter(Phase.DRAWING)
        self.freeze_draw("one", seed)
        self.place_drawn("one", 0, 10)
        self.a_crowd_joins(2, 0, last)
        self.place_drawn("one", 0, 1000)
        self.enter(Phase.OPEN)
        self.admit(1000, 1.0, 0.0)

    # What must always hold

    @invariant()
    def all_is_well(self) -> None:
        self.everything_is_the_same()
        self.nobody_is_let_in_without_room()
        self.every_ticket_is_in_one_state_and_has_its_deadline()

    def everything_is_the_same(self) -> None:
        numbers = range(1, self.model.number + 1)
        for first in range(0, len(numbers), MAX_BATCH):
            page = numbers[first : first + MAX_BATCH]
            self.both(self.store.look_up(self.queue, page), partial(self.model.look_up, page))

    def nobody_is_let_in_without_room(self) -> None:
        """More may be inside only where the operator lowered what is allowed, and then no one is added."""
        s, inside = self.model.settings, self.model.inside()
        taken = inside + self.model.completed
        assert inside <= max(s.max_active, self.inside)
        assert s.stock is None or taken <= max(s.stock, self.taken)
        self.inside, self.taken = inside, taken

    def every_ticket_is_in_one_state_and_has_its_deadline(self) -> None:
        snapshot = self.model.snapshot()  # which is the store's
        ended = [t for t in self.model.tickets if t.status not in LIVE]
        assert snapshot.waiting + snapshot.on_hold + snapshot.inside + len(ended) == len(self.model.tickets)
        assert all(t.due is not None for t in self.model.tickets if t.status is not Status.WAITING)

    def teardown(self) -> None:
        """What was recorded is the same too; and when all time is over, nothing is left."""
        if not self.sound:
            return
        self.compare_records()
        waiting = [t.number for t in [*self.model.line(), *self.model.aside()]]
        self.both(self.store.act(self.queue, Action.CANCEL, waiting), lambda: self.model.act(Action.CANCEL, waiting))
        for _ in range(4):
            self.clock.advance(1e7)
            self.sweep(1000, FAR, 0.0)
        assert self.run(self.listing(None)) == []
        assert self.run(left_over(self.store, self.queue)) == {}
        self.run(self.store.delete(self.queue))

    def compare_records(self) -> None:
        model, store = self.model, self.store
        stats = self.run(store.stats(self.queue))
        assert stats.totals.joined == model.number
        assert stats.totals.expired_by_reason == model.expired_by_reason()
        assert stats.totals.peak_waiting == model.peak
        assert stats.totals.admitted == len(model.waits)
        assert stats.totals.completed == model.completed
        assert stats.last_admission == model.last_admission
        if model.waits:
            assert stats.totals.wait_mean == pytest.approx(sum(model.waits) / len(model.waits) / 1000)
        events = self.run(store.events(self.queue, None, 100_000))
        told = [(event.type, event.at, event.ticket, event.detail) for event in events]
        assert list(map(seconds_as_number, told)) == list(map(seconds_as_number, model.happened))
        assert self.run(store.passes(self.queue)) == model.passes()
        assert self.run(store.revoked(self.queue)) == model.revoked()
        assert self.run(store.settings(self.queue)).settings == model.settings
        assert self.run(self.listing(Status.WAITING)) == [model.ticket(t) for t in [*model.line(), *model.aside()]]
        for status in Status:
            numbers = [ticket.number for ticket in self.run(self.listing(status))]
            assert sorted(numbers) == [t.number for t in model.having(status)]

    async def listing(self, status: Status | None) -> list[Any]:
        listed, cursor = [], None
        while True:
            page = await self.store.tickets(self.queue, status, cursor, 40)
            listed += page.tickets
            cursor = page.cursor
            if cursor is None:
                return listed


def seconds_as_number(told: tuple[EventType, int, int | None, str | None]) -> tuple[Any, ...]:
    """How many digits of the seconds of an outage are written is the store's affair."""
    kind, at, ticket, detail = told
    return (kind, at, ticket, float(detail or "nan") if kind is EventType.CLOCK_STOPPED else detail)
