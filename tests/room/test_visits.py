"""A visit from the line to its end: what people, sites and staff are answered on the way."""

from __future__ import annotations

import pytest

from fairline.domain.events import EventType
from fairline.domain.ticket import Action, Reason, Status
from fairline.errors import (
    IdempotencyConflict,
    InvalidRequest,
    NoRoom,
    SessionTaken,
    TicketExpired,
    TicketNotFound,
    TransitionRefused,
)
from fairline.service.fairline import Room
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.room.people import admit, join, sweep

# The story of a visit


async def test_a_visit_from_the_line_to_the_end(room: Room, make_queue: MakeQueue, clock: FakeClock) -> None:
    queue = await make_queue(admission_rate=1, burst=1, max_active=1, ticket_prefix="SALE")
    ann, ben, cas = [await join(room, queue, client_id=f"client-{name}") for name in ("ann", "ben", "cas")]
    assert [each.standing.position for each in (ann, ben, cas)] == [1, 2, 3]
    assert all(each.created for each in (ann, ben, cas))
    assert ann.label == "RSALE-000001"
    assert (cas.view.waiting, cas.view.inside) == (3, 0)

    assert await admit(room, queue) == [1]
    answer = await room.status(queue, 1)
    assert (answer.standing.status, answer.standing.position, answer.wait) == (Status.ADMITTED, None, None)
    assert answer.standing.deadline == clock() + 300_000
    assert (await room.beat(queue, 2)).standing.position == 1

    clock.advance(10)
    assert await admit(room, queue) == [], "nobody else fits in"
    visit = await room.visit(queue, 1, "ann's browser")
    assert (visit.standing.status, visit.standing.deadline) == (Status.ACTIVE, clock() + 3_600_000)
    with pytest.raises(SessionTaken):
        await room.visit(queue, 1, "another browser")
    clock.advance(10)
    assert (await room.touch(queue, 1, "ann's browser")).standing.deadline == clock() + 3_600_000

    assert (await room.complete(queue, 1)).standing.status is Status.COMPLETED
    with pytest.raises(TransitionRefused, match="completed"):
        await room.complete(queue, 1)
    clock.advance(1)
    assert await admit(room, queue) == [2], "the room is free at once"
    assert (await room.leave(queue, 2)).standing.reason is Reason.LEFT
    clock.advance(1)
    assert await admit(room, queue) == [3]

    ticket = await room.ticket(queue, 1)
    assert (ticket.page_views, ticket.status) == (2, Status.COMPLETED)
    happened = [(event.type, event.ticket) for event in await room.events(queue, None)]
    assert happened == [
        (EventType.QUEUE_CREATED, None),
        (EventType.JOINED, 1),
        (EventType.JOINED, 2),
        (EventType.JOINED, 3),
        (EventType.ADMITTED, 1),
        (EventType.STARTED, 1),
        (EventType.COMPLETED, 1),
        (EventType.ADMITTED, 2),
        (EventType.EXPIRED, 2),
        (EventType.ADMITTED, 3),
    ]
    stats = await room.stats(queue)
    assert (stats.totals.joined, stats.totals.admitted, stats.totals.completed) == (3, 3, 1)
    assert stats.totals.expired_by_reason == {Reason.LEFT: 1}


async def test_a_desk_calls_people_by_hand(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(admission="manual", max_active=2)
    for _ in range(5):
        await join(room, queue)
    assert await admit(room, queue) == []
    (first,) = await room.call_next(queue, desk="Desk 1", key="press-1", staff="ann")
    (again,) = await room.call_next(queue, desk="Desk 1", key="press-1", staff="ann")
    assert (first.number, again.number, again.desk) == (1, 1, "Desk 1")
    (other,) = await room.call_next(queue, desk="Desk 2", key="press-1", staff="ben")
    assert other.number == 2, "the same key of another member of staff is another press"
    assert await room.call_next(queue) == []
    with pytest.raises(NoRoom):
        await room.call(queue, 5)
    with pytest.raises(IdempotencyConflict):
        await room.call_next(queue, 2, desk="Desk 1", key="press-1", staff="ann")

    assert (await room.act(queue, Action.RETURN, 1)).position == 1
    assert (await room.call(queue, 5, "Desk 1")).status is Status.ADMITTED
    assert (await room.act(queue, Action.NO_SHOW, 5)).reason is Reason.NO_SHOW
    assert (await room.prioritise(queue, 4, 3)).position == 1


# Ends


async def test_a_beat_on_an_expired_ticket_says_why_it_is_gone(
    room: Room, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(heartbeat_timeout_seconds=60, grace_seconds=30, retain_seconds=100)
    silent, leaver, alive = [(await join(room, queue)).standing.number for _ in range(3)]
    await room.leave(queue, leaver)
    clock.advance(86)
    await room.beat(queue, alive)
    clock.advance(4)
    assert await sweep(room, queue) == {silent: Reason.HEARTBEAT_TIMEOUT}
    for number, reason in ((silent, Reason.HEARTBEAT_TIMEOUT), (leaver, Reason.LEFT)):
        with pytest.raises(TicketExpired) as gone:
            await room.beat(queue, number)
        assert gone.value.reason == reason
        assert gone.value.code == "ticket_expired"
        answer = await room.status(queue, number)
        assert (answer.standing.status, answer.standing.reason) == (Status.EXPIRED, reason)
    assert (await room.beat(queue, alive)).standing.position == 1

    clock.advance(100)
    await room.beat(queue, alive)
    await sweep(room, queue)
    for number in (silent, leaver):
        for ask in (room.beat, room.status, room.unload):
            with pytest.raises(TicketExpired) as gone:
                await ask(queue, number)
            assert gone.value.reason == "purged"
        with pytest.raises(TicketNotFound):
            await room.ticket(queue, number)


async def test_a_closed_page_has_the_grace_to_come_back(room: Room, make_queue: MakeQueue, clock: FakeClock) -> None:
    queue = await make_queue(grace_seconds=30)
    back, gone = [(await join(room, queue)).standing.number for _ in range(2)]
    for number in (back, gone):
        assert (await room.unload(queue, number)).standing.leaving
    clock.advance(29)
    answer = await room.beat(queue, back)
    assert (answer.standing.position, answer.standing.leaving) == (1, False)
    clock.advance(1)
    assert await sweep(room, queue) == {gone: Reason.LEFT}


async def test_a_revoked_ticket_is_of_no_use(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    await join(room, queue)
    await admit(room, queue)
    await room.start(queue, 1, "browser")
    assert (await room.revoke(queue, 1, "abuse_detected")).reason is Reason.REVOKED
    with pytest.raises(TransitionRefused):
        await room.touch(queue, 1, "browser")
    for reason in ("", "x" * 201, "\x00", "\ud800"):
        with pytest.raises(InvalidRequest, match="reason"):
            await room.revoke(queue, 1, reason)
