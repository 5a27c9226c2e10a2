"""Search: finds people in a queue by a ticket number, or by a part of a name, a phone number or a user id.

No store has an index of personal details, so a search reads the listing page by page. Other calls are served in
between, and one search reads a limited number of tickets.
"""

from __future__ import annotations

import re

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.storable_text import check_text
from fairline.domain.ticket import Status, Ticket, label, number_in
from fairline.errors import InvalidRequest
from fairline.store import Page, Store

#: How many tickets are read at once, and how many one search reads before it returns what it has found.
SLICE = 250
AT_MOST = 50_000
LONGEST = 100

_PHONE = re.compile(r"[0-9+()./ -]+", re.ASCII)
_NOT_DIGITS = re.compile(r"[^0-9]+", re.ASCII)


class SearchQuery:
    """A search text, prepared for comparison with tickets."""

    def __init__(self, text: str, prefix: str) -> None:
        check_text("search", text, InvalidRequest)
        self.text = text.strip()
        if not 1 <= len(self.text) <= LONGEST:
            raise InvalidRequest("search", f"must be text of 1 to {LONGEST} characters; got {len(self.text)}")
        self._part = self.text.casefold()
        self._prefix = prefix
        self._digits = _NOT_DIGITS.sub("", self.text) if _PHONE.fullmatch(self.text) else ""

    def matches(self, ticket: Ticket) -> bool:
        """Whether the text is the ticket's label, or part of its name, user id or phone number. Of a phone number, only
        the digits are compared."""
        person = ticket.person
        if ticket.serial and self._part in (ticket.serial.casefold(), label(self._prefix, 0, ticket.serial).casefold()):
            return True
        if any(self._part in detail.casefold() for detail in (person.name, person.user_id) if detail):
            return True
        return bool(self._digits and person.phone and self._digits in _NOT_DIGITS.sub("", person.phone))


async def search(
    store: Store,
    queue: QueueId,
    settings: QueueSettings,
    text: str,
    status: Status | None,
    cursor: str | None,
    limit: int,
) -> Page:
    """Return the ticket with this number or label, or else the tickets of people whose details contain `text`, in the
    order of the listing. A page may be short without being the last."""
    prefix = settings.ticket_prefix or queue.upper()
    wanted = SearchQuery(text, prefix)
    if cursor is None:
        ticket = await _numbered(store, queue, prefix, wanted.text, status)
        if ticket is not None:
            return Page([ticket], None)
    return await _through_the_listing(store, queue, wanted, status, cursor, limit)


async def _numbered(store: Store, queue: QueueId, prefix: str, text: str, status: Status | None) -> Ticket | None:
    """The ticket with this number or label. A ticket that has a serial is only found by its own label."""
    number = number_in(text, prefix)
    if number is None:
        return None
    (found,) = (await store.look_up(queue, [number])).items
    return found if found is not None and not found.serial and status in (None, found.status) else None


async def _through_the_listing(
    store: Store, queue: QueueId, wanted: SearchQuery, status: Status | None, cursor: str | None, limit: int
) -> Page:
    """Search the listing. The cursor of a search is a cursor of the listing and the last ticket read on that page."""
    at, _, seen = (cursor or "").partition("~")
    if seen and not (seen.isascii() and seen.isdecimal() and len(seen) <= 16):
        raise InvalidRequest("cursor", f"must be one that a search answered; got {cursor!r:.80}")
    found: list[Ticket] = []
    for _ in range(AT_MOST // SLICE):
        page = await store.tickets(queue, status, at or None, SLICE)
        for ticket in _after(page.tickets, int(seen) if seen else None):
            if wanted.matches(ticket):
                if len(found) == limit:  # only now is it certain that there is another page
                    return Page(found, f"{at}~{seen}")
                found.append(ticket)
            seen = str(ticket.number)
        if page.cursor is None:
            return Page(found, None)
        at, seen = page.cursor, ""
    return Page(found, at)


def _after(tickets: list[Ticket], seen: int | None) -> list[Ticket]:
    """The tickets after the last one read; all of them if that one has moved, so that nobody is missed."""
    numbers = [ticket.number for ticket in tickets]
    return tickets[numbers.index(seen) + 1 :] if seen in numbers else tickets
