"""Webhooks: takes what happened into the outbox of each, and posts it, signed.

The line knows nothing of it: events are read after they were written, and whatever a receiver does, nobody's place
waits for it.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import structlog
from msgspec import Struct

from fairline.errors import QueueNotFound, ServiceFailed, StoreError
from fairline.events import Event, EventType
from fairline.keeper.outbound import send
from fairline.keeper.outbox import ROUND_SECONDS, Channel, Courier, Outcome, Patience
from fairline.queue import QueueId
from fairline.store import Delivery, Parcel, Store
from fairline.ticket import Ticket, label
from fairline.webhook import Webhook, notice, signature

log = structlog.get_logger()

KIND = "webhook"
#: Events taken in one step.
STEP = 200
#: How many may wait in one outbox; further events stay in the log of their queue until there is room.
PENDING = 10_000
#: How many queues are looked at together: the store belongs to the line first.
AT_ONCE = 4
#: What a receiver has for its whole answer.
ANSWER_SECONDS = 10.0


class _Kind(Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind).decode


async def post(hook: Webhook, private: bool, delivery: Delivery, seconds: float = ANSWER_SECONDS) -> Outcome:
    """Post one delivery. Anything but a 2xx is a failure; 410 says that nobody will ever want it."""
    headers = {
        "content-type": "application/json",
        "x-fairline-event": _kind(delivery.payload).type,
        "x-fairline-delivery": delivery.id,
    }
    body = delivery.payload.encode()
    headers["x-fairline-signature"] = signature(hook.secret, body, int(time.time()))
    try:
        answer = await send("POST", hook.url, headers=headers, body=body, seconds=seconds, private=private)
    except ServiceFailed as error:
        return Outcome(sent=False, error=error.message)
    if answer.ok:
        return Outcome(sent=True)
    told = f"answered {answer.status}"
    if 300 <= answer.status < 400:
        told += ", and redirects are not followed"
    return Outcome(
        sent=False, error=told, final=answer.status == 410, retry_after=_seconds(answer.headers.get("retry-after"))
    )


def _seconds(text: str | None) -> float | None:
    """A Retry-After in seconds; one with a date is left to our own patience."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


class Webhooks:
    """Looks after all webhooks of a store. `private` says whether private addresses may be called; `on_lost` hears of
    events that were gone before they were taken."""

    def __init__(
        self,
        store: Store,
        *,
        private: bool,
        round_seconds: float = ROUND_SECONDS,
        patience: Patience | None = None,
        on_outcome: Callable[[str, str], None] | None = None,
        on_lost: Callable[[str], None] | None = None,
    ) -> None:
        self._store = store
        self._private = private
        self._round_seconds = round_seconds
        self._on_lost = on_lost
        self._hooks: list[Webhook] = []
        self._taken: dict[tuple[str, QueueId], str] = {}
        """The last event known to be taken: where the queue has no newer one, there is nothing to do."""
        self._courier = Courier(
            store.outbox, KIND, round_seconds=round_seconds, patience=patience, on_outcome=on_outcome
        )

    async def run(self) -> None:
        """Take and post until cancelled. An outage of the store is waited out."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._rounds())
            tasks.create_task(self._courier.run(self._channels))

    def _channels(self) -> Mapping[str, Channel]:
        return {hook.id: partial(post, hook, self._private) for hook in self._hooks}

    async def _rounds(self) -> None:
        away = False
        while True:
            try:
                await self.take()
                away = False
            except StoreError as error:
                if not away:  # said once, not at every round
                    log.warning("webhooks.store_away", error=error.message)
                away = True
            await asyncio.sleep(self._round_seconds)

    async def take(self) -> None:
        """One round: take what happened since the last one into the outbox of everyone who wants to hear of it."""
        self._hooks = [hook for hook in await self._store.registry.webhooks() if hook.active]
        known = {hook.id for hook in self._hooks}
        self._taken = {key: event for key, event in self._taken.items() if key[0] in known}
        if not self._hooks:
            return
        places = asyncio.Semaphore(AT_ONCE)

        async def taken(queue: QueueId) -> StoreError | None:
            async with places:
                try:
                    await self._take_queue(queue)
                except QueueNotFound:
                    pass  # deleted meanwhile
                except StoreError as error:
                    return error
            return None

        queues = [queue for queue in await self._store.queues() if any(hook.hears(queue) for hook in self._hooks)]
        failed = [error for error in await asyncio.gather(*map(taken, queues)) if error]
        if failed:
            raise failed[0]

    async def _take_queue(self, queue: QueueId) -> None:
        newest = await self._store.last_event(queue)
        for hook in self._hooks:
            if hook.hears(queue) and self._taken.get((hook.id, queue)) != newest:
                await self._take(hook, queue)

    async def _take(self, hook: Webhook, queue: QueueId) -> None:
        outbox, store = self._store.outbox, self._store
        while True:
            seen = await outbox.cursor(hook.id, queue)
            events = await store.events(queue, seen, STEP)
            if not events:
                if seen is not None:
                    self._taken[hook.id, queue] = seen
                return
            lost = await self._are_lost(queue, seen, events)
            parcels = await self._parcels(hook, queue, [event for event in events if hook.wants(event)])
            last = events[-1].id
            if not await outbox.take(hook.id, queue, seen, last, parcels, PENDING):
                return  # another keeper has done it, or there is no room: look again in the next round
            self._taken[hook.id, queue] = last
            if lost:
                log.warning("webhook.events_lost", webhook=hook.id, queue=queue, after=seen)
                if self._on_lost:
                    self._on_lost(KIND)
            if len(events) < STEP:
                return

    async def _are_lost(self, queue: QueueId, seen: str | None, events: list[Event]) -> bool:
        """Whether the log of the queue was trimmed before these were taken. Only who is far behind can have lost
        anything."""
        if len(events) < STEP:
            return False
        if seen is None:
            return events[0].type is not EventType.QUEUE_CREATED
        return await self._store.events_lost(queue, seen)

    async def _parcels(self, hook: Webhook, queue: QueueId, events: list[Event]) -> list[Parcel]:
        if not events:
            return []
        prefix = (await self._store.settings(queue)).settings.ticket_prefix or queue.upper()
        tickets = await self._tickets(queue, events)
        parcels = []
        for event in events:
            number, ticket = event.ticket, tickets.get(event.ticket or 0)
            printed = None if number is None else label(prefix, number, ticket.serial if ticket else "")
            told = notice(hook, queue, event, printed, ticket.person if ticket and hook.include_person else None)
            parcels.append(Parcel(told.id, told.text()))
        return parcels

    async def _tickets(self, queue: QueueId, events: list[Event]) -> dict[int, Ticket]:
        numbers = sorted({event.ticket for event in events if event.ticket is not None})
        found = (await self._store.look_up(queue, numbers)).items if numbers else []
        return {ticket.number: ticket for ticket in found if ticket is not None}
