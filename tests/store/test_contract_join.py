"""Joining: numbers, order, who is the same person, and idempotency keys."""

from __future__ import annotations

from itertools import product
from typing import Any

from fairline.domain.queue_settings import OnePer, QueueStatus
from fairline.domain.ticket import LIVE, Action, Person, Status, Ticket
from fairline.errors import IdempotencyConflict, InvalidRequest, QueueFull, QueueMaintenance
from fairline.store import Arrival, Joined
from tests.backends import START
from tests.store.venue import OpenVenue, Venue

# Numbers and order


async def test_what_those_who_join_together_are_told_is_what_is_kept(venue: OpenVenue) -> None:
    v = await venue(grace_seconds=7)
    await v.joins(3)
    v.clock.advance(1.5)
    people = [Person(name="Ada", party_size=3), Person(), Person(phone="+15550100", metadata={"seat": 4})]
    arrivals = [Arrival(client=b"%d" % n, address=b"at", person=each) for n, each in enumerate(people)]
    told = (await v.store.join(v.queue, arrivals)).items
    tickets = [joined.ticket for joined in told if isinstance(joined, Joined)]
    assert tickets == (await v.store.look_up(v.queue, [4, 5, 6])).items


async def test_numbers_count_up_from_one_and_positions_are_ranks(venue: OpenVenue) -> None:
    v = await venue()
    first = await v.join()
    assert (first.ticket.number, first.ticket.position, first.created, first.proven) == (1, 1, True, True)
    assert await v.joins(3) == [2, 3, 4]
    ticket_statuses = (await v.store.status(v.queue, [4, 2, 1, 3])).items
    assert [ticket_status and ticket_status.position for ticket_status in ticket_statuses] == [4, 2, 1, 3]


async def test_a_new_ticket_waits_from_the_moment_it_joined(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=60, grace_seconds=30)
    ticket = (await v.join(client=b"me", priority=2)).ticket
    assert ticket == Ticket(
        number=1,
        status=Status.WAITING,
        priority=2,
        joined=START,
        position=1,
        deadline=START + 90_000,
        place=ticket.place,
        client=b"me",
    )
    assert await v.ticket(1) == ticket


async def test_the_answer_has_the_queue_as_the_joins_left_it(venue: OpenVenue) -> None:
    v = await venue()
    reply = await v.store.join(v.queue, [Arrival()] * 3)
    version = (await v.store.settings(v.queue)).version
    assert (reply.snapshot.waiting, reply.snapshot.now, reply.snapshot.version) == (3, START, version)


async def test_nobody_joining_is_no_error(venue: OpenVenue) -> None:
    v = await venue()
    before = await v.everything()
    assert (await v.store.join(v.queue, [])).items == []
    assert await v.everything() == before


async def test_a_clock_that_goes_back_reorders_nobody(venue: OpenVenue) -> None:
    v = await venue(heartbeat_timeout_seconds=0)
    for jump in (0, -3600, 7200, -86_400, 0, -1):
        v.clock.advance(jump)
        await v.join()
    assert await v.line() == [1, 2, 3, 4, 5, 6]
    assert await v.admit() == [1, 2, 3, 4, 5, 6]


async def test_who_leaves_is_taken_out_exactly_and_the_others_move_up(venue: OpenVenue) -> None:
    for leaver in (1, 3, 5):
        v = await venue()
        numbers = await v.joins(5)
        await v.act(Action.LEAVE, leaver)
        numbers.remove(leaver)
        assert await v.line() == numbers, leaver
        assert [ticket.position for ticket in await v.tickets(Status.WAITING)] == [1, 2, 3, 4], leaver
        assert await v.admit() == numbers, leaver


# Refusals


async def test_a_full_queue_is_refused_in_the_step(venue: OpenVenue) -> None:
    v = await venue(max_queue_size=3)
    items = (await v.store.join(v.queue, [Arrival()] * 5)).items
    assert [type(item) for item in items] == [Joined, Joined, Joined, QueueFull, QueueFull]
    refused = items[-1]
    assert isinstance(refused, QueueFull)
    assert refused.retry_after
    assert "3 waiting" in refused.message
    assert await v.line() == [1, 2, 3]
    await v.act(Action.LEAVE, 2)
    assert isinstance(await v.try_join(), Joined)
    assert isinstance(await v.try_join(), QueueFull)


