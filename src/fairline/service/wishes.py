"""Wishes of people to be told by Web Push or e-mail: each is a delivery that waits in an outbox for its moment."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

from fairline.domain.branding import LANGUAGES
from fairline.domain.mail import mailbox
from fairline.domain.push import Subscription
from fairline.domain.queue import QueueId
from fairline.domain.ticket import TicketStatus
from fairline.errors import RateLimited
from fairline.service.fairline import Fairline
from fairline.store import NewDelivery

#: The names of the outboxes.
PUSH_BOX, MAIL_BOX = "push", "mail-wishes"
#: How many wishes may wait in all, and how often one ticket may wish in an hour.
MOST_WISHES = 10_000
MOST_TRIES = 10
HOUR_SECONDS = 3600.0
#: The outbox has no events, so that its cursor never moves.
_CURSOR = "none"


class Wish(Struct, frozen=True, kw_only=True):
    """What to send to a browser or a mailbox, and when: at a place, some minutes before the turn, at the turn, or at
    the start of an opening."""

    queue: str
    ticket: int
    joined: int
    place: int | None
    minutes: int | None
    subscription: Subscription | None = None
    email: str = ""
    language: str = LANGUAGES[0]
    label: str
    title: str
    text: str
    url: str
    opening: str = ""
    """The opening whose start is to be told."""

    @property
    def is_turn(self) -> bool:
        """Whether it is to be sent at the turn."""
        return self.place is None and self.minutes is None and not self.opening

    @property
    def id(self) -> str:
        """The same for the same wish, so that it is kept once."""
        when = f"{self.queue} {self.ticket} {self.joined} {self.place} {self.minutes} {self._to}"
        when += f" {self.opening}" if self.opening else ""
        return sha256(when.encode()).hexdigest()[:32]

    @property
    def box(self) -> str:
        """The outbox that it waits in."""
        return PUSH_BOX if self.subscription else MAIL_BOX

    @property
    def _to(self) -> str:
        return self.subscription.endpoint if self.subscription else self.email


class Wishes:
    """Keeps the wishes of people."""

    def __init__(self, service: Fairline) -> None:
        self._store = service.store
        self._identity = service.identity

    async def add_mail(
        self, queue: QueueId, ticket_status: TicketStatus, wishes: list[Wish], email: str, at_most: int
    ) -> None:
        """Keep wishes for mail to one address, which may be somebody else's: `at_most` times an hour in this queue, if
        that is not 0."""
        if at_most:
            who = self._identity.digest("wishes", f"{queue} {mailbox(email)}").hex()
            wait = await self._store.registry.limit(who, MAIL_BOX, at_most, HOUR_SECONDS)
            if wait:
                raise RateLimited("email", wait)
        await self.add(queue, ticket_status, wishes)

    async def add(self, queue: QueueId, ticket_status: TicketStatus, wishes: list[Wish]) -> None:
        """Keep wishes of one ticket until their moment comes, or raise RateLimited."""
        box = wishes[0].box
        who = f"{queue} {ticket_status.number} {ticket_status.joined}"
        wait = await self._store.registry.limit(who, box, MOST_TRIES, HOUR_SECONDS)
        if wait:
            raise RateLimited("ticket", wait)
        outbox = self._store.outbox
        new = [NewDelivery(wish.id, msgspec.json.encode(wish).decode()) for wish in wishes]
        await outbox.open(box, {})
        seen = await outbox.cursor(box, queue)
        taken = await outbox.take(box, queue, seen, _CURSOR, new, MOST_WISHES)
        if not taken and not await outbox.take(box, queue, _CURSOR, _CURSOR, new, MOST_WISHES):
            raise RateLimited("server", HOUR_SECONDS / 60)
