"""The outbox: deliveries to other systems, kept until they have arrived or are given up.

An outbox belongs to one receiver, such as a webhook, and is filled from the events of queues. For each queue it has a
cursor: the last event that was taken. The store does not know how a delivery is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from fairline.domain.queue import QueueId

#: Where a listing of deliveries continues: after the one that was due at this time and has this id.
CURSOR = re.compile(r"([0-9]{1,18}):([0-9a-z]{1,64})", re.ASCII)


class DeliveryState(StrEnum):
    """Still to be sent, or given up."""

    PENDING = "pending"
    DEAD = "dead"


class NewDelivery(NamedTuple):
    """A delivery to add to an outbox. Adding the same id again changes nothing."""

    id: str
    payload: str
    thread: str = ""
    """Deliveries of one thread are tried one after the other: each after the first try of the one before. Only the
    first try waits, so that an urgent delivery does not wait for the retries of an old one. Empty is no thread."""


class Delivery(Struct, frozen=True, kw_only=True):
    """A delivery as an outbox keeps it."""

    id: str
    payload: str
    made: int
    """When it was added, in milliseconds since 1970 by the store's clock."""
    tries: int
    """How often it was claimed; this tells a claim from later ones."""
    at: int
    """When it is due; for a dead one, when it was given up."""
    error: str = ""
    """The error of the last try."""


class DeliveryPage(Struct, frozen=True):
    """A page of a listing, and where to continue; None at its end."""

    deliveries: list[Delivery]
    cursor: str | None

    @classmethod
    def of(cls, deliveries: list[Delivery], limit: int) -> DeliveryPage:
        """A page of up to `limit` deliveries, of which one more was read to know whether there is another page."""
        last = deliveries[limit - 1] if len(deliveries) > limit else None
        return cls(deliveries[:limit], f"{last.at}:{last.id}" if last else None)


class BoxCounts(NamedTuple):
    """How many deliveries an outbox holds."""

    pending: int = 0
    dead: int = 0


class Outbox(Protocol):
    """The outboxes of a store, by name. Each operation is one atomic step. On an outbox that is not open it changes
    nothing."""

    async def open(self, box: str, cursors: Mapping[QueueId, str]) -> None:
        """Create an outbox, with the event to continue from for each existing queue; a queue that is created later is
        taken from its first event. Does nothing if the outbox exists."""

    async def drop(self, box: str) -> None:
        """Remove an outbox with its deliveries."""

    async def cursor(self, box: str, queue: QueueId) -> str | None:
        """The last event taken from a queue; None if none was."""

    async def take(
        self, box: str, queue: QueueId, seen: str | None, to: str, new_deliveries: Sequence[NewDelivery], at_most: int
    ) -> bool:
        """Add deliveries and advance the cursor from `seen` to `to`. False, and nothing is done, if the cursor is no
        longer at `seen`, or more than `at_most` would be pending."""

    async def due(self, boxes: Sequence[str]) -> list[str]:
        """Which of these have a delivery that is due."""

    async def claim(self, box: str, at_most: int, seconds: float) -> list[Delivery]:
        """Claim the deliveries that are due, oldest first. One that is not settled within `seconds` is due again: the
        worker that claimed it is dead."""

    async def settle_sent(self, box: str, delivery: Delivery) -> bool:
        """It has arrived. This and the next two return False if it was claimed again since."""

    async def settle_retry(self, box: str, delivery: Delivery, seconds: float, error: str) -> bool:
        """It has not arrived, and is due again in `seconds`."""

    async def settle_dead(self, box: str, delivery: Delivery, error: str) -> bool:
        """It is given up: kept for a while, to be inspected and replayed."""

    async def replay(self, box: str, at_most: int, *, before: int | None = None, one: str | None = None) -> int:
        """Make dead deliveries due now, with all their tries ahead of them again: one, or those given up by `before`.
        Returns how many there were."""

    async def deliveries(self, box: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        """The deliveries of an outbox, in the order in which they are due, or were given up. One that moves between two
        pages may be listed twice or not at all."""

    async def counts(self, boxes: Sequence[str]) -> list[BoxCounts]:
        """How many deliveries each of these holds."""
