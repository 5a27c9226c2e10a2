"""Wishes of people to be told by Web Push: each is a delivery that waits in an outbox for its moment."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

from fairline.domain.push import PushKey, Subscription
from fairline.domain.queue import QueueId
from fairline.domain.ticket import TicketStatus
from fairline.errors import RateLimited
from fairline.service.fairline import Fairline
from fairline.store import NewDelivery

#: The name of the outbox.
BOX = "push"
#: How many wishes may wait in all, and how often one ticket may wish in an hour.
MOST_WISHES = 10_000
MOST_TRIES = 10
HOUR_SECONDS = 3600.0
#: The outbox has no events, so that its cursor never moves.
_CURSOR = "none"


class PushWish(Struct, frozen=True, kw_only=True):
    """What to send to a browser, and when: at a place, some minutes before the turn, or at the turn."""

    queue: str
    ticket: int
    joined: int
    place: int | None
    minutes: int | None
    subscription: Subscription
    title: str
    text: str
    url: str

    @property
    def is_turn(self) -> bool:
        """Whether it is to be sent at the turn."""
        return self.place is None and self.minutes is None

    @property
    def id(self) -> str:
        """The same for the same wish, so that it is kept once."""
        when = f"{self.queue} {self.ticket} {self.joined} {self.place} {self.minutes} {self.subscription.endpoint}"
        return sha256(when.encode()).hexdigest()[:32]


class PushWishes:
    """Keeps the wishes of people."""

    def __init__(self, service: Fairline) -> None:
        self._store = service.store
        self.key = PushKey(service.keyring.push_seed)

    async def add(self, queue: QueueId, ticket_status: TicketStatus, wishes: list[PushWish]) -> None:
        """Keep wishes of one ticket until their moment comes, or raise RateLimited."""
        who = f"{queue} {ticket_status.number} {ticket_status.joined}"
        wait = await self._store.registry.limit(who, BOX, MOST_TRIES, HOUR_SECONDS)
        if wait:
            raise RateLimited("ticket", wait)
        outbox = self._store.outbox
        new = [NewDelivery(wish.id, msgspec.json.encode(wish).decode()) for wish in wishes]
        await outbox.open(BOX, {})
        seen = await outbox.cursor(BOX, queue)
        taken = await outbox.take(BOX, queue, seen, _CURSOR, new, MOST_WISHES)
        if not taken and not await outbox.take(BOX, queue, _CURSOR, _CURSOR, new, MOST_WISHES):
            raise RateLimited("server", HOUR_SECONDS / 60)
