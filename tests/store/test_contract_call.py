"""Calling by hand."""

from __future__ import annotations

import pytest

from fairline.domain.ticket import Action, Status
from fairline.errors import IdempotencyConflict, QueuePaused, TicketNotFound, TransitionRefused
from tests.store.venue import WALK_IN, OpenVenue


async def test_call_next_calls_the_next_in_the_line(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=120)
    await v.joins(4)
    v.clock.advance(30)
    (ticket,) = await v.store.call_next(v.queue, 1, desk="Desk 1")
    assert (ticket.number, ticket.status, ticket.desk) == (1, Status.ADMITTED, "Desk 1")
    assert (ticket.admitted, ticket.deadline) == (v.clock(), v.clock() + 120_000)
    assert await v.ticket(1) == ticket
    assert await v.call(2) == [2, 3]
    assert await v.line() == [4]
    assert (await v.happened(1))[-1] == ("called", "Desk 1")


async def test_a_call_takes_no_token_of_the_rate(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, admission_rate=1, burst=1)
    await v.joins(5)
    assert await v.call(5) == [1, 2, 3, 4, 5]


async def test_an_empty_line_calls_nobody(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    assert await v.call(3, key=b"k") == []
    await v.join()
    assert await v.call(3, key=b"k") == [1]


async def test_a_name_of_a_desk_is_kept_word_for_word(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    (ticket,) = await v.store.call_next(v.queue, 1, desk="Schalter 3 – Süd")
    assert ticket.desk == (await v.ticket(1)).desk == "Schalter 3 – Süd"


async def test_a_call_keeps_to_capacity_and_stock(venue: OpenVenue) -> None:
    for settings in ({"max_active": 2}, {"stock": 2}):
        v = await venue(**WALK_IN, **settings)
        await v.joins(4)
        assert await v.call(3) == [1, 2], settings
        assert await v.call() == [], settings
        assert await v.call(number=4) == [], settings
        await v.act(Action.NO_SHOW, 1)
        assert await v.call(3) == [3], settings


async def test_while_the_stock_is_not_known_nobody_is_called(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, stock_url="https://shop.example/stock")
    await v.join()
    assert await v.call() == []


async def test_a_queue_that_is_not_active_says_so(venue: OpenVenue) -> None:
    for status in ("paused", "maintenance"):
        v = await venue(**WALK_IN)
        await v.join()
        await v.configure(status=status)
        before = await v.everything()
        with pytest.raises(QueuePaused, match=status):
            await v.call()
        with pytest.raises(QueuePaused, match=status):
            await v.call(number=1)
        assert await v.everything() == before, status


# Retried presses


async def test_a_retried_press_calls_the_same_people(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(4)
    first = await v.store.call_next(v.queue, 2, desk="A", key=b"press")
    before = await v.everything()
    assert await v.store.call_next(v.queue, 2, desk="A", key=b"press") == first
    assert await v.everything() == before
    assert await v.call(2, desk="A", key=b"another") == [3, 4]


async def test_a_retried_press_tells_how_the_same_people_stand_now(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, retain_seconds=60)
    await v.joins(3)
    await v.call(2, key=b"press")
    await v.start(1)
    await v.act(Action.NO_SHOW, 2)
    again = await v.store.call_next(v.queue, 2, key=b"press")
    assert [(ticket.number, ticket.status) for ticket in again] == [(1, Status.ACTIVE), (2, Status.EXPIRED)]
    await v.after(61)
    assert await v.call(2, key=b"press") == [1]


async def test_a_retried_press_is_answered_while_the_queue_is_paused(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(2)
    await v.call(key=b"press")
    await v.configure(status="paused")
    assert await v.call(key=b"press") == [1]


async def test_a_key_with_another_press_is_a_conflict(venue: OpenVenue) -> None:
    others: list[dict[str, object]] = [{"count": 2}, {"desk": "B"}, {"number": 3}]
    for other in others:
        v = await venue(**WALK_IN)
        await v.joins(3)
        press: dict[str, object] = {"count": 1, "desk": "A", "key": b"press"}
        await v.store.call_next(v.queue, **press)  # type: ignore[arg-type]
        before = await v.everything()
        with pytest.raises(IdempotencyConflict):
            await v.store.call_next(v.queue, **(press | other))  # type: ignore[arg-type]
        assert await v.everything() == before, other


async def test_keys_of_calls_and_of_joins_are_apart(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join(key=b"k", fingerprint=b"f")
    assert await v.call(key=b"k") == [1]
    assert (await v.join(key=b"k", fingerprint=b"f")).ticket.number == 1


async def test_the_key_of_a_press_is_kept_for_a_day(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=86_400)
    await v.joins(2)
    await v.call(key=b"press")
    await v.after(86_399)
    assert await v.call(key=b"press") == [1]
    await v.after(1)
    assert await v.call(key=b"press") == [2]


# One by number


async def test_one_can_be_called_past_the_others(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(3)
    assert await v.call(number=2, desk="Desk") == [2]
    assert await v.line() == [1, 3]
    assert await v.call(2) == [1, 3]


async def test_a_number_that_is_not_there_is_not_found(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    with pytest.raises(TicketNotFound):
        await v.call(number=5)


async def test_who_does_not_wait_cannot_be_called(venue: OpenVenue) -> None:
    for status in set(Status) - {Status.WAITING}:
        v = await venue(**WALK_IN)
        number = await v.one(status)
        with pytest.raises(TransitionRefused) as refused:
            await v.call(number=number)
        assert (refused.value.action, refused.value.found) == (Action.CALL, status), status


# Again, and back


async def test_a_recall_renews_the_claim(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN, claim_seconds=60)
    await v.join()
    await v.call(desk="Desk 2")
    admitted = (await v.ticket(1)).admitted
    v.clock.advance(50)
    await v.act(Action.RECALL, 1)
    assert await v.seconds_left(1) == 60
    assert (await v.ticket(1)).admitted == admitted
    assert (await v.happened(1))[-1] == ("recalled", "Desk 2")
    assert await v.after(59) == {}


async def test_who_is_returned_has_the_old_place(venue: OpenVenue) -> None:
    v = await venue(admission="manual", heartbeat_timeout_seconds=60, grace_seconds=30)
    await v.joins(4)
    place = (await v.ticket(2)).place
    await v.call(3, desk="Desk 3")
    await v.act(Action.RETURN, 2)
    ticket = await v.ticket(2)
    assert (ticket.place, ticket.position, ticket.status) == (place, 1, Status.WAITING)
    assert (ticket.admitted, ticket.desk, await v.seconds_left(2)) == (0, None, 90)
    assert await v.line() == [2, 4]
    assert [what for what, _ in await v.happened(2)] == ["joined", "called", "returned"]


async def test_who_was_called_past_others_is_returned_behind_them(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.joins(4)
    await v.join(priority=3)
    await v.call(number=3)
    await v.act(Action.RETURN, 3)
    assert await v.line() == [5, 1, 2, 3, 4]
    assert (await v.ticket(3)).position == 4


async def test_who_is_returned_where_nobody_stays_in_touch_has_no_deadline(venue: OpenVenue) -> None:
    v = await venue(**WALK_IN)
    await v.join()
    await v.call()
    await v.act(Action.RETURN, 1)
    assert (await v.ticket(1)).deadline is None
    assert await v.after(86_400) == {}
