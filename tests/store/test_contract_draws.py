"""Openings and draws: who is in a draw, the places that were drawn, what is kept of it, and what waits for a start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from fairline.domain.draw import Member
from fairline.domain.events import EventType
from fairline.domain.opening import HELD_BACK, After, DrawKind, Opening, OpeningState, Phase
from fairline.domain.order import BAND, SPAN
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Status
from fairline.errors import AtCapacity, InvalidRequest, QueueHeldBack, QueueNotFound, SessionTaken, SettingsChanged
from fairline.store import Drawn, Store
from fairline.store.contract import MAX_BATCH
from tests.store.test_contract_order import SHARES
from tests.store.venue import MANY, OpenVenue, Venue

A_DAY = datetime(2027, 1, 15, 9, tzinfo=UTC)
OPENING = Opening(
    id="op-1",
    name="Nacht ☾",
    prequeue_at=A_DAY,
    starts_at=A_DAY.replace(hour=10, microsecond=123000),
    ends_at=A_DAY.replace(hour=12),
    draw=DrawKind.RANDOM,
    draw_grace_seconds=30,
    settings={"admission_rate": 2.5, "texts": {"waiting_title": "Gleich"}, "series": ["A"], "stock": None},
    add_stock=100,
    recheck_inside=True,
    after=After.CLOSE,
    state=OpeningState.OPEN,
    count=12,
    before={"admission_rate": 1.0},
)


async def enter(v: Venue, phase: Phase) -> None:
    """Bring the queue into a phase."""
    found = await v.store.settings(v.queue)
    await v.store.configure(v.queue, replace(found.settings, phase=phase), found.version)


async def drawn(v: Venue, numbers: Sequence[int], *, strict: bool = False, opening: str = "op") -> list[Drawn]:
    """What was drawn for these people, in this order, as the keeper works it out."""
    first = (await v.store.freeze_draw(v.queue, opening)).first_turn
    levels = {number: (await v.ticket(number)).priority for number in numbers}
    return [
        Drawn(number, (first + at) * SPAN - (levels[number] * BAND if strict else 0), at + 1)
        for at, number in enumerate(numbers)
    ]


async def draw(v: Venue, numbers: Sequence[int], *, strict: bool = False) -> None:
    """A whole draw that comes out like this."""
    await v.store.place_drawn(v.queue, "op", await drawn(v, numbers, strict=strict))


async def members(v: Venue) -> list[int]:
    return [each.number for each in await v.store.draw_members(v.queue, 0, MANY)]


# Who is in it


async def test_those_who_wait_and_send_signs_of_life_are_in_a_draw_on_hold_or_not(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=0)
    overdue, gone, silent = await v.joins(3)
    await v.act(Action.HOLD, silent)
    v.clock.advance(59)
    here, on_hold, closing = await v.joins(3)
    inside = await v.one(Status.ACTIVE)
    await v.act(Action.HOLD, on_hold)
    await v.unload(closing)  # without grace they are gone at once
    await v.act(Action.CANCEL, gone)
    v.clock.advance(1)
    frozen = await v.store.freeze_draw(v.queue, "op")
    assert await members(v) == [here, on_hold]
    assert (frozen.count, frozen.first_turn) == (2, inside + 1)
    assert overdue not in await members(v)


async def test_without_deadlines_all_who_wait_are_in_a_draw(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    numbers = await v.joins(3)
    v.clock.advance(1e6)
    assert (await v.store.freeze_draw(v.queue, "op")).count == 3
    assert await members(v) == numbers


async def test_a_draw_of_nobody(venue: OpenVenue) -> None:
    v = await venue()
    frozen = await v.store.freeze_draw(v.queue, "op")
    assert (frozen.count, frozen.first_turn) == (0, 1)
    assert await members(v) == []
    await v.store.place_drawn(v.queue, "op", [])
    assert await v.joins(1) == [1]


async def test_who_is_in_a_draw_never_changes_whatever_they_do(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(6)
    frozen = await v.store.freeze_draw(v.queue, "op")
    await v.joins(3)
    await v.act(Action.CANCEL, 2)
    await v.act(Action.HOLD, 3)
    await v.store.step_back(v.queue, 1, 4)
    await v.store.prioritise(v.queue, 5, 3)
    assert await v.store.freeze_draw(v.queue, "op") == frozen
    assert await members(v) == [1, 2, 3, 4, 5, 6]
    pages = [each for first in (0, 4, 8) for each in await v.store.draw_members(v.queue, first, 4)]
    assert [each.number for each in pages] == [1, 2, 3, 4, 5, 6]


async def test_members_come_with_their_levels(venue: OpenVenue) -> None:
    v = await venue(priority_policy="strict")
    for level in (0, 3, 1):
        await v.join(priority=level)
    await v.store.freeze_draw(v.queue, "op")
    assert await v.store.draw_members(v.queue, 0, 10) == [Member(2, 3), Member(3, 1), Member(1, 0)]


async def test_each_opening_has_a_draw_of_its_own(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(2)
    first = await v.store.freeze_draw(v.queue, "one")
    await v.joins(1)
    second = await v.store.freeze_draw(v.queue, "two")
    assert (first.count, second.count) == (2, 3)
    assert second.first_turn == first.first_turn + first.count + 1
    assert await members(v) == [1, 2, 3]
    assert await v.store.freeze_draw(v.queue, "one") == first
    assert await members(v) == [1, 2, 3], "those of the draw that was frozen last"


# The places


async def test_people_stand_in_the_order_drawn_and_everyone_later_behind_them(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(5)
    await v.store.freeze_draw(v.queue, "op")
    await v.joins(2)
    await draw(v, [4, 2, 5, 1, 3])
    await v.joins(1)
    assert await v.line() == [4, 2, 5, 1, 3, 6, 7, 8]
    ranks = [((await v.ticket(n)).drawn_rank, (await v.ticket(n)).drawn_in) for n in range(1, 9)]
    assert ranks == [(4, "op"), (2, "op"), (5, "op"), (1, "op"), (3, "op"), (0, ""), (0, ""), (0, "")]
    assert [(await v.heartbeat(n)).position for n in (4, 3, 6, 8)] == [1, 5, 6, 8]
    assert await v.admit(3) == [4, 2, 5]


async def test_a_draw_that_is_done_again_or_in_parts_changes_nothing(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(5)
    order = await drawn(v, [4, 2, 5, 1, 3])
    await v.store.place_drawn(v.queue, "op", order[:2])
    await v.joins(1)
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.line() == [4, 2, 5, 1, 3, 6]
    before = await v.everything()
    await v.store.place_drawn(v.queue, "op", order[3:])
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.everything() == before


async def test_a_keeper_that_is_late_with_a_draw_undoes_nothing_that_people_did_since(venue: OpenVenue) -> None:
    v = await venue(priority_policy="strict")
    await v.joins(5)
    order = await drawn(v, [4, 2, 5, 1, 3])
    await v.store.place_drawn(v.queue, "op", order)
    await v.store.step_back(v.queue, 4, 2)
    await v.store.prioritise(v.queue, 3, 1)
    before = await v.everything()
    assert await v.line() == [3, 2, 5, 4, 1]
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.everything() == before


async def test_those_on_hold_and_those_who_left_meanwhile_have_the_places_drawn_for_them(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(5)
    order = await drawn(v, [4, 2, 5, 1, 3])
    await v.act(Action.HOLD, 2)
    await v.act(Action.CANCEL, 5)
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.line() == [4, 1, 3]
    assert [(await v.ticket(n)).drawn_rank for n in (2, 5)] == [2, 3]
    await v.act(Action.RELEASE, 2)
    await v.act(Action.PUT_BACK, 5)
    assert await v.line() == [4, 2, 5, 1, 3]
    assert [(await v.heartbeat(n)).position for n in (4, 2, 5, 1, 3)] == [1, 2, 3, 4, 5]


async def test_numbers_that_are_no_more_are_left_out(venue: OpenVenue) -> None:
    v = await venue(retain_seconds=0)
    await v.joins(3)
    order = await drawn(v, [3, 1, 2])
    await v.act(Action.CANCEL, 1)
    await v.after(1)
    await v.store.place_drawn(v.queue, "op", order)
    assert await v.line() == [3, 2]


async def test_under_strict_levels_keep_apart_and_equals_come_behind(venue: OpenVenue) -> None:
    v = await venue(priority_policy="strict")
    for level in (0, 0, 1, 1, 2):
        await v.join(priority=level)
    await draw(v, [5, 4, 3, 2, 1], strict=True)
    for level in (0, 1, 2):
        await v.join(priority=level)
    assert await v.line() == [5, 8, 4, 3, 7, 2, 1, 6]


async def test_under_skip_nobody_later_overtakes_an_equal_that_was_drawn(venue: OpenVenue) -> None:
    v = await venue(priority_skip=SHARES)
    for level in (0, 0, 0, 0, 0, 0, 0, 1, 2, 2):
        await v.join(priority=level)
    await draw(v, [1, 2, 3, 9, 4, 10, 5, 8, 6, 7])
    for level in (0, 1, 2, 3):
        await v.join(priority=level)
    line = await v.line()
    assert line[0] == 14, "the highest level goes ahead of all"
    assert [n for n in line if n in {9, 10, 13}] == [9, 10, 13]
    assert [n for n in line if n in {8, 12}] == [8, 12]
    assert [n for n in line if n <= 10] == [1, 2, 3, 9, 4, 10, 5, 8, 6, 7]
    assert line[-1] == 11
    statuses = (await v.store.status(v.queue, line)).items
    assert [each and each.position for each in statuses] == [*range(1, 15)]


async def test_a_long_line_is_drawn_in_steps_and_let_in_by_rank(venue: OpenVenue) -> None:
    v = await venue(admission_rate=1000, burst=1000, max_active=5000, max_queue_size=5000)
    numbers = [number for _ in range(3) for number in await v.joins(500)]
    order = [number for start in range(7) for number in numbers[start::7]]
    places = await drawn(v, order)
    for first in range(0, len(places), 400):
        await v.store.place_drawn(v.queue, "op", places[first : first + 400])
    await v.joins(100)
    for first in range(0, len(order), 500):
        statuses = (await v.store.status(v.queue, order[first : first + 500])).items
        assert [each and each.position for each in statuses] == [*range(first + 1, first + 501)]
    assert await v.admit(700) == order[:700]
    v.clock.advance(10)
    assert await v.admit(1000) == [*order[700:], *range(1501, 1601)]
    assert await v.line() == []


async def test_a_step_has_the_size_of_every_other(venue: OpenVenue) -> None:
    v = await venue()
    with pytest.raises(InvalidRequest):
        await v.store.place_drawn(v.queue, "op", [Drawn(n, n * SPAN, n) for n in range(1, MAX_BATCH + 2)])


async def test_the_rank_stays_with_a_ticket_whatever_happens_to_it(venue: OpenVenue) -> None:
    v = await venue(series=("A",), admission="manual")
    await v.join(client=b"ann")
    await draw(v, [1])
    serial = (await v.ticket(1)).serial
    moved = await v.store.rebind(v.queue, 1, (await v.ticket(1)).joined, 0, b"other")
    assert (moved.drawn_rank, moved.drawn_in, moved.moved, moved.serial) == (1, "op", 1, serial)
    assert [(each.number, each.drawn_rank) for each in await v.store.call_next(v.queue, 1, desk="A")] == [(1, 1)]
    await v.start(1, b"somebody")
    assert isinstance(await v.touch(1, b"else"), SessionTaken)
    status = await v.touch(1, b"somebody")
    assert not isinstance(status, Exception)
    assert (status.status, status.desk, status.drawn_rank, status.drawn_in) == (Status.ACTIVE, "A", 1, "op")
    await v.act(Action.COMPLETE, 1)
    ended = await v.ticket(1)
    assert (ended.status, ended.page_views, ended.drawn_rank, ended.drawn_in) == (Status.COMPLETED, 1, 1, "op")
    assert (await v.tickets())[0] == ended


# What is kept


async def test_parts_are_kept_as_they_are_and_replaced(venue: OpenVenue) -> None:
    v = await venue()
    everything = bytes(range(256)) * 300
    kept = await v.store.keep_draw(v.queue, "op", {"a": everything, "b:1": b""})
    assert kept == {"a": everything, "b:1": b""}
    assert await v.store.draw_parts(v.queue, "op", ["b:1", "a", "c"]) == {"a": everything, "b:1": b""}
    await v.store.keep_draw(v.queue, "op", {"a": b"\0new", "c": b"c"})
    assert await v.store.draw_parts(v.queue, "op", ["a", "c"]) == {"a": b"\0new", "c": b"c"}
    assert await v.store.draw_parts(v.queue, "op", []) == {}
    assert await v.store.draw_parts(v.queue, "other", ["a"]) == {}


async def test_what_is_kept_once_stays_as_it_is(venue: OpenVenue) -> None:
    v = await venue()
    assert await v.store.keep_draw(v.queue, "op", {"a": b"1", "b": b""}, once=True) == {"a": b"1", "b": b""}
    again = await v.store.keep_draw(v.queue, "op", {"c": b"3", "b": b"2", "a": b"2"}, once=True)
    assert again == {"a": b"1", "b": b"", "c": b"3"}
    assert await v.store.draw_parts(v.queue, "op", ["a", "b", "c"]) == again
    assert await v.store.keep_draw(v.queue, "another", {"a": b"2"}, once=True) == {"a": b"2"}


async def test_what_is_forgotten_is_gone_and_the_rest_stays(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(1)
    for opening in ("one", "two", "on"):
        await v.store.keep_draw(v.queue, opening, {"a": b"1", "tree:0:0": b"2"})
        await v.store.freeze_draw(v.queue, opening)
    await v.store.forget_draws(v.queue, ["one", "on", "none"])
    await v.store.forget_draws(v.queue, [])
    for opening, kept in (("one", {}), ("on", {}), ("two", {"a": b"1", "tree:0:0": b"2"})):
        assert await v.store.draw_parts(v.queue, opening, ["a", "tree:0:0"]) == kept, opening


async def test_nothing_of_a_removed_queue_is_left_in_one_of_its_name(venue: OpenVenue) -> None:
    v = await venue()
    settings = (await v.store.settings(v.queue)).settings
    await v.joins(2)
    await v.store.freeze_draw(v.queue, "op")
    await v.store.keep_draw(v.queue, "op", {"a": b"1"})
    await v.store.delete(v.queue)
    await v.store.create(v.queue, settings)
    assert await v.store.draw_parts(v.queue, "op", ["a"]) == {}
    assert await members(v) == []
    assert (await v.store.freeze_draw(v.queue, "op")).count == 0


async def test_draws_of_a_queue_that_does_not_exist(store: Store, queue: QueueId) -> None:
    asked: list[Callable[[], Awaitable[object]]] = [
        lambda: store.freeze_draw(queue, "op"),
        lambda: store.draw_members(queue, 0, 10),
        lambda: store.place_drawn(queue, "op", [Drawn(1, SPAN, 1)]),
        lambda: store.keep_draw(queue, "op", {"a": b"1"}),
        lambda: store.draw_parts(queue, "op", ["a"]),
        lambda: store.forget_draws(queue, ["op"]),
    ]
    for ask in asked:
        with pytest.raises(QueueNotFound):
            await ask()


# Phases


async def test_before_an_opening_has_started_nobody_is_let_in_or_called(venue: OpenVenue) -> None:
    for phase in Phase:
        v = await venue(admission_rate=100, burst=3)
        await enter(v, phase)
        assert isinstance(await v.try_join(through=True), AtCapacity) is (phase in HELD_BACK), phase
        waiting = await v.joins(6)
        v.clock.advance(1)
        if phase not in HELD_BACK:
            assert await v.admit() == waiting[:3], phase
            assert await v.call(2) == waiting[3:5], phase
            continue
        assert await v.admit() == [], phase
        for press in ({}, {"number": waiting[2]}, {"desk": "A", "key": b"press"}):
            with pytest.raises(QueueHeldBack):
                await v.call(**press)
        assert (await v.store.snapshot(v.queue)).inside == 0, phase


async def test_at_the_start_no_more_are_let_in_at_once_than_the_burst_allows(venue: OpenVenue) -> None:
    v = await venue(admission_rate=2, burst=5)
    await enter(v, Phase.PREQUEUE)
    await v.joins(20)
    for _ in range(30):
        v.clock.advance(1)
        assert await v.admit() == []
    await enter(v, Phase.OPEN)
    assert await v.admit() == [1, 2, 3, 4, 5]
    v.clock.advance(1)
    assert await v.admit() == [6, 7]


async def test_while_the_order_is_drawn_nobody_changes_it(venue: OpenVenue) -> None:
    for phase in Phase:
        v = await venue(priority_skip=SHARES)
        await v.joins(3)
        await enter(v, phase)
        if phase is Phase.DRAWING:
            before = await v.everything()
            with pytest.raises(QueueHeldBack):
                await v.store.prioritise(v.queue, 3, 3)
            with pytest.raises(QueueHeldBack):
                await v.store.step_back(v.queue, 1, 1)
            assert await v.everything() == before
        else:
            await v.store.prioritise(v.queue, 3, 3)
            await v.store.step_back(v.queue, 1, 1)
            assert await v.line() == [3, 2, 1], phase


async def test_people_may_join_leave_and_wait_on_hold_in_every_phase(venue: OpenVenue) -> None:
    for phase in Phase:
        v = await venue()
        await enter(v, phase)
        await v.joins(3)
        await v.act(Action.CANCEL, 1)
        await v.act(Action.HOLD, 2)
        await v.act(Action.RELEASE, 2)
        assert await v.line() == [2, 3], phase


# Settings


async def test_openings_are_kept_with_the_settings_and_in_the_history(venue: OpenVenue) -> None:
    v = await venue()
    plain = Opening(id="op-2", starts_at=A_DAY.replace(day=20))
    for openings in ((OPENING,), (OPENING, plain), (plain,), ()):
        found = await v.store.settings(v.queue)
        phase = Phase.OPEN if OPENING in openings else Phase.NONE
        settings = replace(found.settings, openings=openings, phase=phase, name=f"with {len(openings)}")
        changed = await v.store.configure(v.queue, settings, found.version, "k1")
        assert changed == await v.store.settings(v.queue)
        assert changed.settings == settings
    history = await v.store.history(v.queue, None, 10)
    kept: list[Any] = [each.settings.openings for each in history]
    assert kept == [(), (plain,), (OPENING, plain), (OPENING,), ()]
    assert [each.settings.phase for each in history] == ["", "", "open", "open", ""]


async def test_a_queue_can_be_created_with_openings(store: Store, queue: QueueId, venue: OpenVenue) -> None:
    settings = replace((await (await venue()).store.settings((await venue()).queue)).settings, openings=(OPENING,))
    await store.create(queue, settings)
    assert (await store.settings(queue)).settings == settings


async def test_a_change_of_settings_may_tell_why_in_the_same_step(venue: OpenVenue) -> None:
    v = await venue()
    found = await v.store.settings(v.queue)
    event = (EventType.PREQUEUE_OPENED, "op-1")
    await v.store.configure(v.queue, found.settings, found.version, event=event)
    with pytest.raises(SettingsChanged):
        await v.store.configure(v.queue, found.settings, found.version, event=(EventType.OPENING_STARTED, "op-1"))
    told = [(each.type.value, each.ticket, each.detail) for each in await v.events()]
    assert told == [
        ("queue_created", None, None),
        ("settings_changed", None, str(found.version + 1)),
        ("prequeue_opened", None, "op-1"),
    ]