async def test_those_inside_do_not_fill_the_line(venue: OpenVenue) -> None:
    v = await venue(max_queue_size=2)
    await v.joins(2)
    assert await v.admit() == [1, 2]
    await v.joins(2)


async def test_maintenance_takes_nobody(venue: OpenVenue) -> None:
    v = await venue(status="maintenance")
    before = await v.everything()
    refused = await v.try_join()
    assert isinstance(refused, QueueMaintenance)
    assert refused.retry_after
    assert await v.everything() == before


async def test_a_paused_queue_takes_joins(venue: OpenVenue) -> None:
    v = await venue(status="paused")
    await v.joins(2)
    assert await v.line() == [1, 2]


async def test_a_holder_gets_the_ticket_again_where_others_are_refused(venue: OpenVenue) -> None:
    troubles: list[dict[str, Any]] = [{"max_queue_size": 1}, {"status": QueueStatus.MAINTENANCE}]
    for trouble in troubles:
        v = await venue()
        await v.join(client=b"me", key=b"k", fingerprint=b"f")
        await v.configure(**trouble)
        assert not isinstance(await v.try_join(client=b"you"), Joined), trouble
        assert (await v.join(client=b"me")).ticket.number == 1, trouble
        assert (await v.join(key=b"k", fingerprint=b"f")).ticket.number == 1, trouble


# The same person

DETAIL = {OnePer.CLIENT: "client", OnePer.USER: "user", OnePer.PHONE: "phone", OnePer.IP: "address"}


async def test_the_same_person_is_given_one_ticket(venue: OpenVenue) -> None:
    for one_per in DETAIL:
        v = await venue(one_per=one_per)
        detail = DETAIL[one_per]
        first = await v.join(**{detail: b"same"})
        again = await v.join(**{detail: b"same"})
        assert (again.created, again.ticket) == (False, first.ticket), one_per
        other = await v.join(**{detail: b"other"})
        assert (other.created, other.ticket.number) == (True, 2), one_per
        stats = await v.store.stats(v.queue)
        assert stats.totals.joined == 2, one_per


async def test_only_the_detail_the_queue_goes_by_makes_two_people_one(venue: OpenVenue) -> None:
    for one_per in DETAIL:
        v = await venue(one_per=one_per)
        alike = {detail: b"same" for detail in DETAIL.values() if detail != DETAIL[one_per]}
        tickets = [await v.join(**alike, **{DETAIL[one_per]: b"%d" % n}) for n in range(3)]
        assert [joined.ticket.number for joined in tickets] == [1, 2, 3], one_per


async def test_where_the_detail_is_left_out_the_client_counts(venue: OpenVenue) -> None:
    for one_per in DETAIL:
        v = await venue(one_per=one_per)
        await v.join(client=b"you", **({} if one_per is OnePer.CLIENT else {DETAIL[one_per]: b"other"}))
        first = await v.join(client=b"me")
        items = (await v.store.join(v.queue, [Arrival(client=b"me")] * 2)).items
        again = [(item.ticket, item.created, item.proven) for item in items if isinstance(item, Joined)]
        assert again == [(first.ticket, False, True)] * 2, one_per
        await v.act(Action.LEAVE, first.ticket.number)
        assert (await v.join(client=b"me")).created, one_per
        assert await v.joins(2, client=b"") == [4, 5], f"{one_per}: nothing tells them apart"


async def test_who_leaves_out_a_required_field_is_given_no_ticket(venue: OpenVenue) -> None:
    v = await venue()
    before = await v.everything()
    refused = await v.try_join(client=b"me", missing="phone", key=b"k", fingerprint=b"f")
    assert isinstance(refused, InvalidRequest)
    assert refused.field == "phone"
    assert await v.everything() == before
    first = await v.join(client=b"me")
    again = await v.join(client=b"me", missing="phone")
    assert (again.created, again.ticket) == (False, first.ticket), "they have a ticket already"


