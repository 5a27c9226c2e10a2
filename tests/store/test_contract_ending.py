"""The table of transitions, kept to the letter: what is allowed, what is refused, and what ends a ticket."""

from __future__ import annotations

from itertools import product

import pytest

from fairline.domain.events import EventType
from fairline.domain.ticket import LIVE, REASONS, TRANSITIONS, Action, Reason, Status, TicketStatus, Went
from fairline.errors import FairlineError, InvalidRequest, TicketNotFound, TransitionRefused
from fairline.store.contract import ACTS
from tests.model import moves
from tests.store.venue import VISITOR, OpenVenue, Venue

#: What is done to those who are next or late, and cannot be asked for one ticket: nobody is refused, only passed over.
UNASKED = (Action.ADMIT, Action.LAPSE, Action.CLOSE)
EVENT_OF = moves.EVENT_OF | {
    Action.PRIORITISE: EventType.PRIORITISED,
    Action.HEARTBEAT: None,
    Action.TOUCH: None,
    Action.HOLD: EventType.PUT_ON_HOLD,
    Action.RELEASE: EventType.RELEASED,
    Action.STEP_BACK: None,  # nobody is behind
}
#: What the table says, and more has to hold than the state: these have tests of their own.
CONDITIONAL = [(Status.WAITING, Action.RELEASE), (Status.EXPIRED, Action.REINSTATE), (Status.EXPIRED, Action.PUT_BACK)]
PAIRS = [(status, action) for status in Status for action in Action]
REFUSED = [
    (status, action)
    for status, action in PAIRS
    if (status, action) not in TRANSITIONS
    # Who started a session may start it again; a heartbeat is answered in every state.
    and (status, action) != (Status.ACTIVE, Action.START)
    and action is not Action.HEARTBEAT
]
#: Everybody lapses within an hour, and nothing is purged by then.
SHORT = {"claim_seconds": 60, "session_seconds": 60, "session_max_seconds": 60, "retain_seconds": 604_800}


async def perform(v: Venue, action: Action, number: int) -> FairlineError | None:
    """Do it by the operation it has; answers the refusal."""
    try:
        outcome: object = None
        if action in ACTS:
            outcome = await v.act(action, number)
        elif action in (Action.START, Action.TOUCH):
            outcome = await (v.start if action is Action.START else v.touch)(number)
        elif action is Action.HEARTBEAT:
            outcome = await v.heartbeat(number)
        elif action is Action.PRIORITISE:
            outcome = await v.store.prioritise(v.queue, number, 3)
        elif action is Action.CALL:
            outcome = await v.call(number=number)
        elif action is Action.REVOKE:
            outcome = await v.store.revoke(v.queue, number, "why")
        elif action is Action.ADMIT:
            outcome = await v.admit()
        elif action is Action.LAPSE:
            outcome = await v.after(3600)
        elif action is Action.STEP_BACK:
            outcome = await v.store.step_back(v.queue, number, 1)
        elif action is Action.TRANSFER:
            outcome = await v.store.transfer(v.queue, number, Went("other", 7, 1, "ROTHER-000007"))
        elif action is Action.CLOSE:
            outcome = await v.store.close_day(v.queue, v.clock(), 100)
    except TransitionRefused as refused:
        return refused
    return outcome if isinstance(outcome, FairlineError) else None


async def test_what_is_in_the_table_is_done(venue: OpenVenue) -> None:
    for status, action in TRANSITIONS:
        if (status, action) in CONDITIONAL:
            continue
        v = await venue(**SHORT)
        number = await v.one(status)
        events = len(await v.events())
        v.clock.advance(1)
        case = (status, action)
        assert await perform(v, action, number) is None, case
        ticket = await v.ticket(number)
        assert ticket.status is TRANSITIONS[case], case
        assert (ticket.position == 1) is (ticket.status is Status.WAITING and action is not Action.HOLD), case
        expected = EVENT_OF.get(action, EventType.EXPIRED)
        before = [EventType.RETURNED] if case == (Status.ADMITTED, Action.HOLD) else []
        new = (await v.events())[events:]
        assert [(event.type, event.ticket, event.at) for event in new] == [
            (each, number, v.clock()) for each in (*before, expected) if each
        ], case


async def test_what_is_not_in_the_table_is_refused_with_the_state_found_and_changes_nothing(venue: OpenVenue) -> None:
    for status, action in REFUSED:
        v = await venue(**SHORT)
        number = await v.one(status)
        tickets, events = await v.tickets(), await v.events()
        totals = (await v.store.stats(v.queue)).totals
        refused = await perform(v, action, number)
        if action not in UNASKED:
            assert isinstance(refused, TransitionRefused), (status, action)
            assert (refused.action, refused.found) == (action, status)
        assert await v.tickets() == tickets, (status, action)
        assert await v.events() == events, (status, action)
        assert (await v.store.stats(v.queue)).totals == totals, (status, action)
        assert await v.store.revoked(v.queue) == {}, (status, action)


