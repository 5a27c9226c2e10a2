"""The outbox: what is to be sent out of the house, kept until it has arrived or has been given up.

An outbox belongs to one receiver (a webhook, say) and is filled from the events of queues. For each queue it has a
cursor: the last event that was taken. How a delivery is sent is no business of the store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from fairline.domain.queue import QueueId

#: What is given up is kept so long, and so many of it in one outbox: the oldest go first.
DEAD_SECONDS = 7 * 86_400
DEAD_KEPT = 10_000
#: One of a thread is put off for at most so long, until the one before it was tried.
THREAD_SECONDS = 20
#: Where a listing of deliveries goes on: after the one that was due at this time and has this id.
CURSOR = re.compile(r"([0-9]{1,18}):([0-9a-z]{1,64})", re.ASCII)


class DeliveryState(StrEnum):
    """Still to be sent, or given up."""

    PENDING = "pending"
    DEAD = "dead"


class NewDelivery(NamedTuple):
    """What is put into an outbox. The id is the same however often it is put there."""

    id: str
    payload: str
    thread: str = ""
    """Those of one thread are tried one after the other: each once the one before it was tried. Only the first try
    waits: what is urgent must not wait for an old one's patience. Empty is no thread."""


class Delivery(Struct, frozen=True, kw_only=True):
    """One thing to be sent, as an outbox keeps it."""

    id: str
    payload: str
    made: int
    """When it was put there, in milliseconds since 1970 by the store's clock."""
    tries: int
    """How often it was claimed; with it a claim is told from the ones after it."""
    at: int
    """When it is due; for a dead one, when it was given up."""
    error: str = ""
    """What the last try met."""


class DeliveryPage(Struct, frozen=True):
    """Some of a listing, and where to go on; None at its end."""

    deliveries: list[Delivery]
    cursor: str | None

    @classmethod
    def of(cls, deliveries: list[Delivery], limit: int) -> DeliveryPage:
        """So many of what was found, of which one more was looked for: a page that is full may be the last one."""
        last = deliveries[limit - 1] if len(deliveries) > limit else None
        return cls(deliveries[:limit], f"{last.at}:{last.id}" if last else None)


class BoxCounts(NamedTuple):
    """How many an outbox holds."""

    pending: int = 0
    dead: int = 0


class Outbox(Protocol):
    """The outboxes of a store, each by its name. Each operation is one atomic step. One on an outbox that is not open
    changes nothing."""

    async def open(self, box: str, cursors: Mapping[QueueId, str]) -> None:
        """Make an outbox, with the event to go on from for each queue there is; a queue made later is taken from its
        first one. Leaves one that is open as it is."""

    async def drop(self, box: str) -> None:
        """Remove an outbox with all it holds."""

    async def cursor(self, box: str, queue: QueueId) -> str | None:
        """The last event taken of a queue; None if none was."""

    async def take(
        self, box: str, queue: QueueId, seen: str | None, to: str, new_deliveries: Sequence[NewDelivery], at_most: int
    ) -> bool:
        """Put parcels in and move the cursor on from `seen` to `to`. False, and nothing is done, where the cursor is
        not at `seen` any more, or more than `at_most` would be pending."""

    async def due(self, boxes: Sequence[str]) -> list[str]:
        """Which of these have something to send now."""

    async def claim(self, box: str, at_most: int, seconds: float) -> list[Delivery]:
        """Take what is due, oldest first. What is not settled within `seconds` is due again: whoever claimed it is
        dead."""

    async def settle_sent(self, box: str, delivery: Delivery) -> bool:
        """It has arrived. This and the next two answer False where the claim was not the last one."""

    async def settle_retry(self, box: str, delivery: Delivery, seconds: float, error: str) -> bool:
        """It has not arrived, and is due again in so many seconds."""

    async def settle_dead(self, box: str, delivery: Delivery, error: str) -> bool:
        """It is given up: kept for a while, to be looked at and replayed."""

    async def replay(self, box: str, at_most: int, *, before: int | None = None, one: str | None = None) -> int:
        """Make dead deliveries due at once, with all tries before them: one, or those given up by `before`. How many
        there were."""

    async def deliveries(self, box: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        """What an outbox holds: in the order it is due, or was given up. A delivery that moves between two pages may be
        seen twice or not at all."""

    async def counts(self, boxes: Sequence[str]) -> list[BoxCounts]:
        """How many each of these holds."""
