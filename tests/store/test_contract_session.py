"""Inside: sessions belong to who started them, and live by activity under a hard cap."""

from __future__ import annotations

from itertools import product

from fairline.domain.ticket import LIVE, Action, Reason, Status, TicketStatus
from fairline.errors import SessionTaken, TicketNotFound, TokenInvalid, TransitionRefused
from fairline.store import Visit, Visitor
from tests.store.venue import OpenVenue, Venue

SESSION = {"session_seconds": 600, "session_max_seconds": 1500, "heartbeat_timeout_seconds": 0}
VISITS: tuple[Visit, ...] = ("start", "touch", "visit")


async def page(v: Venue, number: int, by: bytes) -> object:
    """A page view as a gate reports it."""
    (outcome,) = (await v.store.visit(v.queue, "visit", [(number, by)])).items
    return outcome


async def test_the_session_begins_when_they_arrive(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    v.clock.advance(20)
    ticket_status = await v.start(number, b"me")
    assert isinstance(ticket_status, TicketStatus)
    assert (ticket_status.status, ticket_status.deadline) == (Status.ACTIVE, v.clock() + 600_000)
    ticket = await v.ticket(number)
    assert (ticket.started, ticket.admitted, ticket.page_views) == (v.clock(), v.clock() - 20_000, 0)
    assert (await v.happened(number))[-1][0] == "started"


async def test_the_one_who_started_may_start_again_and_nothing_changes(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    await v.start(number, b"me")
    v.clock.advance(5)
    before = await v.everything()
    again = await v.start(number, b"me")
    assert isinstance(again, TicketStatus)
    assert again.status is Status.ACTIVE
    assert await v.everything() == before


async def test_another_browser_is_told_that_the_session_is_taken(venue: OpenVenue) -> None:
    for what in VISITS:
        v = await venue(**SESSION)
        number = await v.one(Status.ADMITTED)
        await v.start(number, b"me")
        before = await v.everything()
        (outcome,) = (await v.store.visit(v.queue, what, [(number, b"you")])).items
        assert isinstance(outcome, SessionTaken), what
        assert await v.everything() == before, what


async def test_page_views_are_counted_and_starts_are_not(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    await page(v, number, b"me")  # arrives, and sees the first page
    await v.touch(number, b"me")
    await v.start(number, b"me")
    await page(v, number, b"me")
    ticket = await v.ticket(number)
    assert (ticket.status, ticket.page_views) == (Status.ACTIVE, 3)


async def test_who_comes_in_without_a_page_view_is_active_in_the_view_that_is_answered(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    inside, arriving = await v.one(Status.ACTIVE), await v.one(Status.ADMITTED)
    reply = await v.store.visit(v.queue, "visit", [Visitor(arriving, b"me", 0), Visitor(inside, b"visitor", 0)])
    assert [type(outcome) for outcome in reply.items] == [TicketStatus, TicketStatus]
    assert (reply.snapshot.admitted, reply.snapshot.active) == (0, 2)


async def test_views_of_one_batch_are_all_counted(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    reply = await v.store.visit(v.queue, "visit", [(number, b"me"), (number, b"you"), (number, b"me")])
    assert [type(outcome) for outcome in reply.items] == [TicketStatus, SessionTaken, TicketStatus]
    assert (await v.ticket(number)).page_views == 2


async def test_page_views_are_no_events(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ACTIVE)
    before = await v.events()
    await v.touch(number)
    assert await v.events() == before


async def test_activity_moves_the_deadline_on(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ACTIVE)
    assert await v.after(599) == {}
    await v.touch(number)
    assert await v.seconds_left(number) == 600
    assert await v.after(599) == {}
    assert await v.after(1) == {number: Reason.SESSION_TIMEOUT}


async def test_no_activity_outlasts_the_longest_stay(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ACTIVE)
    for left in (600, 600, 500):  # at 0, 500 and 1000 s
        await v.touch(number)
        assert await v.seconds_left(number) == left
        assert await v.after(499) == {}
        v.clock.advance(1)
    assert await v.sweep() == {number: Reason.SESSION_TIMEOUT}


async def test_touching_does_not_start_a_session(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    outcome = await v.touch(number, b"me")
    assert isinstance(outcome, TransitionRefused)
    assert (outcome.action, outcome.found) == (Action.TOUCH, Status.ADMITTED)


async def test_nobody_gets_in_who_is_not_let_in(venue: OpenVenue) -> None:
    for status, what in product((Status.WAITING, Status.COMPLETED, Status.EXPIRED), VISITS):
        v = await venue(**SESSION)
        number = await v.one(status)
        before = await v.everything()
        (outcome,) = (await v.store.visit(v.queue, what, [(number, b"visitor")])).items
        assert isinstance(outcome, TransitionRefused), (status, what)
        assert outcome.found == status, (status, what)
        assert await v.everything() == before, (status, what)


async def test_a_ticket_that_is_not_there_is_not_found(venue: OpenVenue) -> None:
    for what in VISITS:
        v = await venue(**SESSION)
        number = await v.one(Status.ACTIVE)
        there, missing = (await v.store.visit(v.queue, what, [(number, b"visitor"), (99, b"visitor")])).items
        assert isinstance(there, TicketStatus), what
        assert isinstance(missing, TicketNotFound), what


async def test_the_session_after_a_return_belongs_to_who_starts_that_one(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    await v.act(Action.RETURN, number)
    await v.call(number=number)
    assert isinstance(await v.start(number, b"another"), TicketStatus)


async def test_a_question_without_a_page_view_changes_nothing_of_a_session_that_runs(venue: OpenVenue) -> None:
    v = await venue(session_seconds=60)
    number = await v.one(Status.ADMITTED)
    (begun,) = (await v.store.visit(v.queue, "visit", [Visitor(number, b"me", 0)])).items
    assert isinstance(begun, TicketStatus)
    assert begun.status is Status.ACTIVE
    v.clock.advance(20)
    asked = [Visitor(number, b"me", 0), Visitor(number, b"you", 0), Visitor(99, b"me", 0)]
    mine, taken, missing = (await v.store.visit(v.queue, "visit", asked)).items
    assert isinstance(mine, TicketStatus)
    assert (type(taken), type(missing)) == (SessionTaken, TicketNotFound)
    assert (await v.seconds_left(number), (await v.ticket(number)).page_views) == (40, 0)
    await v.store.visit(v.queue, "touch", [Visitor(number, b"me", 3)])
    assert (await v.seconds_left(number), (await v.ticket(number)).page_views) == (60, 3)


async def test_naming_a_ticket_of_an_earlier_queue_does_nothing_to_the_one_of_that_number(
    venue: OpenVenue,
) -> None:
    for what, status, views in product(VISITS, (Status.ADMITTED, Status.ACTIVE), (0, 1)):
        v = await venue(**SESSION)
        number, second = await v.one(status), await v.one(Status.ACTIVE)
        joined = (await v.ticket(number)).joined
        before = await v.everything()
        asked = [Visitor(number, b"visitor", views, joined - 1), Visitor(second, b"visitor", 0, joined)]
        another, same = (await v.store.visit(v.queue, what, asked)).items
        assert isinstance(another, TokenInvalid), (what, status, views)
        assert isinstance(same, TicketStatus), (what, status, views)
        assert await v.everything() == before, (what, status, views)
        (theirs,) = (await v.store.visit(v.queue, "visit", [Visitor(number, b"visitor", views, joined)])).items
        assert isinstance(theirs, TicketStatus), (what, status, views)
        assert theirs.status is Status.ACTIVE, (what, status, views)


async def test_nor_is_it_ended_by_them(venue: OpenVenue) -> None:
    for action in (Action.LEAVE, Action.COMPLETE, Action.HOLD):
        v = await venue(**SESSION)
        status = Status.WAITING if action is Action.HOLD else Status.ACTIVE
        number, second = await v.one(status), await v.one(status)
        joined = (await v.ticket(number)).joined
        before = await v.everything()
        (another,) = (await v.store.act(v.queue, action, [number], [joined - 1])).items
        assert isinstance(another, TokenInvalid), action
        assert await v.everything() == before, action
        both = [number, number, second, 99]
        another, theirs, other, missing = (
            await v.store.act(v.queue, action, both, [joined + 1, joined, None, joined])
        ).items
        assert (type(another), type(missing)) == (TokenInvalid, TicketNotFound), action
        for done in (theirs, other):
            assert isinstance(done, TicketStatus), action
            assert done.on_hold or done.status is not status, action


async def test_the_end_of_who_started_goes_on_and_never_starts(venue: OpenVenue) -> None:
    v = await venue(**SESSION)
    number = await v.one(Status.ADMITTED)
    await v.start(number, b"secret,browser")
    assert isinstance(await v.start(number, b"secret,browser"), TicketStatus)
    for other in (b"browser", b"other!,browser", b"secret", b"the secret,browser", b""):
        assert isinstance(await v.start(number, other), SessionTaken), other
    for what in ("touch", "visit"):
        for views in (0, 1):
            for by in (b"secret,browser", b"browser"):
                (theirs,) = (await v.store.visit(v.queue, what, [Visitor(number, by, views)])).items
                assert isinstance(theirs, TicketStatus), (what, views, by)
            for other in (b"secret", b"other!,browser", b"", b"the secret,browser"):
                (outcome,) = (await v.store.visit(v.queue, what, [Visitor(number, other, views)])).items
                assert isinstance(outcome, SessionTaken), (what, views, other)


async def test_nobody_ends_the_session_of_someone_else(venue: OpenVenue) -> None:
    for action in (Action.COMPLETE, Action.LEAVE):
        v = await venue(**SESSION)
        numbers = [await v.one(Status.ADMITTED) for _ in range(4)]
        for number in numbers[:3]:
            await v.start(number, b"secret,browser")
        before = await v.everything()
        asked = [numbers[0], numbers[1], numbers[1], 99]
        items = (await v.store.act(v.queue, action, asked, by=[b"stranger", b"secret", b"x", b"x"])).items
        assert [type(item) for item in items] == [SessionTaken] * 3 + [TicketNotFound], action
        assert await v.everything() == before, action
        mine = [b"secret,browser", b"browser", b""]
        items = (await v.store.act(v.queue, action, numbers[:3], by=mine)).items
        assert all(isinstance(item, TicketStatus) and item.status not in LIVE for item in items), action
        (waits,) = (await v.store.act(v.queue, Action.LEAVE, numbers[3:], by=[b"stranger"])).items
        assert isinstance(waits, TicketStatus), "nobody is inside yet"
