"""Groups: people who wait together have places beside each other, and all go in together, each with a ticket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.order import SPAN
from fairline.domain.queue_settings import Admission
from fairline.domain.ticket import Action, Status
from fairline.errors import GroupFull, GroupGone, GroupsOff, InGroup
from fairline.store import Joined
from fairline.store.values import Group
from tests.store.test_contract_draws import draw, enter, members
from tests.store.venue import OpenVenue, Venue

GROUPS = {"group_size": 20, "admission_rate": 100, "max_active": 100}


async def join_group(v: Venue, first: int, count: int = 1, **arrival: Any) -> list[int]:
    """This many people join the group of someone who waits."""
    group = await v.store.group(v.queue, first)
    assert group
    return [(await v.join(group=(group.first, group.joined), **arrival)).ticket.number for _ in range(count)]


async def test_who_joins_a_group_has_a_place_beside_it_and_all_go_in_one_step(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await v.joins(4)
    assert await join_group(v, 2, 2) == [5, 6]
    assert await v.line() == [1, 2, 5, 6, 3, 4]
    assert [(await v.ticket(number)).position for number in (2, 5, 6, 3)] == [2, 3, 4, 5]
    group = await v.store.group(v.queue, 6)
    assert group
    assert (group.first, group.size) == (2, 3)
    assert await v.admit(2) == [1, 2, 5, 6]
    assert await v.line() == [3, 4]
    admitted = [each.ticket for each in await v.events() if each.type is EventType.ADMITTED]
    assert admitted == [1, 2, 5, 6]


async def test_a_group_waits_until_there_are_places_for_all_and_nobody_behind_it_goes(venue: OpenVenue) -> None:
    v = await venue(**GROUPS | {"max_active": 4})
    await v.joins(3)
    await v.admit()
    await v.joins(2)
    await join_group(v, 4)
    assert await v.admit() == []
    await v.act(Action.TERMINATE, 1)
    assert await v.admit() == [4, 6]
    assert await v.admit() == []
    await v.act(Action.TERMINATE, 2)
    assert await v.admit() == [5]


@pytest.mark.parametrize("limit", [{"max_active": 2}, {"stock": 2}])
async def test_of_a_group_that_can_never_fit_as_many_go_as_do(venue: OpenVenue, limit: dict[str, int]) -> None:
    v = await venue(**GROUPS | limit)
    await v.joins(2)
    await join_group(v, 1, 2)
    assert await v.admit() == [1, 3]
    assert await v.line() == [4, 2]
    assert (await v.store.snapshot(v.queue)).admitted == 2


async def test_groups_go_at_the_rate_on_average(venue: OpenVenue) -> None:
    v = await venue(**GROUPS | {"admission_rate": 2, "burst": 1, "max_active": 10_000})
    for first in range(1, 1 + 40 * 5, 5):
        await v.joins(1)
        await join_group(v, first, 4)
    went = 0
    for _ in range(50):
        together = len(await v.admit())
        assert together in (0, 5)
        went += together
        v.clock.advance(1)
    assert abs(went - 2 * 50) <= 5


async def test_desks_call_a_group_together(venue: OpenVenue) -> None:
    v = await venue(**GROUPS, admission="manual")
    await v.joins(2)
    await join_group(v, 1, 2)
    assert await v.call(1, desk="A", key=b"k") == [1, 3, 4]
    assert await v.call(1, desk="A", key=b"k") == [1, 3, 4]
    assert await v.call(1) == [2]


async def leaves(v: Venue, number: int) -> None:
    await v.act(Action.LEAVE, number)


async def is_removed(v: Venue, number: int) -> None:
    await v.act(Action.CANCEL, number)


async def lapses(v: Venue, number: int) -> None:
    v.clock.advance(89)
    await v.store.heartbeat(v.queue, [each.number for each in await v.tickets(Status.WAITING) if each.number != number])
    assert list(await v.after(2)) == [number]


async def is_called(v: Venue, number: int) -> None:
    found = await v.store.settings(v.queue)
    by_hand = replace(found.settings, admission=Admission.MANUAL)
    version = (await v.store.configure(v.queue, by_hand, found.version)).version
    assert await v.call(number=number) == [number]
    await v.store.configure(v.queue, found.settings, version)


@pytest.mark.parametrize("goes", [leaves, is_removed, lapses, is_called])
async def test_when_the_first_goes_the_others_stay_where_they_are(
    venue: OpenVenue, goes: Callable[[Venue, int], Awaitable[None]]
) -> None:
    v = await venue(**GROUPS)
    await v.joins(3)
    second, third = await join_group(v, 1, 2)
    group = await v.store.group(v.queue, 1)
    await goes(v, 1)
    assert await v.line() == [second, third, 2, 3]
    assert group
    assert await v.store.group(v.queue, third) == Group(1, group.joined, 2)
    fourth = (await v.join(group=(1, group.joined))).ticket.number
    assert await v.line() == [second, third, fourth, 2, 3]
    assert await v.admit(1) == [second, third, fourth]
    assert isinstance(await v.try_join(group=(1, group.joined)), GroupGone)


async def test_why_someone_cannot_join_a_group(venue: OpenVenue) -> None:
    v = await venue(**GROUPS | {"group_size": 2})
    number, other = await v.joins(2)
    group = await v.store.group(v.queue, number)
    assert group
    code = (group.first, group.joined)
    assert isinstance(await v.try_join(group=(number, group.joined - 1)), GroupGone)
    assert isinstance(await v.try_join(group=(999, group.joined)), GroupGone)
    await v.join(group=code)
    assert isinstance(await v.try_join(group=code), GroupFull)
    await v.act(Action.LEAVE, 3)
    await v.join(group=code)
    await v.admit()
    assert isinstance(await v.try_join(group=code), GroupGone)
    assert await v.store.group(v.queue, other) is None
    assert (await v.store.snapshot(v.queue)).waiting == 0
    found = await v.store.settings(v.queue)
    await v.store.configure(v.queue, replace(found.settings, group_size=0), found.version)
    assert isinstance(await v.try_join(group=code), GroupsOff)


async def test_a_holder_comes_back_to_the_ticket_they_have(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await v.join(client=b"me")
    await v.joins(1)
    group = await v.store.group(v.queue, 2)
    assert group
    joined = await v.join(client=b"me", group=(2, group.joined))
    assert (joined.ticket.number, joined.created) == (1, False)
    again = [await v.join(client=b"friend", group=(2, group.joined)) for _ in range(2)]
    assert [each.ticket.number for each in again] == [3, 3]
    assert (await v.store.group(v.queue, 1)) != (await v.store.group(v.queue, 2))


async def test_people_of_a_group_do_not_change_places_alone(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await v.joins(3)
    await join_group(v, 1)
    for number in (1, 4):
        with pytest.raises(InGroup):
            await v.store.step_back(v.queue, number, 1)
        with pytest.raises(InGroup):
            await v.store.prioritise(v.queue, number, 3)
    await v.act(Action.LEAVE, 4)
    await v.store.step_back(v.queue, 1, 1)
    assert await v.line() == [2, 1, 3]


async def test_someone_on_hold_is_left_out_and_goes_later(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await v.joins(2)
    await join_group(v, 1, 2)
    await v.act(Action.HOLD, 3)
    assert await v.admit(1) == [1, 4]
    await v.act(Action.RELEASE, 3)
    assert await v.line() == [3, 2]
    assert await v.admit(1) == [3]


async def test_a_group_takes_the_level_of_its_place(venue: OpenVenue) -> None:
    v = await venue(**GROUPS, priority_policy="strict")
    await v.joins(3)
    await v.join(priority=2)
    await join_group(v, 4)
    assert await v.line() == [4, 5, 1, 2, 3]
    assert (await v.ticket(5)).priority == 2
    await v.join(priority=2)
    assert await v.line() == [4, 5, 6, 1, 2, 3]


async def test_a_group_is_in_a_draw_once_and_gets_one_place(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await enter(v, Phase.PREQUEUE)
    await v.joins(3)
    await join_group(v, 2, 2)
    await v.store.freeze_draw(v.queue, "op")
    assert await members(v) == [1, 2, 3]
    await draw(v, [3, 2, 1])
    assert await v.line() == [3, 2, 4, 5, 1]
    assert [(await v.ticket(number)).drawn_rank for number in (3, 2, 4, 5, 1)] == [1, 2, 2, 2, 3]
    await draw(v, [3, 2, 1])
    assert await v.line() == [3, 2, 4, 5, 1]
    await enter(v, Phase.OPEN)
    group = await v.store.group(v.queue, 4)
    assert group
    assert isinstance(await v.try_join(group=(group.first, group.joined)), GroupGone)
    await v.joins(1)
    assert await v.line() == [3, 2, 4, 5, 1, 6]
    assert await v.admit(2) == [3, 2, 4, 5]


async def test_a_drawn_place_stays_the_groups_whoever_leaves_meanwhile(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await enter(v, Phase.PREQUEUE)
    await v.joins(3)
    await join_group(v, 2, 2)
    await v.act(Action.LEAVE, 2)
    frozen = await v.store.freeze_draw(v.queue, "op")
    assert await members(v) == [1, 4, 3]
    assert frozen.count == 3
    await enter(v, Phase.DRAWING)
    await v.act(Action.LEAVE, 4)
    await draw(v, [4, 3, 1])
    assert await v.line() == [5, 3, 1]
    assert (await v.ticket(5)).place // SPAN == frozen.first_turn


async def test_a_large_draw_of_groups(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await enter(v, Phase.PREQUEUE)
    await v.joins(150)
    for first in range(1, 151):
        group = await v.store.group(v.queue, first)
        assert group
        await join_group(v, first, 8)
    order = list(range(150, 0, -1))
    await draw(v, order)
    line = await v.line()
    assert len(line) == 150 * 9
    assert line[::9] == order
    for at in range(0, len(line), 9):
        assert line[at + 1 : at + 9] == [150 + 8 * (line[at] - 1) + i for i in range(1, 9)]


async def test_a_queue_of_the_same_name_knows_no_groups_of_before(venue: OpenVenue) -> None:
    v = await venue(**GROUPS)
    await v.joins(1)
    await join_group(v, 1, 2)
    group = await v.store.group(v.queue, 1)
    settings = (await v.store.settings(v.queue)).settings
    await v.store.delete(v.queue)
    v.clock.advance(1)
    await v.store.create(v.queue, settings)
    await v.joins(1)
    assert group
    assert isinstance(await v.try_join(group=(1, group.joined)), GroupGone)
    new = await v.store.group(v.queue, 1)
    assert new
    assert new.size == 1
    assert isinstance(await v.try_join(group=(1, new.joined)), Joined)
