"""Listings: in order, a page at a time, everybody once."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from fairline.domain.ticket import LIVE, Action, Status, Ticket
from fairline.errors import InvalidRequest
from tests.store.venue import OpenVenue, Venue


async def crowd(v: Venue) -> dict[Status, list[int]]:
    """Three of every state, their numbers mixed."""
    found: dict[Status, list[int]] = {status: [] for status in Status}
    for _ in range(3):
        for status in Status:
            found[status].append(await v.one(status))
    return found


async def test_the_line_is_listed_by_place_and_the_others_by_number(venue: OpenVenue) -> None:
    v = await venue()
    found = await crowd(v)
    await v.store.prioritise(v.queue, found[Status.WAITING][2], 3)
    found[Status.WAITING].insert(0, found[Status.WAITING].pop())
    for status, numbers in found.items():
        assert [ticket.number for ticket in await v.tickets(status)] == numbers
    ended = sorted(found[Status.COMPLETED] + found[Status.EXPIRED])
    assert [ticket.number for ticket in await v.tickets()] == [
        *found[Status.WAITING],
        *found[Status.ADMITTED],
        *found[Status.ACTIVE],
        *ended,
    ]


async def test_a_listing_has_the_whole_ticket(venue: OpenVenue) -> None:
    v = await venue()
    await crowd(v)
    for ticket in await v.tickets():
        assert await v.ticket(ticket.number) == ticket


async def test_pages_put_together_are_the_whole_listing(venue: OpenVenue) -> None:
    v = await venue()
    await crowd(v)
    for status, page in product((None, Status.WAITING, Status.EXPIRED), (1, 2, 3, 7, 15, 100)):
        seen: list[Ticket] = []
        cursor: str | None = None
        while True:
            got = await v.store.tickets(v.queue, status, cursor, page)
            assert len(got.tickets) <= page
            seen += got.tickets
            cursor = got.cursor
            if cursor is None:
                break
        assert seen == await v.tickets(status), (status, page)
        assert len(seen) == (15 if status is None else 3), (status, page)


async def test_pages_follow_places_of_every_kind(venue: OpenVenue) -> None:
    for policy in ("skip", "strict"):
        v = await venue(priority_policy=policy)
        for level in (0, 3, 1, 0, 2, 3, 0, 1):
            await v.join(priority=level)
        assert [ticket.number for ticket in await v.tickets(Status.WAITING, page=1)] == await v.line(), policy
        assert [ticket.position for ticket in await v.tickets(page=3)] == list(range(1, 9)), policy


async def test_a_full_page_with_nobody_behind_it_is_the_last(venue: OpenVenue) -> None:
    v = await venue()
    await crowd(v)
    for status, many in ((None, 15), (Status.WAITING, 3), (Status.ADMITTED, 3), (Status.ACTIVE, 3)):
        page = await v.store.tickets(v.queue, status, None, many)
        assert (len(page.tickets), page.cursor) == (many, None), status
        first = await v.store.tickets(v.queue, status, None, many - 1)
        assert first.cursor is not None, status
        rest = await v.store.tickets(v.queue, status, first.cursor, 1)
        assert ([*first.tickets, *rest.tickets], rest.cursor) == (page.tickets, None), status


async def test_who_is_on_hold_is_behind_a_full_page_of_the_line(venue: OpenVenue) -> None:
    v = await venue()
    for _ in range(3):
        await v.join()
    await v.act(Action.HOLD, 1)
    line = await v.store.tickets(v.queue, Status.WAITING, None, 2)
    assert [ticket.number for ticket in line.tickets] == [2, 3]
    on_hold = await v.store.tickets(v.queue, Status.WAITING, line.cursor, 1)
    assert ([ticket.number for ticket in on_hold.tickets], on_hold.cursor) == ([1], None)


async def test_an_empty_listing_is_at_its_end(venue: OpenVenue) -> None:
    v = await venue()
    for status in (None, *Status):
        page = await v.store.tickets(v.queue, status, None, 10)
        assert (page.tickets, page.cursor) == ([], None)


async def test_who_stays_is_listed_exactly_once_while_others_come_and_go(venue: OpenVenue) -> None:
    for status in sorted(LIVE):
        v = await venue()
        stay = [await v.one(status) for _ in range(12)]
        goers = {n for n in stay if n % 3 == 0}
        seen: Counter[int] = Counter()
        cursor: str | None = None
        for turn in range(100):
            page = await v.store.tickets(v.queue, status, cursor, 2)
            seen.update(ticket.number for ticket in page.tickets)
            cursor = page.cursor
            if cursor is None:
                break
            leaver = sorted(goers)[turn % 2 * -1] if goers else None  # one behind the cursor, one ahead of it
            if leaver is not None:
                goers.discard(leaver)
                await v.store.revoke(v.queue, leaver, "goes")
            if turn < 5:
                await v.one(status)
        assert cursor is None, status
        assert {n: seen[n] for n in stay if n % 3} == {n: 1 for n in stay if n % 3}, status
        assert max(seen.values()) == 1, status


async def test_who_does_not_move_is_listed_once_among_all_states(venue: OpenVenue) -> None:
    v = await venue()
    found = await crowd(v)
    still = {number for numbers in found.values() for number in numbers[1:]}
    seen: Counter[int] = Counter()
    cursor: str | None = None
    movers = iter([numbers[0] for status, numbers in found.items() if status in LIVE])
    while True:
        page = await v.store.tickets(v.queue, None, cursor, 2)
        seen.update(ticket.number for ticket in page.tickets)
        cursor = page.cursor
        if cursor is None:
            break
        mover = next(movers, None)
        if mover is not None:
            await v.act(Action.LEAVE, mover)
    assert {number: seen[number] for number in still} == dict.fromkeys(still, 1)


async def test_a_cursor_that_no_listing_gave_is_refused(venue: OpenVenue) -> None:
    v = await venue()
    await v.join()
    wrong = ["", "x", "1", "1:", ":1", "0:1", "6:1", "1:abc", "1:1.2.3", "1:e", "1:+", "1:--1", "1:nan", "1:inf"]
    for cursor in (*wrong, "1:1 2", "1:1\n"):
        with pytest.raises(InvalidRequest, match="cursor"):
            pytest.fail(f"{cursor!r} gave {await v.store.tickets(v.queue, None, cursor, 10)}")
