"""The use cases on a real Valkey: what people, sites and staff are answered, alone and all at once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from fairline import identity as identity_module
from fairline.arrival import Caller, JoinRequest
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    IdempotencyConflict,
    InvalidRequest,
    InvalidSettings,
    NoRoom,
    PassInvalid,
    PassNotFound,
    QueueExists,
    QueueNotFound,
    RateLimited,
    SessionTaken,
    SettingsChanged,
    TicketExpired,
    TicketNotFound,
    TransitionRefused,
)
from fairline.events import EventType
from fairline.queue import QueueId
from fairline.room import Room, Welcome
from fairline.store import Store, open_store
from fairline.ticket import Action, Reason, Status
from fairline.token import Keyring, PriorityClaims
from tests.backends import FakeClock
from tests.conftest import MakeQueue

SECRET = b"a secret that all workers share."
#: As `every` of a sweep: however long ago the last one was, it was no outage.
NO_OUTAGE = 1e9

OpenRoom: TypeAlias = Callable[[], Awaitable[Room]]


@pytest.fixture
async def open_room(valkey_url: str, clock: FakeClock) -> AsyncIterator[OpenRoom]:
    """Opens rooms on the same store, each with connections of its own, as workers are."""
    rooms: list[Room] = []

    async def open_another() -> Room:
        rooms.append(Room(await open_store(valkey_url, clock=clock), Keyring(SECRET)))
        return rooms[-1]

    yield open_another
    for room in rooms:
        await room.close()
        await room.store.close()


@pytest.fixture
async def room(open_room: OpenRoom) -> Room:
    return await open_room()


@pytest.fixture
def store(room: Room) -> Store:
    """What `make_queue` makes queues in."""
    return room.store


async def join(room: Room, queue: QueueId, caller: Caller | None = None, **body: Any) -> Welcome:
    return await room.join(queue, JoinRequest(**body), caller or Caller())


async def admit(room: Room, queue: QueueId) -> list[int]:
    """What a keeper does."""
    return (await room.store.admit(queue, 1000)).items


async def sweep(room: Room, queue: QueueId) -> dict[int, Reason]:
    """What a keeper does."""
    lapsed = (await room.store.sweep(queue, 1000, every=NO_OUTAGE)).lapsed
    return {lapse.number: lapse.reason for lapse in lapsed}


async def joined_total(room: Room, queue: QueueId) -> int:
    return (await room.stats(queue)).totals.joined


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


async def test_a_counter_calls_people_by_hand(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(admission="manual", max_active=2)
    for _ in range(5):
        await join(room, queue)
    assert await admit(room, queue) == []
    (first,) = await room.call_next(queue, counter="Desk 1", key="press-1", staff="ann")
    (again,) = await room.call_next(queue, counter="Desk 1", key="press-1", staff="ann")
    assert (first.number, again.number, again.counter) == (1, 1, "Desk 1")
    (other,) = await room.call_next(queue, counter="Desk 2", key="press-1", staff="ben")
    assert other.number == 2, "the same key of another member of staff is another press"
    assert await room.call_next(queue) == []
    with pytest.raises(NoRoom):
        await room.call(queue, 5)
    with pytest.raises(IdempotencyConflict):
        await room.call_next(queue, 2, counter="Desk 1", key="press-1", staff="ann")

    assert (await room.act(queue, Action.RETURN, 1)).position == 1
    assert (await room.call(queue, 5, "Desk 1")).status is Status.ADMITTED
    assert (await room.act(queue, Action.NO_SHOW, 5)).reason is Reason.NO_SHOW
    assert (await room.prioritise(queue, 4, 3)).position == 1


# Who holds a ticket


async def test_the_same_client_comes_back_to_the_same_ticket(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    first = await join(room, queue, client_id="client-ann", name="Ann")
    again = await join(room, queue, client_id="client-ann", name="Somebody Else")
    assert (first.created, again.created) == (True, False)
    assert again.standing.number == first.standing.number == 1
    assert (await join(room, queue, client_id="client-ben")).standing.number == 2
    assert (await room.ticket(queue, 1)).person.name == "Ann"


async def test_the_same_client_keeps_the_ticket_inside_and_gets_a_new_one_after(
    room: Room, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    await join(room, queue, client_id="client-ann")
    await admit(room, queue)
    held = await join(room, queue, client_id="client-ann")
    assert (held.standing.number, held.standing.status) == (1, Status.ADMITTED)
    await room.start(queue, 1, "browser")
    assert (await join(room, queue, client_id="client-ann")).standing.status is Status.ACTIVE
    await room.complete(queue, 1)
    new = await join(room, queue, client_id="client-ann")
    assert (new.created, new.standing.number) == (True, 2)


@pytest.mark.parametrize(("one_per", "details"), [("user", {"user_id": "ann"}), ("phone", {"phone": "+43 1 23456"})])
async def test_someone_elses_details_never_open_their_place(
    room: Room, make_queue: MakeQueue, one_per: str, details: dict[str, Any]
) -> None:
    queue = await make_queue(one_per=one_per, join_limit_per_phone=0)
    first = await join(room, queue, client_id="client-ann", **details)
    thieves: list[dict[str, Any]] = [{"client_id": "client-thief"}, {}, {"idempotency_key": "1"}]
    for thief in thieves:
        with pytest.raises(AlreadyInLine):
            await join(room, queue, **thief, **details)
    for wrong in ((0, 0), (2, 0), (-1, 0), (first.standing.number, 1)):
        with pytest.raises(AlreadyInLine):
            await join(room, queue, Caller(holds=wrong), **details)
    assert await joined_total(room, queue) == 1

    proven = await join(room, queue, Caller(holds=(first.standing.number, 0)), **details)
    assert (proven.standing.number, proven.created) == (1, False)
    same_client = await join(room, queue, client_id="client-ann", **details)
    assert same_client.standing.number == 1


async def test_what_is_kept_of_a_client_and_an_address_is_a_digest(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    await join(room, queue, Caller(address="203.0.113.9", user_agent="Agent \ud800\x00"), client_id="client-ann")
    ticket = await room.ticket(queue, 1)
    assert "203.0.113.9" not in str(ticket)
    assert "client-ann" not in str(ticket)
    assert ticket.client
    assert ticket.person.address
    assert ticket.person.user_agent == "Agent ??"


# Idempotency


async def test_a_retried_join_is_the_same_join(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="none")
    body: dict[str, Any] = {"idempotency_key": "key-1", "name": "Ann", "metadata": {"b": 1, "a": [1, {"d": 2, "c": 3}]}}
    first = await join(room, queue, **body)
    reordered = body | {"metadata": {"a": [1, {"c": 3, "d": 2}], "b": 1}}
    again = await join(room, queue, **reordered)
    assert (again.standing.number, again.created) == (first.standing.number, False)
    with pytest.raises(IdempotencyConflict):
        await join(room, queue, **body | {"name": "Ben"})
    assert (await join(room, queue, **body | {"idempotency_key": "key-2"})).created
    assert await joined_total(room, queue) == 2


async def test_the_same_key_of_another_member_of_staff_is_a_new_join(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="none")
    numbers = [
        (await join(room, queue, caller, idempotency_key="key-1", name="Ann")).standing.number
        for caller in (Caller(staff="a"), Caller(staff="b"), Caller(), Caller(staff="a"), Caller(staff="b"), Caller())
    ]
    assert numbers == [1, 2, 3, 1, 2, 3]


async def test_staff_who_give_another_level_with_the_same_key_are_told(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="none")
    await join(room, queue, Caller(staff="a", priority=1), idempotency_key="key-1")
    with pytest.raises(IdempotencyConflict):
        await join(room, queue, Caller(staff="a", priority=3), idempotency_key="key-1")


async def test_a_key_counts_for_one_queue(room: Room, make_queue: MakeQueue) -> None:
    first = await make_queue()
    second = QueueId(f"{first}-2")
    await room.create(second, {})
    for queue in (first, second):
        assert (await join(room, queue, idempotency_key="key-1")).created


# Priority


async def test_a_pass_goes_ahead_as_often_as_it_may(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="client")
    for _ in range(4):
        await join(room, queue)
    pass_id, text = await room.issue_pass(queue, 3, uses=2)
    ahead = await join(room, queue, client_id="client-vip", priority_pass=text)
    assert (ahead.standing.position, ahead.standing.priority) == (1, 3)
    held = await join(room, queue, client_id="client-vip", priority_pass=text)
    assert held.standing.number == ahead.standing.number
    assert [(each.id, each.used) for each in await room.passes(queue)] == [(pass_id, 1)], "coming back uses nothing up"
    assert (await join(room, queue, priority_pass=text)).standing.position == 2
    with pytest.raises(PassInvalid, match="used up"):
        await join(room, queue, priority_pass=text)
    assert await joined_total(room, queue) == 6


async def test_a_pass_that_is_forged_over_elsewhere_or_withdrawn_joins_nobody(
    room: Room, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await make_queue()
    other = QueueId(f"{queue}-2")
    await room.create(other, {})
    pass_id, text = await room.issue_pass(queue, 3, seconds=3600)
    claims = room.keyring.priorities.check(text, 0)
    stranger = Keyring(b"the secret of some other server.").priorities
    never_issued = PriorityClaims(queue=queue, expires=claims.expires, id="0" * 16, level=3)
    bad = {
        text[:-1] + ("A" if text[-1] != "A" else "B"): "token_invalid",
        "let me in": "token_invalid",
        stranger.sign(claims): "token_invalid",
        (await room.issue_pass(other, 3))[1]: "for another queue",
        room.keyring.priorities.sign(never_issued): "withdrawn",
    }
    for forged, problem in bad.items():
        with pytest.raises(PassInvalid, match=problem):
            await join(room, queue, priority_pass=forged, client_id="client-ann")

    with monkeypatch.context() as later:
        later.setattr(identity_module, "time", SimpleNamespace(time=lambda: float(claims.expires)))
        with pytest.raises(PassInvalid, match="token_expired"):
            await join(room, queue, priority_pass=text)
    await room.withdraw_pass(queue, pass_id)
    with pytest.raises(PassInvalid, match="withdrawn"):
        await join(room, queue, priority_pass=text)
    with pytest.raises(PassNotFound):
        await room.withdraw_pass(queue, pass_id)
    assert await joined_total(room, queue) == 0
    assert (await join(room, queue)).standing.number == 1


async def test_a_pass_refused_in_a_batch_refuses_nobody_else(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    _, text = await room.issue_pass(queue, 2)
    outcomes = await asyncio.gather(
        *(join(room, queue, priority_pass=text if n % 2 else None) for n in range(8)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes[::2]] == [Welcome] * 4
    assert Counter(type(outcome) for outcome in outcomes[1::2]) == {Welcome: 1, PassInvalid: 3}


async def test_staff_give_levels_and_are_not_held_to_limits(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(join_limit_per_ip=1, one_per="none")
    counter = Caller(address="203.0.113.9", staff="ann")
    for _ in range(5):
        await join(room, queue, counter)
    ahead = await join(room, queue, Caller(address="203.0.113.9", staff="ann", priority=3))
    assert (ahead.standing.position, ahead.standing.priority) == (1, 3)
    for level in (-1, 4):
        with pytest.raises(InvalidRequest, match="priority"):
            await join(room, queue, Caller(staff="ann", priority=level))
    await join(room, queue, Caller(address="203.0.113.9"))
    with pytest.raises(RateLimited) as refused:
        await join(room, queue, Caller(address="203.0.113.9"))
    assert refused.value.who == "address"
    assert refused.value.retry_after == 60
    assert await joined_total(room, queue) == 7


# Ends


async def test_a_beat_on_an_expired_ticket_says_why_it_is_gone(
    room: Room, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(heartbeat_timeout_seconds=60, grace_seconds=30, retain_seconds=100)
    silent, leaver, alive = [(await join(room, queue)).standing.number for _ in range(3)]
    await room.leave(queue, leaver)
    clock.advance(80)
    await room.beat(queue, alive)
    clock.advance(10)
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


# Settings


async def test_a_change_by_another_worker_counts_from_the_very_next_answer(
    open_room: OpenRoom, room: Room, make_queue: MakeQueue
) -> None:
    queue = await make_queue(ticket_prefix="OLD", admission_rate=1)
    other = await open_room()
    await join(room, queue)
    assert (await room.status(queue, 1)).label == "ROLD-000001"
    for prefix in ("NEW", "NEWER"):
        await other.configure(queue, {"ticket_prefix": prefix})
        assert (await room.status(queue, 1)).label == f"R{prefix}-000001"
        assert (await room.beat(queue, 1)).label == f"R{prefix}-000001"
        assert (await join(room, queue)).settings.ticket_prefix == prefix
        assert (await room.view(queue))[1].ticket_prefix == prefix


async def test_settings_are_read_again_only_when_they_changed(
    room: Room, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await make_queue()
    await join(room, queue)

    async def no_more(_: QueueId) -> None:
        raise AssertionError("they were read again")

    monkeypatch.setattr(room.store, "settings", no_more)
    await join(room, queue)
    await room.beat(queue, 1)


async def test_a_queue_made_anew_by_another_worker_is_not_taken_for_the_old_one(
    open_room: OpenRoom, room: Room, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(ticket_prefix="OLD")
    other = await open_room()
    assert (await join(room, queue)).label == "ROLD-000001"
    await other.delete(queue)
    for ask in (room.status, room.beat):
        with pytest.raises(QueueNotFound):
            await ask(queue, 1)
    clock.advance(1)
    await other.create(queue, {"ticket_prefix": "NEW"})
    assert (await join(room, queue)).label == "RNEW-000001"


async def test_a_change_to_settings_that_were_changed_meanwhile_is_refused(
    open_room: OpenRoom, room: Room, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    read = (await room.settings(queue)).version
    changed = await (await open_room()).configure(queue, {"name": "Theirs"})
    assert changed.version == read + 1
    with pytest.raises(SettingsChanged) as refused:
        await room.configure(queue, {"name": "Ours"}, read)
    assert refused.value.found == changed.version
    assert (await room.settings(queue)).settings.name == "Theirs"
    assert (await room.configure(queue, {"name": "Ours"}, changed.version)).settings.name == "Ours"


async def test_changes_of_different_settings_at_once_all_survive(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    changes: list[dict[str, Any]] = [
        {"name": "Sale"},
        {"admission_rate": 3.5},
        {"max_active": 7},
        {"max_queue_size": 11},
        {"claim_seconds": 13.0},
        {"ticket_prefix": "X"},
        {"closed_message": "Closed."},
        {"priority_policy": "strict"},
    ]
    rooms = [await open_room() for _ in range(4)]
    before = (await rooms[0].settings(queue)).version
    await asyncio.gather(*(rooms[n % 4].configure(queue, change) for n, change in enumerate(changes)))
    after = await rooms[0].settings(queue)
    for change in changes:
        for name, value in change.items():
            assert getattr(after.settings, name) == value
    assert after.version == before + len(changes)


async def test_stock_is_set_once_whoever_comes_first(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    rooms = [await open_room() for _ in range(4)]
    answers = await asyncio.gather(*(rooms[n % 4].set_stock(queue, n, once=True) for n in range(20)))
    stocks = {answer.settings.stock for answer in answers}
    assert len(stocks) == 1
    assert (await rooms[0].settings(queue)).settings.stock in stocks
    assert (await rooms[0].set_stock(queue, 500)).settings.stock == 500
    assert (await rooms[0].set_stock(queue, 7, once=True)).settings.stock == 500
    assert (await rooms[0].set_stock(queue, None)).settings.stock is None
    for bad in (-1, 10**10, 1.5, "5"):
        with pytest.raises(InvalidSettings, match="stock"):
            await rooms[0].set_stock(queue, bad)  # type: ignore[arg-type]


async def test_estimates_are_given_where_something_honest_can_be_said(
    room: Room, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(admission_rate=2, stock=25)
    answers = [await join(room, queue) for _ in range(30)]
    waits = [answer.wait for answer in answers]
    twentieth = waits[19]
    assert twentieth
    assert twentieth.seconds == 10
    assert twentieth.low < 10 < twentieth.high
    assert waits[29] is None, "it will be sold out"
    likeliest = [wait.seconds for wait in waits if wait]
    assert len(likeliest) == 25
    assert likeliest == sorted(likeliest)
    await room.configure(queue, {"status": "paused"})
    assert (await room.status(queue, 1)).wait is None


# Limits and names


async def test_one_try_too_many_is_told_when_to_come_back(room: Room, make_queue: MakeQueue, clock: FakeClock) -> None:
    queue = await make_queue()
    for _ in range(3):
        await room.limit(queue, "token", "t-1", "beat", 3, 10)
        clock.advance(1)
    with pytest.raises(RateLimited) as refused:
        await room.limit(queue, "token", "t-1", "beat", 3, 10)
    assert (refused.value.who, refused.value.retry_after) == ("token", 7)
    await room.limit(queue, "token", "t-2", "beat", 3, 10)
    await room.limit(queue, "token", "t-1", "status", 3, 10)
    clock.advance(7)
    await room.limit(queue, "token", "t-1", "beat", 3, 10)


BAD_NAMES = ["", " ", "a b", "a/b", "a{b}", "-a", ".a", "a" * 65, "a\n", "ä", "a\x00", "a:b", "*"]


@pytest.mark.parametrize("name", [*BAD_NAMES, "\ud800"], ids=ascii)
async def test_a_queue_has_a_name_that_fits_into_keys_and_addresses(room: Room, name: str) -> None:
    with pytest.raises(InvalidSettings, match="id: must be"):
        await room.create(name, {})


async def test_a_queue_is_made_once(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(name="First")
    with pytest.raises(QueueExists):
        await room.create(queue, {"name": "Second"})
    assert (await room.settings(queue)).settings.name == "First"
    assert queue in await room.queues()


EVERY_CALL: dict[str, Callable[[Room, QueueId], Awaitable[object]]] = {
    "join": lambda room, queue: room.join(queue, JoinRequest(), Caller()),
    "beat": lambda room, queue: room.beat(queue, 1),
    "status": lambda room, queue: room.status(queue, 1),
    "unload": lambda room, queue: room.unload(queue, 1),
    "leave": lambda room, queue: room.leave(queue, 1),
    "look": lambda room, queue: room.look(queue, [1]),
    "start": lambda room, queue: room.start(queue, 1, "me"),
    "touch": lambda room, queue: room.touch(queue, 1, "me"),
    "visit": lambda room, queue: room.visit(queue, 1, "me"),
    "complete": lambda room, queue: room.complete(queue, 1),
    "call_next": lambda room, queue: room.call_next(queue),
    "call": lambda room, queue: room.call(queue, 1),
    "act": lambda room, queue: room.act(queue, Action.CANCEL, 1),
    "prioritise": lambda room, queue: room.prioritise(queue, 1, 1),
    "revoke": lambda room, queue: room.revoke(queue, 1, "abuse"),
    "issue_pass": lambda room, queue: room.issue_pass(queue, 1),
    "withdraw_pass": lambda room, queue: room.withdraw_pass(queue, "abc"),
    "passes": lambda room, queue: room.passes(queue),
    "configure": lambda room, queue: room.configure(queue, {"name": "x"}),
    "configure at a version": lambda room, queue: room.configure(queue, {"name": "x"}, 1),
    "set_stock": lambda room, queue: room.set_stock(queue, 1),
    "set_stock once": lambda room, queue: room.set_stock(queue, 1, once=True),
    "settings": lambda room, queue: room.settings(queue),
    "delete": lambda room, queue: room.delete(queue),
    "view": lambda room, queue: room.view(queue),
    "ticket": lambda room, queue: room.ticket(queue, 1),
    "tickets": lambda room, queue: room.tickets(queue, None, None, 10),
    "events": lambda room, queue: room.events(queue, None),
    "last_event": lambda room, queue: room.last_event(queue),
    "stats": lambda room, queue: room.stats(queue),
    "hourly": lambda room, queue: room.hourly(queue),
    "limit": lambda room, queue: room.limit(queue, "token", "t-1", "beat", 3, 10),
}


@pytest.mark.parametrize("call", EVERY_CALL)
async def test_a_queue_that_is_not_there_is_told_by_every_call(room: Room, queue: QueueId, call: str) -> None:
    for _ in range(2):
        with pytest.raises(QueueNotFound, match=queue):
            await EVERY_CALL[call](room, queue)
    assert queue not in await room.queues()


@pytest.mark.parametrize("call", EVERY_CALL)
async def test_a_name_that_no_queue_can_have_is_refused_by_every_call(room: Room, call: str) -> None:
    for name in BAD_NAMES:
        with pytest.raises((QueueNotFound, InvalidRequest, InvalidSettings)):
            await EVERY_CALL[call](room, QueueId(name))


# All at once


@pytest.mark.parametrize("workers", [1, 4])
async def test_in_a_rush_everyone_gets_a_number_of_their_own_and_goes_in_by_it(
    open_room: OpenRoom, make_queue: MakeQueue, workers: int
) -> None:
    queue = await make_queue(admission_rate=100_000, max_active=100_000)
    rooms = [await open_room() for _ in range(workers)]

    async def crowd(task: int) -> list[int]:
        room = rooms[task % workers]
        return [(await join(room, queue, client_id=f"client-{task}-{turn}")).standing.number for turn in range(200)]

    crowds = await asyncio.gather(*(crowd(task) for task in range(64)))
    numbers = [number for numbers in crowds for number in numbers]
    assert sorted(numbers) == list(range(1, 12_801))
    assert all(numbers == sorted(numbers) for numbers in crowds), "who was answered first is first"
    admitted: list[int] = []
    while going := await admit(rooms[0], queue):
        admitted += going
    assert admitted == sorted(numbers)


async def test_the_same_client_many_times_at_once_holds_one_ticket(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    rooms = [await open_room() for _ in range(2)]
    answers = await asyncio.gather(*(join(rooms[n % 2], queue, client_id="client-ann") for n in range(50)))
    assert {answer.standing.number for answer in answers} == {1}
    assert [answer.created for answer in answers].count(True) == 1
    assert await joined_total(rooms[0], queue) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_joins_cancelled_at_any_moment_and_tried_again_are_each_one_ticket(
    open_room: OpenRoom, make_queue: MakeQueue, seed: int
) -> None:
    chance = random.Random(seed)
    queue = await make_queue(one_per="none")
    rooms = [await open_room() for _ in range(2)]
    answered: dict[int, int] = {}

    async def attempt(n: int) -> None:
        answered[n] = (await join(chance.choice(rooms), queue, idempotency_key=f"key-{n}")).standing.number

    attempts = []
    for n in range(500):
        attempts.append(asyncio.create_task(attempt(n)))
        if chance.random() < 0.5:
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.02), attempts[-1].cancel)
        if chance.random() < 0.1:
            await asyncio.sleep(chance.choice((0, 0, 0.001)))
    await asyncio.wait(attempts)
    assert len(answered) < 500, "some must have been cancelled for this to mean anything"
    first = dict(answered)
    await asyncio.gather(*(attempt(n) for n in range(500)))
    assert sorted(answered.values()) == list(range(1, 501))
    assert all(answered[n] == number for n, number in first.items())
    assert await joined_total(rooms[0], queue) == 500


async def test_calls_cancelled_in_mid_answer_neither_mix_up_answers_nor_use_up_connections(
    room: Room, make_queue: MakeQueue
) -> None:
    chance = random.Random(4)
    queue = await make_queue()
    for _ in range(40):
        await join(room, queue)
    mixed_up = []

    async def look(number: int) -> None:
        ticket = await room.ticket(queue, number)
        if (ticket.number, ticket.position) != (number, number):
            mixed_up.append((number, ticket))

    for _ in range(40):
        tasks = [asyncio.create_task(look(chance.randint(1, 40))) for _ in range(40)]
        for task in chance.sample(tasks, 25):
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.005), task.cancel)
        done, _ = await asyncio.wait(tasks)
        assert not [error for task in done if not task.cancelled() and (error := task.exception())]
    async with asyncio.timeout(2):
        await asyncio.gather(*(look(number) for number in range(1, 41)))
    assert mixed_up == []


async def test_close_lets_everything_that_was_asked_for_be_done(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    room = await open_room()
    answers: list[Welcome | Exception] = []
    for _ in range(600):
        room.join(queue, JoinRequest(), Caller()).then(answers.append)
    await room.close()
    assert sorted(told.standing.number for told in answers if isinstance(told, Welcome)) == list(range(1, 601))


async def test_one_refused_call_in_a_batch_is_one_callers_alone(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(max_queue_size=5)
    outcomes = await asyncio.gather(*(join(room, queue) for _ in range(8)), return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Welcome": 5, "QueueFull": 3}
    beats: list[Awaitable[object]] = [room.beat(queue, n) for n in (1, 99, 2)]
    answers = await asyncio.gather(*beats, return_exceptions=True)
    assert [isinstance(answer, FairlineError) for answer in answers] == [False, True, False]
