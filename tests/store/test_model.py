"""The store beside the plain model of tests/model.py: whatever happens in whatever order, the two never differ.

`FAIRLINE_LONG=1` looks much longer, and at other histories each time.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fairline.errors import FairlineError
from fairline.events import EventType
from fairline.line import PriorityPolicy
from fairline.queue import Admission, OnePer, QueueId, QueueStatus, QueueView, checked, queue_id
from fairline.store import MAX_BATCH, Arrival, Store, Visit, Visitor, open_store
from fairline.store.contract import ACTS
from fairline.store.postgres.client import connect
from fairline.store.postgres.migrate import Connection
from fairline.store.postgres.store import PostgresStore
from fairline.store.valkey.keys import key
from fairline.store.valkey.store import ValkeyStore
from fairline.ticket import LIVE, Action, Person, Status, Went
from tests.backends import OWNERS, START, FakeClock
from tests.model import Entry, Model

T = TypeVar("T")

LONG = bool(os.environ.get("FAIRLINE_LONG"))
FAR = 1e9
Pick = tuple[Status | None, int]


def one_of(*values: T) -> st.SearchStrategy[T]:
    return st.sampled_from(values)


#: A ticket: the n-th of those in a state, or of all there ever were and one that was not.
picks = st.tuples(one_of(None, Status.WAITING, Status.WAITING, Status.ADMITTED, Status.ACTIVE), st.integers(0, 60))
waiting_picks = st.tuples(one_of(None, Status.WAITING, Status.WAITING), st.integers(0, 60))
some = st.lists(picks, min_size=1, max_size=6)
levels = one_of(0, 0, 0, 1, 2, 3)
who = one_of(b"", b"ann", b"ben", b"cat", b"dan\x00 \n")
arrivals = st.builds(
    Arrival,
    client=who,
    user=who,
    phone=who,
    address=one_of(b"", b"east", b"west"),
    key=one_of(b"", b"", b"", b"key-1", b"key-2 \n"),
    fingerprint=one_of(b"one", b"two \n"),
    priority=levels,
    pass_id=one_of("", "", "", "gold", "silver"),
    limited=st.booleans(),
    through=one_of(False, False, False, True),
    person=one_of(Person(), Person(name="Ann", phone="+1", party_size=3, metadata={"a": [1, None]})),
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "status": one_of(QueueStatus.ACTIVE, QueueStatus.ACTIVE, QueueStatus.ACTIVE, *QueueStatus),
        "admission": one_of(Admission.AUTO, Admission.AUTO, Admission.MANUAL),
        "admission_rate": one_of(0, 0.3, 1, 2.5, 7.77, 10, 100),
        "burst": one_of(None, 1, 3.5, 25),
        "max_active": one_of(1, 10, 10, 1000),
        "max_queue_size": one_of(5, 30, 50_000),
        "stock": one_of(None, None, None, 0, 12, 500),
        "stock_url": one_of(None, None, None, None, "https://stock.example/"),
        "priority_policy": one_of(*PriorityPolicy),
        "priority_skip": one_of((0, 0.1, 0.5, 1), (0, 0.3, 0.3, 0.7), (0, 0, 0.29, 1)),
        "heartbeat_timeout_seconds": one_of(0, 0, 60, 333.333),
        "grace_seconds": one_of(0, 0.5, 30),
        "claim_seconds": one_of(1, 300),
        "session_seconds": one_of(1, 120, 900),
        "session_max_seconds": one_of(900, 14_400),
        "one_per": one_of(*OnePer),
        "join_limit_per_ip": one_of(0, 2, 20),
        "join_limit_per_phone": one_of(0, 3),
        "retain_seconds": one_of(0, 60, 3600),
        "wait_sample": one_of(3, 20),
        "desk_idle_seconds": one_of(60, 900),
    },
)


class StoreBesideModel(RuleBasedStateMachine):
    """Does everything to both, and compares every answer and, after each step, everything there is to see."""

    def __init__(self, store: Store, clock: FakeClock, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        super().__init__()
        self.store, self.clock, self.run = store, clock, run
        self.clock.now = START
        self.sound = True
        self.queue = queue_id(f"m-{secrets.token_hex(6)}")
        first = checked({"session_seconds": 900})
        self.run(store.create(self.queue, first))
        self.model = Model(self.queue, first, clock, version=self.run(store.settings(self.queue)).version)
        self.inside = self.taken = 0

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

    def both(self, asked: Awaitable[Any], expected: Callable[[], Any]) -> None:
        """The store's answer is the model's, also where it is a refusal."""
        self.sound = False
        answer = outcome(lambda: self.run(asked))  # type: ignore[arg-type]
        mine = outcome(expected)
        items, view = getattr(answer, "items", answer), getattr(answer, "view", None)
        found, wanted = listed(items), listed(mine)
        for one, other in zip(found, wanted, strict=False):
            assert plain(one) == plain(other)
        assert len(found) == len(wanted)
        if view:
            same_view(view, self.model.view())
        self.sound = True

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
        if moved and moved.status is Status.WAITING and not moved.held:
            self.keeps_the_promises(moved, before, level)

    def keeps_the_promises(self, t: Entry, before: list[Entry], level: int | None = None) -> None:
        """Whoever came or moved up has passed only those of a lower level, and no more of them than promised."""
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

    @rule(what=one_of("beat", "unload", "unload", "rank"), chosen=st.lists(waiting_picks, min_size=1, max_size=6))
    def people_are_heard_of(self, what: str, chosen: list[Pick]) -> None:
        numbers = self.numbers(chosen)
        self.both(getattr(self.store, what)(self.queue, numbers), lambda: getattr(self.model, what)(numbers))

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
        counter=one_of("", "Desk 2"),
        key=one_of(b"", b"", b"press-1", b"press-2"),
        pick=st.none() | st.none() | picks,
    )
    def call_next(self, count: int, counter: str, key: bytes, pick: Pick | None) -> None:
        number = None if pick is None else self.number(pick)
        self.both(
            self.store.call_next(self.queue, count, counter=counter, key=key, number=number),
            lambda: self.model.call_next(count, counter=counter, key=key, number=number),
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
    def put_aside_or_back(self, action: Action, chosen: list[Pick]) -> None:
        self.act(action, chosen)

    @rule(pick=one_of((Status.ADMITTED, 0), (Status.ADMITTED, 1)), again=st.booleans())
    def nobody_comes_and_then_they_do(self, pick: Pick, again: bool) -> None:
        number = self.number(pick)
        for action in (Action.NO_SHOW, Action.REINSTATE, Action.REINSTATE)[: 2 + again]:
            self.both(self.store.act(self.queue, action, [number]), partial(self.model.act, action, [number]))

    @rule(pick=waiting_picks, places=one_of(1, 1, 2, 5, 100), seen=one_of(None, None, 1, 3))
    def let_pass(self, pick: Pick, places: int, seen: int | None) -> None:
        number, before = self.number(pick), [t.number for t in self.model.line()]
        ours = lambda: self.model.let_pass(number, places, seen)  # noqa: E731
        self.both(self.store.let_pass(self.queue, number, places, seen), ours)
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
            self.both(self.store.withdraw_pass(self.queue, pass_id), lambda: self.model.withdraw_pass(pass_id))
        else:
            issued = (pass_id, level, uses, 100.0 * uses)
            self.both(self.store.issue_pass(self.queue, *issued), lambda: self.model.issue_pass(*issued))

    # Windows are long against the time an example takes: the store clears away old hits by its own clock.
    @rule(name=one_of("ip:1", "user:2"), limit=st.integers(1, 3), seconds=one_of(60.0, 3600.0))
    def limit(self, name: str, limit: int, seconds: float) -> None:
        self.both(
            self.store.limit(self.queue, name, "status", limit, seconds),
            lambda: self.model.limit(name, "status", limit, seconds),
        )

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
        view = self.model.view()  # which is the store's
        ended = [t for t in self.model.tickets if t.status not in LIVE]
        assert view.waiting + view.held + view.inside + len(ended) == len(self.model.tickets)
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
        assert self.run(self.left_over()) == {}
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

    async def left_over(self) -> dict[str, int]:
        """What the store still keeps of tickets that are gone."""
        return await left_over(self.store, self.queue)


async def left_over(store: Store, queue: QueueId) -> dict[str, int]:
    """How much of each part of a queue that holds tickets there is."""
    if isinstance(store, ValkeyStore):
        parts = ("line", "held", "due", "tickets", "holders", "admitted", "active", "ended", "revoked", "passes")
        found: dict[str, int] = {part: await store._client.exists(key(queue, part)) for part in parts}
    else:
        assert isinstance(store, PostgresStore)
        tables = ("line", "blocks", "tickets", "holders", "join_keys", "presses", "revoked", "passes")
        async with await connect(OWNERS[store._client.url]) as connection:
            found = {table: await _rows(connection, table, queue) for table in tables}
    return {part: there for part, there in found.items() if there}


async def _rows(connection: Connection, table: str, queue: QueueId) -> int:
    counted = await connection.execute(
        f"SELECT count(*) FROM fairline.{table} t JOIN fairline.queues q ON q.key = t.queue WHERE q.id = %s", [queue]
    )
    row = await counted.fetchone()
    assert row
    return int(row[0])


def seconds_as_number(told: tuple[EventType, int, int | None, str | None]) -> tuple[Any, ...]:
    """How many digits of the seconds of an outage are written is the store's affair."""
    kind, at, ticket, detail = told
    return (kind, at, ticket, float(detail or "nan") if kind is EventType.CLOCK_STOPPED else detail)


def outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except FairlineError as error:
        return error


def listed(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def plain(answer: Any) -> Any:
    """An answer that can be compared: an error is its kind and its words."""
    return (type(answer), str(answer)) if isinstance(answer, FairlineError) else answer


MEASURED = ("stay_seconds", "leave_rate", "call_rate", "out_rate", "stays_seen", "cycle_seconds")


def same_view(found: QueueView, expected: QueueView) -> None:
    rounded = {name: pytest.approx(getattr(expected, name), abs=1e-9) for name in MEASURED}
    assert {name: getattr(found, name) for name in MEASURED} == rounded
    unmeasured = dict.fromkeys(MEASURED, 0.0)
    assert msgspec.structs.replace(found, **unmeasured) == msgspec.structs.replace(expected, **unmeasured)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def beside(backend: str, runner: asyncio.Runner) -> Iterator[Callable[[], StoreBesideModel]]:
    """Makes a new queue in the store, with a model beside it."""
    clock = FakeClock()
    store = runner.run(open_store(backend, clock=clock))
    yield lambda: StoreBesideModel(store, clock, runner.run)
    runner.run(store.close())


@pytest.mark.timeout(0)
def test_the_store_never_differs_from_the_model(backend: str, beside: Callable[[], StoreBesideModel]) -> None:
    examples = (1000 if LONG else 60) if "unix" in backend else (200 if LONG else 15)
    run_state_machine_as_test(
        beside,  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=80 if LONG else 40,
            derandomize=not LONG,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


# What chance comes to only after a long search, step by step.

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
        (M.people_are_heard_of, "unload", WAITING),
        (M.time_goes_on, 29.999),
        (M.people_are_heard_of, "beat", WAITING),
        (M.time_goes_on, 3.3),
        (M.people_are_heard_of, "unload", WAITING),
        (M.people_are_heard_of, "unload", WAITING),
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
    "someone called is put aside, and stays there until released": [
        (M.a_crowd_joins, 3, 0, 2),
        (M.call_next, 2, "Desk 2", b"", None),
        (M.act, Action.HOLD, [(Status.ADMITTED, 0), (Status.ADMITTED, 1)]),
        *[(M.prioritise, (None, n), 3) for n in range(4)],
        *[(M.let_pass, (None, n), 1, None) for n in range(4)],
        (M.call_next, 4, "Desk 2", b"", None),
        (M.act, Action.HOLD, ADMITTED),
        (M.act, Action.RELEASE, [(None, n) for n in range(4)]),
        (M.call_next, 4, "Desk 2", b"", None),
    ],
    "the only one there is is called and put aside": [
        (M.a_crowd_joins, 0, 0, 0),
        (M.call_next, 1, "Desk 2", b"", None),
        (M.time_goes_on, 3.3),
        (M.act, Action.HOLD, ADMITTED),
        (M.prioritise, (None, 0), 0),
        (M.time_goes_on, 3.3),
        (M.act, Action.RELEASE, [(None, 0)]),
        (M.call_next, 1, "Desk 2", b"", None),
    ],
    "a bucket fills up while nobody waits, and no further": [
        (M.configure, {"admission_rate": 2.5, "burst": 25}, 0),
        *[(M.a_crowd_and_some_ticks, n, 8, 3.0) for n in (0, 0, 60, 0, 20)],
    ],
    "whoever waits for the next token loses none": [
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
    "a pass is used up, and one ends": [
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


@pytest.mark.parametrize("name", HISTORIES)
def test_nor_does_it_in_these_histories(name: str, beside: Callable[[], StoreBesideModel]) -> None:
    both = beside()
    for do, *arguments in HISTORIES[name]:
        do(both, *arguments)
        both.all_is_well()
    both.teardown()