async def test_the_reason_of_an_end_is_kept_and_told(venue: OpenVenue) -> None:
    for (status, action), to in TRANSITIONS.items():
        if to is not Status.EXPIRED or action not in REASONS:
            continue
        v = await venue(**SHORT)
        number = await v.one(status)
        v.clock.advance(7)
        await perform(v, action, number)
        ticket = await v.ticket(number)
        assert (ticket.reason, ticket.ended) == (REASONS[action], v.clock()), (status, action)
        assert await v.seconds_left(number) == 604_800, (status, action)
        told = ("transferred", "other 7") if action is Action.TRANSFER else ("expired", REASONS[action])
        assert (await v.happened(number))[-1] == told, (status, action)
        assert (await v.store.stats(v.queue)).totals.expired_by_reason == {REASONS[action]: 1}, (status, action)


async def test_who_completes_has_no_reason(venue: OpenVenue) -> None:
    v = await venue(**SHORT)
    number = await v.one(Status.ACTIVE)
    v.clock.advance(7)
    outcome = await v.act(Action.COMPLETE, number)
    assert isinstance(outcome, TicketStatus)
    assert (outcome.status, outcome.reason) == (Status.COMPLETED, None)
    assert (await v.ticket(number)).ended == v.clock()
    assert (await v.store.snapshot(v.queue)).completed == 1


async def test_a_batch_answers_for_each_in_order(venue: OpenVenue) -> None:
    v = await venue()
    active, waiting = await v.one(Status.ACTIVE), await v.one(Status.WAITING)
    reply = await v.store.act(v.queue, Action.COMPLETE, [99, active, waiting, active])
    assert [type(outcome) for outcome in reply.items] == [
        TicketNotFound,
        TicketStatus,
        TransitionRefused,
        TransitionRefused,
    ]
    again = reply.items[-1]
    assert isinstance(again, TransitionRefused)
    assert again.found == Status.COMPLETED
    assert (reply.snapshot.completed, reply.snapshot.active, reply.snapshot.waiting) == (1, 0, 1)


async def test_what_has_an_operation_of_its_own_is_not_to_be_had_by_act(venue: OpenVenue) -> None:
    for status, action in product((Status.WAITING, Status.ACTIVE), Action):
        if action in ACTS:
            continue
        v = await venue()
        number = await v.one(status)
        before = await v.everything()
        with pytest.raises(InvalidRequest):
            await v.store.act(v.queue, action, [number])
        assert await v.everything() == before, (status, action)


# Revoking


async def test_a_revoked_ticket_is_remembered_with_the_reason(venue: OpenVenue) -> None:
    for status in sorted(LIVE):
        v = await venue()
        number = await v.one(status)
        ticket = await v.store.revoke(v.queue, number, "geteilter Pass – 2×")
        assert (ticket.status, ticket.reason, ticket.ended) == (Status.EXPIRED, Reason.REVOKED, v.clock())
        assert await v.ticket(number) == ticket
        assert await v.store.revoked(v.queue) == {number: "geteilter Pass – 2×"}


async def test_a_revocation_is_kept_as_long_as_the_session_token_would_live(venue: OpenVenue) -> None:
    v = await venue(session_seconds=60, session_max_seconds=600, retain_seconds=60)
    number = await v.one(Status.ACTIVE)
    await v.store.revoke(v.queue, number, "abuse")
    await v.after(599)
    assert (await v.store.look_up(v.queue, [number])).items == [None]  # the record is purged long since
    assert await v.store.revoked(v.queue) == {number: "abuse"}
    await v.after(1)
    assert await v.store.revoked(v.queue) == {}


async def test_a_record_outlives_its_revocation_where_it_is_kept_for_longer(venue: OpenVenue) -> None:
    v = await venue(session_seconds=60, session_max_seconds=60, retain_seconds=600)
    number = await v.one(Status.ACTIVE)
    await v.store.revoke(v.queue, number, "abuse")
    await v.after(60)
    assert await v.store.revoked(v.queue) == {}
    assert (await v.ticket(number)).reason is Reason.REVOKED


async def test_what_is_revoked_is_listed_by_number(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(12)
    for number in (11, 2, 7):
        await v.store.revoke(v.queue, number, str(number))
    assert list((await v.store.revoked(v.queue)).items()) == [(2, "2"), (7, "7"), (11, "11")]


async def test_a_ticket_that_is_not_there_cannot_be_revoked(venue: OpenVenue) -> None:
    v = await venue()
    with pytest.raises(TicketNotFound):
        await v.store.revoke(v.queue, 1, "why")
    assert await v.store.revoked(v.queue) == {}


async def test_a_revoked_session_cannot_go_on(venue: OpenVenue) -> None:
    v = await venue()
    number = await v.one(Status.ACTIVE)
    await v.store.revoke(v.queue, number, "abuse")
    (outcome,) = (await v.store.visit(v.queue, "visit", [(number, VISITOR)])).items
    assert isinstance(outcome, TransitionRefused)
