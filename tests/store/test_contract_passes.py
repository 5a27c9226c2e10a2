"""Priority passes: what they grant, how often, and until when."""

from __future__ import annotations

import pytest

from fairline.domain.ticket import Action
from fairline.errors import PassInvalid, PriorityPassNotFound, QueueMaintenance, RateLimited
from fairline.store import Arrival, Joined, PriorityPass
from tests.backends import START
from tests.store.venue import OpenVenue, Venue


async def used(v: Venue) -> dict[str, int]:
    return {each.id: each.used for each in await v.store.passes(v.queue)}


async def refusal(v: Venue, pass_id: str = "vip") -> str:
    """What is wrong with the session token."""
    before = await v.everything()
    refused = await v.try_join(pass_id=pass_id)
    assert isinstance(refused, PassInvalid), refused
    assert await v.everything() == before
    return refused.message


async def test_a_priority_pass_grants_its_level(venue: OpenVenue) -> None:
    for level, position in ((1, 10), (2, 6), (3, 1)):
        v = await venue(priority_skip=(0, 0.1, 0.5, 1))
        await v.joins(10)
        await v.store.issue_priority_pass(v.queue, "vip", level, 1, 60)
        ticket = (await v.join(pass_id="vip")).ticket
        assert (ticket.priority, ticket.position) == (level, position), level


async def test_the_level_is_the_passs_whatever_the_arrival_says(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 1, 1, 60)
    assert (await v.join(pass_id="vip", priority=3)).ticket.priority == 1


async def test_a_priority_pass_can_be_used_as_often_as_it_says(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 1, 3, 60)
    await v.join(pass_id="vip")
    items = (await v.store.join(v.queue, [Arrival(pass_id="vip")] * 4)).items
    assert [type(item) for item in items] == [Joined, Joined, PassInvalid, PassInvalid]
    assert await used(v) == {"vip": 3}
    assert "used up" in await refusal(v)


async def test_a_priority_pass_is_not_used_by_a_join_that_is_no_new_one(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 1, 5, 60)
    for _ in range(3):
        await v.join(client=b"me", pass_id="vip")
        await v.join(key=b"k", fingerprint=b"f", pass_id="vip")
    assert await used(v) == {"vip": 2}


async def test_a_priority_pass_is_not_used_by_a_join_that_is_refused(venue: OpenVenue) -> None:
    v = await venue(join_limit_per_ip=1)
    await v.store.issue_priority_pass(v.queue, "vip", 1, 5, 60)
    await v.join(address=b"home", pass_id="vip")
    assert isinstance(await v.try_join(address=b"home", pass_id="vip"), RateLimited)
    await v.configure(status="maintenance")
    assert isinstance(await v.try_join(pass_id="vip"), QueueMaintenance)
    assert await used(v) == {"vip": 1}


async def test_a_used_priority_pass_is_not_given_back_when_the_ticket_ends(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 1, 1, 60)
    await v.join(pass_id="vip")
    await v.act(Action.LEAVE, 1)
    assert "used up" in await refusal(v)


async def test_a_priority_pass_that_was_never_issued_is_refused(venue: OpenVenue) -> None:
    v = await venue()
    assert "ended or was withdrawn" in await refusal(v, "made-up")


async def test_a_withdrawn_priority_pass_is_useless_at_once(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 3, 10, 60)
    await v.store.issue_priority_pass(v.queue, "other", 3, 10, 60)
    await v.store.withdraw_priority_pass(v.queue, "vip")
    assert "withdrawn" in await refusal(v)
    assert list(await used(v)) == ["other"]
    with pytest.raises(PriorityPassNotFound):
        await v.store.withdraw_priority_pass(v.queue, "vip")


async def test_a_priority_pass_ends_at_its_moment_with_or_without_a_sweep(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "vip", 3, 10, 60)
    v.clock.advance(59.999)
    await v.join(pass_id="vip")
    v.clock.advance(0.001)
    assert "ended" in await refusal(v)
    assert await v.store.passes(v.queue) == []
    with pytest.raises(PriorityPassNotFound):
        await v.store.withdraw_priority_pass(v.queue, "vip")
    await v.sweep()
    assert "ended" in await refusal(v)


async def test_passes_are_listed_by_id_with_what_is_left_of_them(venue: OpenVenue) -> None:
    v = await venue()
    await v.store.issue_priority_pass(v.queue, "b", 1, 2, 60)
    v.clock.advance(1)
    await v.store.issue_priority_pass(v.queue, "a", 3, 1, 3600)
    await v.join(pass_id="b")
    await v.sweep()
    assert await v.store.passes(v.queue) == [
        PriorityPass("a", 3, 1, 0, START + 3_601_000),
        PriorityPass("b", 1, 2, 1, START + 60_000),
    ]
