"""The use cases of a walk-in line: going on in another queue, come what may; hours; moving to another device."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Reason, Status, Went
from fairline.domain.tokens import Keyring
from fairline.errors import QueueClosed, StoreUnavailable, TokenExpired, TokenMoved, TransitionRefused
from fairline.keeper.schedules import Schedules
from fairline.keeper.transfers import Transfers
from fairline.service.fairline import Fairline
from fairline.service.walk_in import WalkIn
from fairline.store import Joined, Store
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.store.venue import WALK_IN

STAFF = Caller(staff="s")
MANY = {day: ["08:00-18:00"] for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")}


@pytest.fixture
def service(store: Store) -> Fairline:
    return Fairline(store, Keyring(b"a secret of the tests"))


@pytest.fixture
async def there(store: Store, queue: QueueId) -> QueueId:
    other = queue_id(f"{queue}-there")
    await store.create(other, checked(WALK_IN))
    return other


class Breaking:
    """A store that breaks off just after one of its operations was done."""

    def __init__(self, store: Store, after: str) -> None:
        self._store, self._after = store, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name != self._after:
            return found

        async def breaks(*args: Any, **options: Any) -> None:
            await found(*args, **options)
            raise StoreUnavailable("the worker died")

        return breaks


class Meanwhile:
    """A store in which something else happens just before one of its operations."""

    def __init__(self, store: Store, before: str, does: Callable[[], Awaitable[Any]]) -> None:
        self._store, self._before, self._does = store, before, does

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name != self._before:
            return found

        async def after(*args: Any, **options: Any) -> Any:
            await self._does()
            return await found(*args, **options)

        return after


@pytest.mark.parametrize("after", ["join", "transfer", "act"])
async def test_a_transfer_that_breaks_off_loses_nobody_and_counts_them_once(
    store: Store, service: Fairline, make_queue: MakeQueue, there: QueueId, after: str
) -> None:
    here = await make_queue(**WALK_IN)
    await service.join(here, JoinRequest(client_id="ada", name="Ada"), STAFF)
    await service.join(there, JoinRequest(client_id="bob"), STAFF)
    broken = Fairline(Breaking(store, after), service.keyring)
    with pytest.raises(StoreUnavailable):
        await WalkIn(broken).transfer(here, 1, there)

    async def lines() -> list[int]:
        """How many wait and are called, here and there: those who are on hold are not."""
        return [(await store.snapshot(queue)).waiting for queue in (here, there)]

    assert await lines() == {"join": [1, 1], "transfer": [0, 1], "act": [0, 2]}[after]
    found = await service.ticket(there, 2)
    assert (found.person.name, found.status) == ("Ada", Status.WAITING)
    ticket = await WalkIn(service).transfer(here, 1, there)
    assert (ticket.reason, ticket.went and ticket.went.number) == (Reason.TRANSFERRED, 2)
    assert await lines() == [0, 2]
    assert (await service.ticket(there, 2)).position == 2
    assert len((await service.tickets(there, None, None, 10)).tickets) == 2


async def broken_off(store: Store, service: Fairline, here: QueueId, there: QueueId, steps: int) -> int:
    """The first steps of a transfer, as a worker that dies leaves them; answers the ticket there."""
    await service.join(here, JoinRequest(client_id="ada", name="Ada"), STAFF)
    ticket = await service.ticket(here, 1)
    (joined,) = (await store.join(there, [service.identity.transferred(here, ticket, 0)])).items
    assert isinstance(joined, Joined)
    if steps > 1:
        await store.transfer(here, 1, Went(there, joined.ticket.number, joined.ticket.joined, "as it was then"))
    return joined.ticket.number


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_transfer_that_breaks_off_is_finished_by_the_keepers_within_a_minute(
    store: Store, service: Fairline, make_queue: MakeQueue, there: QueueId, clock: FakeClock, steps: int
) -> None:
    here = await make_queue(**WALK_IN)
    number = await broken_off(store, service, here, there, steps)
    keepers = [Transfers(store) for _ in range(4)]
    await keepers[0].keep(there)
    assert (await service.ticket(there, number)).on_hold, "the worker may be at it still"
    clock.advance(45)
    await asyncio.gather(*(keeper.keep(there) for keeper in keepers))
    before, after = await service.ticket(here, 1), await service.ticket(there, number)
    assert (before.reason, before.went and before.went.number) == (Reason.TRANSFERRED, number)
    assert (after.status, after.position) == (Status.WAITING, 1)
    assert [(await store.snapshot(queue)).waiting for queue in (here, there)] == [0, 1]
    assert (await WalkIn(service).transfer(here, 1, there)).went == before.went
    await service.act(there, Action.HOLD, number)
    await keepers[0].keep(there)
    assert (await service.ticket(there, number)).on_hold, "who staff put on hold stays there"


@pytest.mark.parametrize("instead", ["leave", "elsewhere", "reinstated"])
async def test_a_transfer_that_broke_off_is_undone_where_they_went_another_way(
    store: Store, service: Fairline, make_queue: MakeQueue, there: QueueId, clock: FakeClock, instead: str
) -> None:
    here = await make_queue(**WALK_IN)
    number = await broken_off(store, service, here, there, 1)
    if instead == "elsewhere":
        third = queue_id(f"{here}-third")
        await store.create(third, checked(WALK_IN))
        await WalkIn(service).transfer(here, 1, third)
    elif instead == "leave":
        await service.act(here, Action.LEAVE, 1)
    else:
        await service.call_next(here)
        await service.act(here, Action.NO_SHOW, 1)
    clock.advance(45)
    await Transfers(store).keep(there)
    assert (await service.ticket(there, number)).reason is Reason.CANCELLED
    assert await store.arriving(there, 10) == []
    if instead == "reinstated":
        await service.act(here, Action.REINSTATE, 1)
        went = (await WalkIn(service).transfer(here, 1, there)).went
        assert went
        assert (await service.ticket(there, went.number)).position == 1, "the ticket that was undone is not given again"


async def test_who_came_from_a_queue_that_is_gone_is_not_lost(
    store: Store, service: Fairline, make_queue: MakeQueue, there: QueueId, clock: FakeClock
) -> None:
    here = await make_queue(**WALK_IN)
    number = await broken_off(store, service, here, there, 2)
    await store.delete(here)
    clock.advance(45)
    await Transfers(store).keep(there)
    assert (await service.ticket(there, number)).position == 1


async def test_a_transfer_of_someone_who_leaves_meanwhile_leaves_nothing_behind(
    store: Store, service: Fairline, make_queue: MakeQueue, there: QueueId
) -> None:
    here = await make_queue(**WALK_IN)
    number = await broken_off(store, service, here, there, 1)
    leaving = Fairline(Meanwhile(store, "transfer", partial(service.act, here, Action.LEAVE, 1)), service.keyring)
    with pytest.raises(TransitionRefused, match="left"):
        await WalkIn(leaving).transfer(here, 1, there)
    assert (await service.ticket(there, number)).reason is Reason.CANCELLED


async def test_who_was_sent_on_is_sent_on_once(
    service: Fairline, make_queue: MakeQueue, there: QueueId, store: Store
) -> None:
    here = await make_queue(**WALK_IN)
    await service.join(here, JoinRequest(), STAFF)
    await WalkIn(service).transfer(here, 1, there)
    third = queue_id(f"{here}-third")
    await store.create(third, checked(WALK_IN))
    with pytest.raises(TransitionRefused, match="transferred"):
        await WalkIn(service).transfer(here, 1, third)
    back = await WalkIn(service).transfer(there, 1, here)
    assert back.went
    assert (back.went.queue, back.went.number) == (here, 2)


async def test_who_is_served_can_be_sent_on(service: Fairline, make_queue: MakeQueue, there: QueueId) -> None:
    here = await make_queue(**WALK_IN)
    await service.join(here, JoinRequest(), STAFF)
    await service.call_next(here, desk="A")
    await service.begin(here, 1)
    assert (await WalkIn(service).transfer(here, 1, there)).status is Status.EXPIRED
    answer = await service.status(there, 1)
    assert answer.ticket_status.position == 1


# Hours. The clock of the tests begins on a Friday at 08:00 UTC.


async def test_the_line_closes_itself_when_no_more_can_be_served(
    store: Store, service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(**WALK_IN, opening_hours=MANY, one_per="none", max_queue_size=1000)
    clock.advance(3600 * 8)
    for _ in range(10):
        await service.join(queue, JoinRequest(), Caller())
    for _ in range(6):
        clock.advance(600)
        await service.call_next(queue, desk="A")

    # It is 17:00, and a desk takes ten minutes. That is time for 6 until 18:00, but five such times give it roughly: if
    # all goes well, it is time for a few more.
    async def take_all_that_is_left() -> None:
        while (await store.snapshot(queue)).waiting < 30:
            await service.join(queue, JoinRequest(), Caller())

    with pytest.raises(QueueClosed, match="today") as closed:
        await take_all_that_is_left()
    assert closed.value.early
    assert 6 < (await store.snapshot(queue)).waiting < 30
    await service.configure(queue, {"close_early": False})
    await service.join(queue, JoinRequest(), Caller())


async def test_nobody_is_sent_away_and_no_wait_is_told_for_one_slow_call(
    store: Store, service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(**WALK_IN, opening_hours=MANY, one_per="none")
    clock.advance(3600 * 8)
    for _ in range(60):
        await service.join(queue, JoinRequest(), Caller())
    for ticks in (20, 1, 20, 20):  # the first call takes ten minutes
        for _ in range(ticks):
            clock.advance(30)
            await store.admit(queue, 10)
        joined = await service.join(queue, JoinRequest(), Caller())
        assert joined.wait is None
        await service.call_next(queue, desk="A")
    assert (await store.snapshot(queue)).calls_seen > 1


async def test_outside_of_its_hours_a_queue_says_when_it_opens(
    service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(**WALK_IN, opening_hours=MANY)
    clock.advance(3600 * 10)
    with pytest.raises(QueueClosed) as closed:
        await service.join(queue, JoinRequest(), Caller())
    assert closed.value.opens_at == clock() + 3600 * 14 * 1000
    assert closed.value.retry_after == 3600 * 14
    await service.join(queue, JoinRequest(), STAFF)


async def test_a_change_of_the_hours_holds_at_once_for_every_worker(
    store: Store, service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(**WALK_IN)
    await service.join(queue, JoinRequest(), Caller())
    other = Fairline(store, service.keyring)
    await other.configure(queue, {"closed_dates": ["2027-01-15"], "phone_region": "KR"})
    with pytest.raises(QueueClosed):
        await service.join(queue, JoinRequest(), Caller())
    joined = await service.join(queue, JoinRequest(phone="010-2345-6789"), STAFF)
    assert (await service.ticket(queue, joined.ticket_status.number)).person.phone == "+821023456789"


async def test_the_day_ends_once_also_after_a_night_without_a_keeper(
    store: Store, service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(**WALK_IN, opening_hours=MANY, clear_after_minutes=30, close_early=False)
    for _ in range(3):
        await service.join(queue, JoinRequest(), STAFF)
    await service.act(queue, Action.HOLD, 2)
    await service.call_next(queue, desk="A")
    keepers = [Schedules(store), Schedules(store)]
    clock.advance(3600 * 10 + 1799)
    for keeper in keepers:
        await keeper.keep(queue)
    assert (await store.snapshot(queue)).waiting == 1
    clock.advance(3600 * 15)  # the next morning: 9:30, and someone new is there
    await service.join(queue, JoinRequest(), Caller())
    for keeper in keepers:
        await keeper.keep(queue)
    reasons = [(await service.ticket(queue, number)).reason for number in (1, 2, 3, 4)]
    assert reasons == [None, Reason.CLOSED, Reason.CLOSED, None]
    assert (await store.snapshot(queue)).waiting == 1


# Another device


async def test_a_link_works_once_and_for_ten_minutes(
    service: Fairline, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, walk_in = await make_queue(**WALK_IN), WalkIn(service)
    ticket_status = (await service.join(queue, JoinRequest(client_id="old"), Caller())).ticket_status
    codes = [walk_in.move_code(queue, ticket_status) for _ in range(2)]
    moved = await walk_in.moved(codes[0], "new")
    assert (moved.ticket_status.number, moved.ticket_status.moved) == (1, 1)
    for code in codes:
        with pytest.raises(TokenMoved):
            await walk_in.moved(code, "third")
    late = walk_in.move_code(queue, moved.ticket_status)
    now = time.time()
    monkeypatch.setattr("fairline.service.walk_in.time.time", lambda: now + 601)
    with pytest.raises(TokenExpired):
        await walk_in.moved(late, "third")
