"""The last calls of a queue, as they are heard of in its events."""

from __future__ import annotations

from fairline.domain.events import Event, EventType
from fairline.domain.ticket import Status, Ticket
from fairline.service.board import REMEMBERED, Call, Calls


def happened(*each: tuple[str, int]) -> list[Event]:
    """Events in order, a millisecond apart."""
    return [Event(str(i), EventType(kind), 1000 + i, ticket) for i, (kind, ticket) in enumerate(each)]


def ticket(number: int, admitted: int = 500) -> Ticket:
    """A ticket that was called."""
    return Ticket(number=number, status=Status.ADMITTED, priority=0, joined=1, place=1.0, admitted=admitted)


def test_each_ticket_is_there_once_the_one_called_last_first() -> None:
    calls = Calls()
    assert calls.add(happened(("called", 1), ("called", 2), ("recalled", 1), ("called", 3)))
    assert calls.numbers == [3, 1, 2]
    assert calls.of(ticket(1)) == Call(1002, 2)


def test_a_return_takes_a_call_back_and_the_count_begins_anew() -> None:
    calls = Calls()
    calls.add(happened(("called", 1), ("recalled", 1), ("returned", 1)))
    assert calls.numbers == []
    calls.add([Event("9", EventType.CALLED, 2000, 1)])
    assert calls.of(ticket(1)) == Call(2000, 1)


def test_what_was_read_at_first_is_not_counted_again_when_it_is_told_again() -> None:
    events = happened(("called", 1), ("recalled", 1))
    calls = Calls(list(reversed(events)))
    calls.add(events)
    assert calls.of(ticket(1)).times == 2
    calls.add([Event("9", EventType.RECALLED, 2000, 1)])
    assert calls.of(ticket(1)) == Call(2000, 3)


def test_a_queue_that_is_recreated_has_none_of_the_calls_of_the_one_before() -> None:
    called = happened(("called", 1), ("called", 2))
    calls = Calls(list(reversed(called)))
    assert calls.add([*happened(("called", 3)), Event("8", EventType.QUEUE_CREATED, 1500)])
    assert calls.numbers == []
    # What was read at first may have been of the new queue already.
    calls = Calls([Event("9", EventType.CALLED, 2000, 1)])
    calls.add([Event("8", EventType.QUEUE_CREATED, 1500), Event("9", EventType.CALLED, 2000, 1)])
    assert calls.of(ticket(1)) == Call(2000, 1)


def test_only_the_last_ones_are_remembered_and_the_others_have_been_called_once() -> None:
    calls = Calls()
    calls.add(happened(*[("called", number) for number in range(1, REMEMBERED + 10)]))
    assert calls.numbers == list(range(REMEMBERED + 9, 9, -1))
    assert calls.of(ticket(1, admitted=700)) == Call(700, 1)


def test_people_who_only_join_are_no_reason_to_look_at_once() -> None:
    assert not Calls().add(happened(("joined", 1), ("joined", 2)))
    assert Calls().add(happened(("joined", 1), ("expired", 2)))