async def test_no_detail_makes_two_people_one_where_the_queue_goes_by_none(venue: OpenVenue) -> None:
    v = await venue(one_per="none", join_limit_per_phone=0)
    assert await v.joins(3, **dict.fromkeys(DETAIL.values(), b"same")) == [1, 2, 3]


async def test_within_one_batch_the_same_person_is_given_one_ticket(venue: OpenVenue) -> None:
    v = await venue()
    items = (await v.store.join(v.queue, [Arrival(client=b"me"), Arrival(client=b"you"), Arrival(client=b"me")])).items
    assert [isinstance(item, Joined) and (item.ticket.number, item.created) for item in items] == [
        (1, True),
        (2, True),
        (1, False),
    ]


async def test_a_client_can_be_any_bytes(venue: OpenVenue) -> None:
    for client in (b"\x00\x01\xff", b" ", b"a b\nc", "€".encode(), b"x" * 64):
        v = await venue()
        await v.join(client=client)
        again = await v.join(client=client)
        assert (again.created, again.ticket.client) == (False, client), client


async def test_a_ticket_holds_its_holder_through_all_live_states(venue: OpenVenue) -> None:
    for status in sorted(LIVE):
        v = await venue()
        number = await v.one(status, client=b"me")
        again = await v.join(client=b"me")
        assert (again.created, again.ticket.number, again.ticket.status) == (False, number, status), status


async def returns_and_leaves(v: Venue, number: int) -> None:
    await v.call(number=number)
    await v.act(Action.RETURN, number)
    await v.act(Action.LEAVE, number)


async def lapses(v: Venue, number: int) -> None:
    assert number in await v.after(3600)


async def is_revoked(v: Venue, number: int) -> None:
    await v.store.revoke(v.queue, number, "abuse")


async def does_not_show(v: Venue, number: int) -> None:
    await v.call(number=number)
    await v.act(Action.NO_SHOW, number)


async def completes(v: Venue, number: int) -> None:
    await v.call(number=number)
    await v.start(number)
    await v.act(Action.COMPLETE, number)


async def test_a_holder_is_free_to_join_again_in_the_step_that_ends_the_ticket(venue: OpenVenue) -> None:
    for one_per, ends in product(DETAIL, (returns_and_leaves, lapses, is_revoked, does_not_show, completes)):
        v = await venue(one_per=one_per)
        me = {DETAIL[one_per]: b"me"}
        await v.join(**me)
        await ends(v, 1)
        again = await v.join(**me)
        assert (again.created, again.ticket.number) == (True, 2), (one_per, ends)


async def test_the_end_of_an_old_ticket_does_not_free_the_holder_of_the_new_one(venue: OpenVenue) -> None:
    v = await venue(retain_seconds=60, heartbeat_timeout_seconds=0)
    await v.join(client=b"me")
    await v.act(Action.LEAVE, 1)
    await v.join(client=b"me")
    assert isinstance(await v.act(Action.LEAVE, 1), Exception)
    await v.after(61)  # the first one is purged
    assert (await v.join(client=b"me")).ticket.number == 2


async def test_joining_again_does_not_change_what_was_told_before(venue: OpenVenue) -> None:
    v = await venue()
    await v.join(client=b"me", person=Person(name="Ada", party_size=2))
    again = await v.join(client=b"me", person=Person(name="Bob", party_size=9), priority=3)
    assert (again.ticket.person, again.ticket.priority) == (Person(name="Ada", party_size=2), 0)


# Proof: a place must not be had by naming someone

#: The client that joined, the one that names the same person afterwards, and whether the ticket is proven theirs.
NAMED = [
    (b"mine", b"mine", True),
    (b"mine", b"other", False),
    (b"mine", b"", False),
    (b"", b"", False),
    (b"", b"x", False),
]


async def test_naming_someone_proves_nothing_without_their_client(venue: OpenVenue) -> None:
    for one_per, (first, second, proven) in product((OnePer.USER, OnePer.PHONE, OnePer.IP), NAMED):
        v = await venue(one_per=one_per)
        me = {DETAIL[one_per]: b"me"}
        assert (await v.join(client=first, **me)).proven
        again = await v.join(client=second, **me)
        assert (again.created, again.proven) == (False, proven), (one_per, first, second)


