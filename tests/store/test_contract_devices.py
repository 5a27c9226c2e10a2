"""A ticket that goes on to another device: one has it at a time."""

from __future__ import annotations

import asyncio

import pytest

from fairline.domain.ticket import Action, Person
from fairline.errors import HolderInLine, TicketNotFound, TokenMoved, TransitionRefused
from tests.conftest import OpenStore
from tests.store.venue import WALK_IN, OpenVenue


async def test_a_ticket_goes_on_to_another_device_and_is_held_there(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    joined = (await v.join(client=b"old", key=b"k", fingerprint=b"f", person=Person(name="Ann"))).ticket
    moved = await v.store.rebind(v.queue, 1, joined.joined, 0, b"new")
    assert (moved.client, moved.moved, moved.position, moved.place) == (b"new", 1, 1, joined.place)
    assert (await v.heartbeat(1)).moved == 1
    assert (await v.join(client=b"new")).ticket.number == 1
    # The key of the old device neither gives the place back to it nor makes another; its client is free to join again.
    again = await v.join(client=b"old", key=b"k", fingerprint=b"f")
    assert (again.ticket.number, again.created, again.by_key, again.proven) == (1, False, True, False)
    assert (await v.join(client=b"new", key=b"k", fingerprint=b"f")).proven
    back = await v.store.rebind(v.queue, 1, joined.joined, 1, b"old")
    assert (back.client, back.moved) == (b"old", 2)
    assert (await v.join(client=b"old", key=b"k", fingerprint=b"f")).proven
    assert (await v.join(client=b"new")).ticket.number == 2


async def test_a_ticket_that_has_moved_very_often_has_still_moved(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    joined = (await v.join(client=b"old", key=b"k", fingerprint=b"f")).ticket.joined
    moved = 0
    for turn in range(257):
        moved = (await v.store.rebind(v.queue, 1, joined, moved, b"new %d" % turn)).moved
        assert 1 <= moved <= 255
    assert not (await v.join(client=b"old", key=b"k", fingerprint=b"f")).proven


async def test_of_two_devices_one_has_the_ticket(venue: OpenVenue, another_store: OpenStore) -> None:
    v = await venue(**WALK_IN)
    joined = (await v.join(client=b"old")).ticket.joined
    stores = [await another_store() for _ in range(4)]
    outcomes = await asyncio.gather(
        *(each.rebind(v.queue, 1, joined, 0, b"new %d" % i) for i, each in enumerate(stores)), return_exceptions=True
    )
    assert sum(isinstance(outcome, TokenMoved) for outcome in outcomes) == 3
    (winner,) = (i for i, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException))
    assert (await v.ticket(1)).client == b"new %d" % winner


async def test_a_device_that_holds_another_ticket_cannot_take_one_over(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    joined = (await v.join(client=b"one")).ticket.joined
    await v.join(client=b"two")
    with pytest.raises(HolderInLine):
        await v.store.rebind(v.queue, 1, joined, 0, b"two")
    await v.act(Action.CANCEL, 1)
    with pytest.raises(TransitionRefused):
        await v.store.rebind(v.queue, 1, joined, 0, b"three")
    with pytest.raises(TicketNotFound):
        await v.store.rebind(v.queue, 2, joined - 1, 0, b"three")


async def test_a_phone_holds_its_ticket_on_any_device(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, one_per="phone", join_limit_per_phone=0)
    joined = (await v.join(client=b"old", phone=b"mine")).ticket.joined
    await v.store.rebind(v.queue, 1, joined, 0, b"new")
    existing = await v.join(client=b"old", phone=b"mine")
    assert (existing.ticket.number, existing.proven) == (1, False)
    assert (await v.join(client=b"new", phone=b"mine")).proven
