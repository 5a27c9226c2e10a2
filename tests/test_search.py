"""People are found by what an operator knows of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Person, Status, Ticket, number_in
from fairline.domain.tokens import Keyring
from fairline.errors import InvalidRequest
from fairline.service import search as searching
from fairline.service.fairline import Fairline
from fairline.service.search import SearchQuery
from fairline.store import Arrival, Store
from tests.conftest import MakeQueue


def ticket_of(person: Person, serial: str = "") -> Ticket:
    return Ticket(number=7, status=Status.WAITING, priority=0, joined=1, place=1, person=person, serial=serial)


ADA = Person(name="Ada Lovelace", phone="+44 (0)20 7946-0001", user_id="Ada.L@example.org")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada", True),
        ("LOVE", True),
        ("  lace ", True),
        ("ada l", True),
        ("a.l@EX", True),
        ("79460001", True),
        ("7946 00", True),
        ("+44", True),
        ("020 7946", True),
        ("adal", False),
        ("7946-0002", False),
        ("tel 7946", False),
        ("-", False),
        ("Grace", False),
    ],
)
def test_a_part_of_a_name_a_phone_or_a_user_id_is_enough(text: str, found: bool) -> None:
    assert SearchQuery(text, "DEMO").matches(ticket_of(ADA)) is found
    assert not SearchQuery(text, "DEMO").matches(ticket_of(Person()))


def test_letters_are_alike_large_and_small_in_every_script() -> None:
    assert SearchQuery("STRASSE", "DEMO").matches(ticket_of(Person(name="Anna Straße")))
    assert SearchQuery("ёлка", "DEMO").matches(ticket_of(Person(name="ЁЛКА")))


@pytest.mark.parametrize(("text", "found"), [("A0012", True), ("rdemo-a0012", True), ("A001", False), ("7", False)])
def test_a_ticket_with_a_serial_is_found_by_what_it_prints(text: str, found: bool) -> None:
    assert SearchQuery(text, "DEMO").matches(ticket_of(Person(), serial="A0012")) is found


@pytest.mark.parametrize("text", ["", "   ", "x" * 101, "a\x00", "\ud800"])
def test_what_nobody_can_be_found_by_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="search"):
        SearchQuery(text, "DEMO")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("007", 7),
        ("RDESK-000007", 7),
        ("rdesk-7", 7),
        ("RDESK-1234567", 1234567),
        ("DESK-7", None),
        ("ROTHER-000007", None),
        ("0", None),
        ("-7", None),
        ("", None),
        ("٧", None),
        ("7x", None),
        ("9" * 16, None),
    ],
)
def test_a_number_or_a_label_means_a_ticket(text: str, number: int | None) -> None:
    assert number_in(text, "DESK") == number


@pytest.fixture
def found(store: Store, queue: QueueId) -> Callable[..., Any]:
    """The numbers found, page by page."""
    service = Fairline(store, Keyring(b"0" * 32))

    async def find(text: str, status: Status | None = None, limit: int = 100) -> list[int]:
        numbers: list[int] = []
        cursor = None
        while True:
            page = await service.tickets(queue, status, cursor, limit, text)
            assert len(page.tickets) <= limit
            numbers += [ticket.number for ticket in page.tickets]
            cursor = page.cursor
            if cursor is None:
                return numbers

    return find


async def test_people_are_found_in_the_order_of_the_line(
    store: Store, make_queue: MakeQueue, found: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SLICE", 4)
    monkeypatch.setattr(searching, "AT_MOST", 8)
    queue = await make_queue(admission="manual", ticket_prefix="DESK")
    names = [None if number % 5 == 4 else f"{'Ada' if number % 2 else 'Grace'} {number}" for number in range(1, 24)]
    await store.join(queue, [Arrival(person=Person(name=name)) for name in names])
    await store.act(queue, Action.CANCEL, [1, 2])
    await store.call_next(queue, 1, number=5)
    adas = [number for number in range(1, 24) if number % 2 and number % 5 != 4]
    ordered = [*(n for n in adas if n not in (1, 5)), 5, 1]
    for limit in (1, 2, 3, 4, 5, 100):
        assert await found("ada", limit=limit) == ordered
    assert await found("ada", Status.WAITING, 2) == ordered[:-2]
    assert await found("grace", Status.EXPIRED) == [2]
    assert await found("nobody") == []
    assert await found("21") == await found("rdesk-000021") == [21]
    assert await found("Ada 21") == [21]
    assert await found("1", Status.EXPIRED) == [1]
    # No ticket has this number: it may be a part of what someone told.
    assert await found("99") == []


async def test_a_number_that_no_ticket_has_is_looked_for_in_phones(
    store: Store, make_queue: MakeQueue, found: Callable[..., Any]
) -> None:
    queue = await make_queue()
    await store.join(queue, [Arrival(person=ADA), Arrival()])
    assert await found("7946") == [1]
    assert await found("2", Status.ADMITTED) == []
    assert await found("+2") == [1]


async def test_a_page_is_the_last_where_nobody_else_is_found(
    store: Store, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SLICE", 4)
    queue = await make_queue()
    adas = (2, 3, 7)
    await store.join(queue, [Arrival(person=Person(name="Ada" if n in adas else "x")) for n in range(1, 13)])
    service = Fairline(store, Keyring(b"0" * 32))
    assert (await service.tickets(queue, None, None, 3, "ada")).cursor is None
    two = await service.tickets(queue, None, None, 2, "ada")
    assert two.cursor is not None
    last = await service.tickets(queue, None, two.cursor, 1, "ada")
    assert ([ticket.number for ticket in last.tickets], last.cursor) == ([7], None)


async def test_one_search_looks_at_a_bounded_number_of_tickets(
    store: Store, make_queue: MakeQueue, found: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SLICE", 4)
    monkeypatch.setattr(searching, "AT_MOST", 8)
    queue = await make_queue()
    await store.join(queue, [Arrival(person=Person(name="Ada" if n == 9 else "x")) for n in range(12)])
    service = Fairline(store, Keyring(b"0" * 32))
    short = await service.tickets(queue, None, None, 5, "ada")
    assert short.tickets == []
    assert short.cursor is not None
    rest = await service.tickets(queue, None, short.cursor, 5, "ada")
    assert [ticket.number for ticket in rest.tickets] == [10]


async def test_nobody_is_missed_where_the_last_one_shown_has_moved_on(store: Store, make_queue: MakeQueue) -> None:
    queue = await make_queue(admission="manual")
    await store.join(queue, [Arrival(person=Person(name="Ada"))] * 3)
    service = Fairline(store, Keyring(b"0" * 32))
    first = await service.tickets(queue, Status.WAITING, None, 1, "ada")
    assert [ticket.number for ticket in first.tickets] == [1]
    await store.act(queue, Action.CANCEL, [1])
    rest = await service.tickets(queue, Status.WAITING, first.cursor, 5, "ada")
    assert [ticket.number for ticket in rest.tickets] == [2, 3]
