"""A visit from the line to its end: what people, sites and staff are answered on the way."""

from __future__ import annotations

import pytest

from fairline.domain.events import EventType
from fairline.domain.ticket import Action, Reason, Status
from fairline.errors import (
    AtCapacity,
    IdempotencyConflict,
    InvalidRequest,
    SessionTaken,
    TicketExpired,
    TicketNotFound,
    TransitionRefused,
)
from fairline.service.fairline import Fairline
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.service.people import admit, join, sweep

# The story of a visit


async def test_a_visit_from_the_line_to_the_end(service: Fairline, make_queue: MakeQueue, clock: FakeClock) -> None:
    queue = await make_queue(admission_rate=1, burst=1, max_active=1, ticket_prefix="SALE")
    ann, ben, cas = [await join(service, queue, client_id=f"client-{name}") for name in ("ann", "ben", "cas")]
    assert [each.ticket_status.position for each in (ann, ben, cas)] == [1, 2, 3]
    assert all(each.created for each in (ann, ben, cas))
    assert ann.label == "RSALE-000001"
    assert (cas.snapshot.waiting, cas.snapshot.inside) == (3, 0)

    assert await admit(service, queue) == [1]
    answer = await service.status(queue, 1)
    assert (answer.ticket_status.status, answer.ticket_status.position, answer.wait) == (Status.ADMITTED, None, None)
    assert answer.ticket_status.deadline == clock() + 300_000
    assert (await service.heartbeat(queue, 2)).ticket_status.position == 1

    clock.advance(10)
    assert await admit(service, queue) == [], "nobody else fits in"
    visit = await service.visit(queue, 1, "ann's browser")
    assert (visit.ticket_status.status, visit.ticket_status.deadline) == (Status.ACTIVE, clock() + 3_600_000)
    with pytest.raises(SessionTaken):
        await service.visit(queue, 1, "another browser")
    clock.advance(10)
    assert (await service.touch(queue, 1, "ann's browser")).ticket_status.deadline == clock() + 3_600_000

    assert (await service.complete(queue, 1)).ticket_status.status is Status.COMPLETED
    with pytest.raises(TransitionRefused, match="completed"):
        await service.complete(queue, 1)
    clock.advance(1)
    assert await admit(service, queue) == [2], "the capacity is free at once"
    assert (await service.leave(queue, 2)).ticket_status.reason is Reason.LEFT
    clock.advance(1)
    assert await admit(service, queue) == [3]

    ticket = await service.ticket(queue, 1)
    assert (ticket.page_views, ticket.status) == (2, Status.COMPLETED)
    happened = [(event.type, event.ticket) for event in await service.events(queue, None)]
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
    stats = await service.stats(queue)
    assert (stats.totals.joined, stats.totals.admitted, stats.totals.completed) == (3, 3, 1)
    assert stats.totals.expired_by_reason == {Reason.LEFT: 1}


async def test_a_desk_calls_people_by_hand(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(admission="manual", max_active=2)
    for _ in range(5):
        await join(service, queue)
    assert await admit(service, queue) == []
    (first,) = await service.call_next(queue, desk="Desk 1", key="press-1", staff="ann")
    (again,) = await service.call_next(queue, desk="Desk 1", key="press-1", staff="ann")
    assert (first.number, again.number, again.desk) == (1, 1, "Desk 1")
    (other,) = await service.call_next(queue, desk="Desk 2", key="press-1", staff="ben")
    assert other.number == 2, "the same key of another member of staff is another press"
    assert await service.call_next(queue) == []
    with pytest.raises(AtCapacity):
        await service.call(queue, 5)
    with pytest.raises(IdempotencyConflict):
        await service.call_next(queue, 2, desk="Desk 1", key="press-1", staff="ann")

    assert (await service.act(queue, Action.RETURN, 1)).position == 1
    assert (await service.call(queue, 5, "Desk 1")).status is Status.ADMITTED
    assert (await service.act(queue, Action.NO_SHOW, 5)).reason is Reason.NO_SHOW
    assert (await service.prioritise(queue, 4, 3)).position == 1


# Ends


async def test_a_heartbeat_on_an_expired_ticket_says_why_it_is_gone(
    service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(heartbeat_timeout_seconds=60, grace_seconds=30, retain_seconds=100)
    silent, leaver, alive = [(await join(service, queue)).ticket_status.number for _ in range(3)]
    await service.leave(queue, leaver)
    clock.advance(86)
    await service.heartbeat(queue, alive)
    clock.advance(4)
    assert await sweep(service, queue) == {silent: Reason.HEARTBEAT_TIMEOUT}
    for number, reason in ((silent, Reason.HEARTBEAT_TIMEOUT), (leaver, Reason.LEFT)):
        with pytest.raises(TicketExpired) as gone:
            await service.heartbeat(queue, number)
        assert gone.value.reason == reason
        assert gone.value.code == "ticket_expired"
        answer = await service.status(queue, number)
        assert (answer.ticket_status.status, answer.ticket_status.reason) == (Status.EXPIRED, reason)
    assert (await service.heartbeat(queue, alive)).ticket_status.position == 1

    clock.advance(100)
    await service.heartbeat(queue, alive)
    await sweep(service, queue)
    for number in (silent, leaver):
        for ask in (service.heartbeat, service.status, service.unload):
            with pytest.raises(TicketExpired) as gone:
                await ask(queue, number)
            assert gone.value.reason == "purged"
        with pytest.raises(TicketNotFound):
            await service.ticket(queue, number)


async def test_a_closed_page_has_the_grace_to_come_back(
    service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(grace_seconds=30)
    back, gone = [(await join(service, queue)).ticket_status.number for _ in range(2)]
    for number in (back, gone):
        assert (await service.unload(queue, number)).ticket_status.leaving
    clock.advance(29)
    answer = await service.heartbeat(queue, back)
    assert (answer.ticket_status.position, answer.ticket_status.leaving) == (1, False)
    clock.advance(1)
    assert await sweep(service, queue) == {gone: Reason.LEFT}


async def test_a_revoked_ticket_is_of_no_use(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    await join(service, queue)
    await admit(service, queue)
    await service.start(queue, 1, "browser")
    assert (await service.revoke(queue, 1, "abuse_detected")).reason is Reason.REVOKED
    with pytest.raises(TransitionRefused):
        await service.touch(queue, 1, "browser")
    for reason in ("", "x" * 201, "\x00", "\ud800"):
        with pytest.raises(InvalidRequest, match="reason"):
            await service.revoke(queue, 1, reason)
