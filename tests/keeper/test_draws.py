"""Draws by keepers: one result, whatever happens to keeper and store meanwhile, and all of it can be checked."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from fairline.domain.draw import Entry, root_by_path
from fairline.domain.opening import DrawKind, Opening
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action
from fairline.errors import DrawNotFound, ServiceFailed, StoreUnavailable
from fairline.keeper import drawing
from fairline.keeper.drawing import Beacon
from fairline.keeper.keeper import Keeper
from fairline.keeper.openings import OpeningKeeper
from fairline.service.draws import Draws, DrawState
from fairline.store import Arrival, Joined, Store
from tests.backends import FakeClock
from tests.domain.test_draw import naive_root
from tests.keeper.faults import Fault, FaultyStore
from tests.keeper.nights import (
    join,
    keep,
    line,
    night,
    plan,
    published,
    ranks,
    set_clock,
    settings_of,
    state_of,
    steps_told,
)

PEOPLE = 40


class Rounds:
    """A beacon of the outside world with a round for each second. While somebody waits for one, the clock goes on until
    it appears. It may be away."""

    chain = "rounds"

    def __init__(self, clock: FakeClock, *, away: bool = False) -> None:
        self.away = away
        self.asked: list[int] = []
        self._clock = clock

    def round_after(self, ms: int) -> int:
        return ms // 1000 + 1

    def appears_at(self, number: int) -> int:
        self._clock.now = max(self._clock.now, 1000 * number)
        return 1000 * number

    async def signature(self, number: int) -> bytes:
        self.asked.append(number)
        if self.away:
            self._clock.advance(1)
            raise ServiceFailed("it is away", retry_after=1)
        return b"%d" % number


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of few people takes as many steps as one of many; the round of the beacon comes at once."""
    sizes = {"STEP": 7, "MEMBERS_PER_PART": 9, "PARTS_AT_ONCE": 3, "ROOT_SECONDS": 0.0, "BEACON_PAUSE_SECONDS": 0.01}
    for name, size in sizes.items():
        monkeypatch.setattr(drawing, name, size)


def known_secrets() -> Callable[[int], bytes]:
    """The same chance for each draw; a secret that is made a second time is another one."""
    made = count()
    return lambda size: hashlib.sha256(b"%d" % next(made)).digest()[:size]


async def until_the_start(store: Store, queue: QueueId, clock: FakeClock, beacon: Beacon | None = None) -> None:
    """Forty people of two levels wait in a pre-queue, three of them on hold, and it is time for the draw."""
    await plan(store, queue, night())
    clock.advance(60)
    await keep(store, queue, Keeper(store, beacon=beacon, random_bytes=known_secrets()))
    await join(store, queue, PEOPLE - 5)
    for _ in range(5):
        await join(store, queue, 1, priority=2)
    await store.act(queue, Action.HOLD, [3, 17, 38])
    assert await state_of(store, queue) == "prequeue"
    clock.advance(60)


async def result(store: Store, queue: QueueId) -> dict[str, Any]:
    """All that may not depend on what happened meanwhile."""
    state, entries = await published(store, queue)
    check(state, entries)
    assert await state_of(store, queue) == "open"
    return {
        "published": replace(state, id="", queue=queue_id("any"), drawn_at=0),
        "entries": entries,
        "ranks": await ranks(store, queue, range(1, PEOPLE + 3)),
        "line": await line(store, queue),
    }


def check(state: DrawState, entries: list[Entry]) -> None:
    """The whole draw by hand, from the words of the scheme."""
    assert state.secret is not None
    assert hashlib.sha256(state.secret).digest() == state.commitment
    assert len(entries) == state.count
    leaves = sorted(entry.leaf for entry in entries)
    assert len(set(leaves)) == state.count
    assert naive_root(leaves) == state.root
    key = hmac.new(state.secret, (state.randomness or b"") + state.root, "sha256").digest()
    for entry in entries:
        assert entry.value == hmac.new(key, entry.leaf + b"\x01", "sha256").digest()
    for level in range(4):
        values = [entry.value for entry in entries if entry.level == level]
        assert values == sorted(values)


