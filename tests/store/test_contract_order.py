"""Priorities: which place a ticket takes, by `tests.model.order.Order`; test_model.py tries long random histories."""

from __future__ import annotations

import random
from itertools import product

import pytest

from fairline.domain.order import BAND, LEVELS, SPAN, PriorityPolicy
from fairline.domain.ticket import Action
from fairline.errors import InvalidRequest, TicketNotFound
from fairline.store import Arrival, Joined
from tests.model.order import Order
from tests.store.venue import OpenVenue

SHARES = (0.0, 0.1, 0.5, 1.0)


async def test_places_are_those_of_the_reference(venue: OpenVenue) -> None:
    for policy, seed in product(PriorityPolicy, range(4)):
        v = await venue(priority_policy=policy, priority_skip=SHARES, max_active=1000)
        chance, order = random.Random(seed), Order()
        line: dict[int, float] = {}
        for _ in range(25):
            levels = chance.choices(LEVELS, weights=(6, 2, 2, 1), k=chance.randint(1, 6))
            items = (await v.store.join(v.queue, [Arrival(priority=level) for level in levels])).items
            for level, item in zip(levels, items, strict=True):
                assert isinstance(item, Joined), (policy, seed)
                place = order.next_place(sorted(line.values()), level, policy, SHARES)
                assert item.ticket.place == place, (policy, seed)
                line[item.ticket.number] = place
            if chance.random() < 0.5:
                leaver = chance.choice(list(line))
                await v.act(Action.LEAVE, leaver)
                del line[leaver]
            if chance.random() < 0.3:
                for number in await v.call(chance.randint(1, 3)):
                    assert number == min(line, key=lambda each: line[each]), (policy, seed)
                    del line[number]
            assert await v.line() == sorted(line, key=lambda each: line[each]), (policy, seed)


async def test_the_example_in_the_documentation_is_true(venue: OpenVenue) -> None:
    v = await venue(priority_skip=SHARES)
    await v.joins(10)
    places = [(await v.join(priority=level)).ticket.place for level in (1, 2, 1, 3, 3)]
    assert places == [9 * SPAN + 2, 6 * SPAN + 6, 9 * SPAN + 4, 14, 15]
    assert await v.line() == [14, 15, 1, 2, 3, 4, 5, 6, 12, 7, 8, 9, 11, 13, 10]


async def test_a_position_is_the_rank_in_the_line_that_admits(venue: OpenVenue) -> None:
    v = await venue(burst=100)
    await v.joins(6)
    assert (await v.join(priority=3)).ticket.position == 1
    assert (await v.join(priority=2)).ticket.position == 5
    seen = {ticket.position: ticket.number for ticket in await v.tickets()}
    assert await v.admit() == [seen[position] for position in range(1, 9)]


async def test_strict_serves_the_higher_level_first_and_equals_as_they_came(venue: OpenVenue) -> None:
    v = await venue(priority_policy="strict")
    for level in (0, 1, 2, 3, 0, 1, 2, 3):
        await v.join(priority=level)
    assert await v.line() == [4, 8, 3, 7, 2, 6, 1, 5]
    assert (await v.ticket(4)).place == 4 * SPAN - 3 * BAND


async def test_a_share_of_nothing_skips_nobody(venue: OpenVenue) -> None:
    v = await venue(priority_skip=(0, 0, 0, 0))
    await v.joins(5)
    await v.join(priority=3)
    assert await v.line() == [1, 2, 3, 4, 5, 6]


async def test_the_new_policy_holds_for_those_who_come_after_the_change(venue: OpenVenue) -> None:
    v = await venue(priority_policy="skip", priority_skip=(0, 0, 0, 0))
    await v.joins(2)
    await v.join(priority=1)
    await v.configure(priority_policy="strict")
    await v.join(priority=1)
    assert await v.line() == [4, 1, 2, 3]


# Moving up by hand


async def test_staff_move_someone_up_by_the_policy_of_the_queue(venue: OpenVenue) -> None:
    for policy, line in (("skip", [1, 2, 3, 6, 4, 5]), ("strict", [6, 1, 2, 3, 4, 5])):
        v = await venue(priority_policy=policy, priority_skip=SHARES)
        await v.joins(6)
        ticket = await v.store.prioritise(v.queue, 6, 2)
        assert (ticket.priority, ticket.position) == (2, line.index(6) + 1), policy
        assert await v.line() == line, policy
        assert (await v.happened(6))[-1] == ("prioritised", "2"), policy


async def test_nobody_is_moved_back(venue: OpenVenue) -> None:
    for policy, level in product(PriorityPolicy, LEVELS):
        v = await venue(priority_policy=policy)
        await v.join(priority=3)
        await v.joins(4)
        before = await v.ticket(1)
        ticket = await v.store.prioritise(v.queue, 1, level)
        assert ticket.place <= before.place, (policy, level)
        assert (ticket.position, ticket.priority) == (1, 3), (policy, level)
        assert await v.line() == [1, 2, 3, 4, 5], (policy, level)


async def test_who_was_moved_up_keeps_the_sign_of_life(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(3)
    v.clock.advance(10)
    before = await v.seconds_left(3)
    await v.store.prioritise(v.queue, 3, 3)
    assert await v.seconds_left(3) == before


async def test_no_two_share_a_place_after_moves_and_joins(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(10)
    for number, level in ((9, 3), (10, 3), (5, 1), (8, 2), (10, 3)):
        await v.store.prioritise(v.queue, number, level)
        await v.join(priority=level)
    places = [ticket.place for ticket in await v.tickets()]
    assert len(set(places)) == len(places) == 15


async def test_a_ticket_that_is_not_there_cannot_be_moved(venue: OpenVenue) -> None:
    v = await venue()
    with pytest.raises(TicketNotFound):
        await v.store.prioritise(v.queue, 7, 1)


async def test_a_level_that_does_not_exist_is_refused_and_changes_nothing(venue: OpenVenue) -> None:
    for level in (-1, 4, 100):
        v = await venue()
        await v.joins(3)
        before = await v.everything()
        with pytest.raises(InvalidRequest):
            await v.store.prioritise(v.queue, 2, level)
        with pytest.raises(InvalidRequest):
            await v.store.join(v.queue, [Arrival(), Arrival(priority=level)])
        with pytest.raises(InvalidRequest):
            await v.store.issue_priority_pass(v.queue, "vip", level, 1, 60)
        assert await v.everything() == before, level