async def test_the_same_client_is_proof(venue: OpenVenue) -> None:
    v = await venue()
    await v.join(client=b"me")
    assert (await v.join(client=b"me")).proven


# Idempotency keys


async def test_a_retried_join_gets_the_same_ticket(venue: OpenVenue) -> None:
    v = await venue()
    first = await v.join(key=b"k", fingerprint=b"f")
    before = await v.everything()
    again = await v.join(key=b"k", fingerprint=b"f")
    assert (again.ticket, again.created, again.proven) == (first.ticket, False, True)
    assert await v.everything() == before


async def test_a_retry_within_one_batch_gets_the_same_ticket(venue: OpenVenue) -> None:
    v = await venue()
    items = (await v.store.join(v.queue, [Arrival(key=b"k", fingerprint=b"f")] * 3)).items
    assert [isinstance(item, Joined) and item.ticket.number for item in items] == [1, 1, 1]


async def test_a_key_with_another_body_is_a_conflict(venue: OpenVenue) -> None:
    v = await venue()
    await v.join(key=b"k", fingerprint=b"f")
    before = await v.everything()
    assert isinstance(await v.try_join(key=b"k", fingerprint=b"g"), IdempotencyConflict)
    assert await v.everything() == before


async def test_other_keys_are_other_joins(venue: OpenVenue) -> None:
    v = await venue()
    assert [(await v.join(key=key, fingerprint=b"f")).ticket.number for key in (b"k", b"l", b"\x00 k")] == [1, 2, 3]


async def test_a_retry_after_the_ticket_ended_makes_no_second_one(venue: OpenVenue) -> None:
    v = await venue()
    await v.join(client=b"me", key=b"k", fingerprint=b"f")
    await v.act(Action.LEAVE, 1)
    again = await v.join(client=b"me", key=b"k", fingerprint=b"f")
    assert (again.created, again.ticket.number, again.ticket.status) == (False, 1, Status.EXPIRED)


async def test_a_key_is_free_once_its_ticket_is_purged(venue: OpenVenue) -> None:
    v = await venue(retain_seconds=60)
    await v.join(key=b"k", fingerprint=b"f")
    await v.act(Action.LEAVE, 1)
    await v.after(59)
    assert not (await v.join(key=b"k", fingerprint=b"f")).created
    await v.after(1)
    assert (await v.join(key=b"k", fingerprint=b"other")).created


async def test_a_refused_join_does_not_use_up_its_key(venue: OpenVenue) -> None:
    v = await venue(status="maintenance")
    assert isinstance(await v.try_join(key=b"k", fingerprint=b"f"), QueueMaintenance)
    await v.configure(status="active")
    assert (await v.join(key=b"k", fingerprint=b"f")).created


# What is kept of people

PEOPLE = [
    Person(),
    Person(user_id="u-1", name="Zoë Ångström", phone="+46 70 123 45 67", party_size=12),
    Person(address="00ff" * 4, user_agent="Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/137.0.0.0"),
    Person(user_agent="ὦ " * 100, name=""),
    Person(metadata={}),
    Person(
        metadata={
            "名前": "山田 太郎 🎟️",
            "nested": {"list": [1, 2.5, True, None, {"deep": ["", "\n\t\"'"]}]},
            "big": 2**53,
            "small": -(2**40),
        }
    ),
    Person(name="x" * 200, metadata={"long": "é" * 2000}),
]


async def test_what_people_tell_is_kept_word_for_word_through_their_stay(venue: OpenVenue) -> None:
    for person in PEOPLE:
        v = await venue()
        number = (await v.join(person=person)).ticket.number
        assert (await v.ticket(number)).person == person
        await v.call(number=number)
        await v.start(number)
        assert (await v.ticket(number)).person == person
        await v.act(Action.COMPLETE, number)
        assert [ticket.person for ticket in await v.tickets()] == [person]
