"""Who has come near the front of the line is noted once, whatever happens to them afterwards."""

from __future__ import annotations

import asyncio

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Person
from fairline.errors import InvalidRequest, QueueNotFound
from fairline.store import Arrival, Store
from tests.store.venue import WALK_IN, OpenVenue, Venue


async def told(v: Venue) -> list[tuple[int | None, str | None]]:
    return [(e.ticket, e.detail) for e in await v.store.events(v.queue, None, 1000) if e.type == "nearly"]


async def test_the_first_in_line_are_noted_of_once_with_their_position(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    assert await v.store.note_nearly(v.queue, 3) == []
    await v.joins(5)
    assert await v.store.note_nearly(v.queue, 3) == [1, 2, 3]
    assert await v.store.note_nearly(v.queue, 3) == []
    await v.call()
    assert await v.store.note_nearly(v.queue, 3) == [4]
    assert await told(v) == [(1, "1"), (2, "2"), (3, "3"), (4, "3")]


async def test_nobody_is_noted_twice_who_was_on_hold_stepped_back_or_came_back(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(6)
    assert await v.store.note_nearly(v.queue, 2) == [1, 2]
    await v.act(Action.HOLD, 1)
    assert await v.store.note_nearly(v.queue, 2) == [3]
    await v.act(Action.RELEASE, 1)
    await v.store.step_back(v.queue, 2, 3)
    assert await v.call() == [1]
    await v.act(Action.RETURN, 1)
    assert await v.line() == [1, 3, 4, 5, 2, 6]
    assert await v.store.note_nearly(v.queue, 5) == [4, 5]
    assert [number for number, _ in await told(v)] == [1, 2, 3, 4, 5]


async def test_who_is_on_hold_is_not_nearly_there(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(3)
    await v.act(Action.HOLD, 1)
    assert await v.store.note_nearly(v.queue, 1) == [2]
    await v.act(Action.RELEASE, 1)
    assert await v.store.note_nearly(v.queue, 1) == [1]


async def test_of_many_keepers_one_notes_it(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(20)
    found = await asyncio.gather(*(v.store.note_nearly(v.queue, 10) for _ in range(12)))
    assert sorted(number for numbers in found for number in numbers) == list(range(1, 11))


async def test_the_note_leaves_the_rest_of_the_ticket_as_it_was(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, series=("A",))
    await v.joins(2)
    before = [await v.ticket(n) for n in (1, 2)]
    await v.store.note_nearly(v.queue, 2)
    assert [await v.ticket(n) for n in (1, 2)] == before
    ticket = await v.store.rebind(v.queue, 1, before[0].joined, 0, b"another")
    assert (ticket.moved, ticket.serial) == (1, before[0].serial)
    assert await v.store.note_nearly(v.queue, 2) == []


async def test_how_many_must_be_a_number_that_one_step_can_bear(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    for places in (0, 101):
        with pytest.raises(InvalidRequest, match="from 1 to 100"):
            await v.store.note_nearly(v.queue, places)


async def test_a_queue_that_is_not_there(store: Store) -> None:
    with pytest.raises(QueueNotFound):
        await store.note_nearly(QueueId("nowhere"), 3)


async def test_where_and_in_which_language_someone_is_told_is_kept(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    person = Person(name="Ada", email="ada@example.com", language="de")
    await v.store.join(v.queue, [Arrival(person=person), Arrival(person=Person(language="ko")), Arrival()])
    assert [(await v.ticket(n)).person for n in (1, 2, 3)] == [person, Person(language="ko"), Person()]