async def test_everyone_in_the_prequeue_has_one_place_in_the_order_that_was_drawn(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    await keep(store, queue)
    assert sorted(await ranks(store, queue, range(1, PEOPLE + 1))) == [*range(1, PEOPLE + 1)]
    late = await join(store, queue, 2)
    by_rank = dict(zip(await ranks(store, queue, range(1, PEOPLE + 1)), range(1, PEOPLE + 1), strict=True))
    expected = [by_rank[rank] for rank in range(1, PEOPLE + 1) if by_rank[rank] not in (3, 17, 38)]
    assert await line(store, queue) == [*expected, *late]
    assert (await store.admit(queue, 10)).items == expected[:10]
    await result(store, queue)


async def test_each_ones_receipt_leads_to_the_root(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    await keep(store, queue)
    draws, (state, entries) = Draws(store), await published(store, queue)
    for status in (await store.status(queue, range(1, PEOPLE + 1))).items:
        assert status
        receipt = await draws.receipt(queue, status)
        leaf = hashlib.sha256(b"\0" + str(status.number).encode() + b"\0" + receipt.nonce).digest()
        assert receipt.leaf == leaf == entries[status.drawn_rank - 1].leaf
        assert root_by_path(leaf, receipt.path) == state.root
        assert (receipt.rank, receipt.count, receipt.level) == (status.drawn_rank, PEOPLE, status.priority)
    (late,) = await join(store, queue, 1)
    (status,) = (await store.status(queue, [late])).items
    assert status
    with pytest.raises(DrawNotFound):
        await draws.receipt(queue, status)


async def test_each_one_of_a_group_has_the_receipt_of_the_one_who_was_drawn_for_all(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    found = await store.settings(queue)
    await store.configure(queue, replace(found.settings, group_size=3), found.version)
    group = await store.group(queue, 7)
    assert group
    friends = await store.join(queue, [Arrival(limited=False, group=(group.first, group.joined))] * 2)
    numbers = [each.ticket.number for each in friends.items if isinstance(each, Joined)]
    await keep(store, queue)
    state, entries = await published(store, queue)
    assert (len(numbers), state.count) == (2, PEOPLE)
    statuses = (await store.status(queue, [7, *numbers])).items
    receipts = [await Draws(store).receipt(queue, status) for status in statuses if status]
    assert [each.label for each in receipts] == ["7"] * 3
    for each in receipts:
        leaf = hashlib.sha256(b"\0" + each.label.encode() + b"\0" + each.nonce).digest()
        assert leaf == each.leaf == entries[each.rank - 1].leaf
        assert root_by_path(leaf, each.path) == state.root


async def test_what_is_published_before_the_draw_says_nothing_of_its_result(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    state, entries = await published(store, queue)
    assert (state.root, state.secret, state.count, entries) == (None, None, None, [])
    await keep(store, queue)
    after, _ = await published(store, queue)
    assert after.commitment == state.commitment


async def calls_of_a_draw(store: Store, queue: QueueId, clock: FakeClock) -> tuple[list[str], dict[str, Any]]:
    """What a draw asks of the store, and its result."""
    await until_the_start(store, queue, clock)
    watched = FaultyStore(store)
    await keep(watched.store, queue)
    return watched.calls, await result(store, queue)


@pytest.mark.parametrize("fault", ["killed", "away", "lost"])
async def test_a_draw_that_is_interrupted_anywhere_ends_in_the_same_order(
    store: Store, clock: FakeClock, small_steps: None, fault: Fault
) -> None:
    begins = clock.now
    calls, expected = await calls_of_a_draw(store, queue_id("undisturbed"), clock)
    assert {"sweep", "configure", "freeze_draw", "draw_members", "keep_draw", "place_drawn"} < {*calls}
    assert calls.count("place_drawn") > 4
    few = "postgres" in store.kind and fault == "lost"  # what was written stays, also without an answer
    for at in range(0, len(calls), 3 if few else 1):
        clock.now = begins
        queue = queue_id(f"disturbed-{at}")
        await until_the_start(store, queue, clock)
        faulty = FaultyStore(store, fault, at)
        await interrupted(faulty, queue, Keeper(faulty.store), fault)
        clock.advance(11)  # as long as another keeper waits for this one
        late = await join(store, queue, 2)
        await keep(store, queue)
        found = await result(store, queue)
        in_it = found["published"].count - PEOPLE
        if in_it:  # nobody had written down yet who is in the draw
            assert (in_it, "freeze_draw" in faulty.calls[:at]) == (2, False), (at, calls[at])
            continue
        assert found.pop("line") == [*expected["line"], *late], (at, calls[at])
        assert found == {name: value for name, value in expected.items() if name != "line"}, (at, calls[at])


async def interrupted(faulty: FaultyStore, queue: QueueId, keeper: Keeper, fault: Fault) -> None:
    """A keeper begins, and is ended in the middle or loses its store."""
    faulty.caller = asyncio.create_task(keep(faulty.store, queue, keeper))
    with pytest.raises(asyncio.CancelledError if fault == "killed" else StoreUnavailable):
        await faulty.caller


async def test_the_keeper_that_lost_its_store_in_the_middle_goes_on_at_once(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    faulty = FaultyStore(store, "away", at=20)
    keeper = Keeper(faulty.store)
    with pytest.raises(StoreUnavailable):
        await keep(faulty.store, queue, keeper)
    assert await state_of(store, queue) == "drawing"
    assert await keep(store, queue) == 0, "another keeper waits for it"
    await keep(faulty.store, queue, keeper)
    await result(store, queue)


async def test_two_keepers_that_draw_at_the_same_time_draw_the_same(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    faulty = FaultyStore(store, "killed", at=8)
    await interrupted(faulty, queue, Keeper(faulty.store), "killed")
    clock.advance(11)
    await asyncio.gather(*(keep(store, queue) for _ in range(3)))
    found = await result(store, queue)
    assert sorted(found["ranks"][:PEOPLE]) == [*range(1, PEOPLE + 1)]


async def test_a_late_keeper_changes_nothing_of_a_draw_that_is_over(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    await until_the_start(store, queue, clock)
    faulty = FaultyStore(store, "killed", at=8)
    await interrupted(faulty, queue, Keeper(faulty.store), "killed")
    configured = await store.settings(queue)
    (opening,) = configured.settings.openings
    clock.advance(11)
    await keep(store, queue)
    first = (await line(store, queue))[0]
    await store.step_back(queue, first, 5)
    (gone,) = (await store.admit(queue, 1)).items
    before = await result(store, queue)
    await drawing.Drawing(store).draw(queue, opening, configured.settings)
    assert await result(store, queue) == before
    assert gone not in await line(store, queue)


async def test_of_two_keepers_that_have_drawn_one_opens(store: Store, queue: QueueId, clock: FakeClock) -> None:
    """The slower one finds it open: nothing is added twice, and nobody who was let in meanwhile is sent away."""
    inside: list[int] = []

    class Slower(drawing.Drawing):
        async def draw(self, queue: QueueId, opening: Opening, settings: QueueSettings) -> int:
            drawn = await super().draw(queue, opening, settings)
            clock.advance(11)
            await keep(store, queue)
            inside.extend((await store.admit(queue, 3)).items)
            return drawn

    await plan(store, queue, night(add_stock=40, recheck_inside=True), stock=2)
    set_clock(clock, 60)
    await keep(store, queue)
    await join(store, queue, 5)
    set_clock(clock, 120)
    slower = OpeningKeeper(store, Slower(store))
    while await slower.take(queue):
        pass
    assert [kind for kind, _ in await steps_told(store, queue)].count("opening_started") == 1
    assert (await settings_of(store, queue)).stock == 42
    assert (len(inside), (await store.snapshot(queue)).inside) == (3, 3)


async def test_sessions_end_for_those_who_were_inside_before_the_start_only(
    store: Store, queue: QueueId, clock: FakeClock
) -> None:
    """A second keeper is about to end the sessions while the first one has just opened."""

    class Hurried(OpeningKeeper):
        async def _end_sessions(self, queue: QueueId, before: int) -> None:
            await keep(store, queue)
            await store.admit(queue, 3)
            await super()._end_sessions(queue, before)

    await plan(store, queue, night(draw=DrawKind.NONE, recheck_inside=True))
    await join(store, queue, 2)
    await store.admit(queue, 2)
    set_clock(clock, 60)
    await keep(store, queue)
    await join(store, queue, 5)
    set_clock(clock, 120)
    hurried = Hurried(store, drawing.Drawing(store))
    while await hurried.take(queue):
        pass
    assert (await store.snapshot(queue)).inside == 3
    assert [kind for kind, _ in await steps_told(store, queue)].count("opening_started") == 1


# The beacon


async def test_the_randomness_of_the_round_that_was_fixed_before_decides(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    beacon = Rounds(clock)
    await until_the_start(store, queue, clock, beacon)
    before, _ = await published(store, queue)
    assert (before.round, before.chain) == (clock.now // 1000 + 1, "rounds")
    await keep(store, queue, Keeper(store, beacon=beacon))
    state, entries = await published(store, queue)
    check(state, entries)
    assert state.randomness == hashlib.sha256(b"%d" % (before.round or 0)).digest()
    assert beacon.asked == [before.round]


async def test_a_beacon_that_is_away_holds_up_nobody(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    beacon = Rounds(clock, away=True)
    await until_the_start(store, queue, clock, beacon)
    await keep(store, queue, Keeper(store, beacon=beacon))
    state, entries = await published(store, queue)
    check(state, entries)
    assert state.randomness is None
    assert "could not be asked" in (state.randomness_missing or "")
    assert 10 <= len(beacon.asked) <= 12


async def test_a_prequeue_that_closes_when_the_round_is_known_is_decided_by_the_secret_alone(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    beacon = Rounds(clock)
    await until_the_start(store, queue, clock, beacon)
    clock.advance(1)
    await keep(store, queue, Keeper(store, beacon=beacon))
    state, entries = await published(store, queue)
    check(state, entries)
    assert (state.randomness, beacon.asked) == (None, [])
    assert "after the round had appeared" in (state.randomness_missing or "")


async def test_another_keeper_asks_for_the_same_round_and_what_is_known_is_not_asked_again(
    store: Store, queue: QueueId, clock: FakeClock, small_steps: None
) -> None:
    begins = clock.now
    await until_the_start(store, queue_id("undisturbed"), clock, Rounds(clock))
    watched = FaultyStore(store)
    await keep(watched.store, queue_id("undisturbed"), Keeper(watched.store, beacon=Rounds(clock)))
    expected = await result(store, queue_id("undisturbed"))
    kept = [at for at, name in enumerate(watched.calls) if name == "keep_draw"]
    root, known = kept[5], kept[6]
    for at in range(root, len(watched.calls)):
        clock.now = begins
        queue = queue_id(f"disturbed-{at}")
        await until_the_start(store, queue, clock, Rounds(clock))
        faulty = FaultyStore(store, "killed", at)
        await interrupted(faulty, queue, Keeper(faulty.store, beacon=Rounds(clock)), "killed")
        clock.advance(11)
        beacon = Rounds(clock)
        await keep(store, queue, Keeper(store, beacon=beacon))
        assert await result(store, queue) == expected, at
        assert len(beacon.asked) == (at < known), at
