"""The dispatch: takes what happened into the outbox of everyone who wants to hear of it, and has it sent.

The line knows nothing of it: events are read after they were written, and whatever a receiver does, nobody's place
waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, StoreError
from fairline.keeper import mail, webhooks
from fairline.keeper.delivery import ROUND_SECONDS, Channel, DeliveryWorker, Outcome, Patience
from fairline.keeper.mail import MailBox, Mailer
from fairline.keeper.notices import NoticeWriter
from fairline.keeper.webhooks import HookBox
from fairline.service.fairline import Fairline
from fairline.store import Delivery, NewDelivery

log = structlog.get_logger()

#: Events taken in one step.
STEP = 200
#: How many may wait in one outbox; further events stay in the log of their queue until there is room.
PENDING = 10_000
#: How many queues are looked at together: the store belongs to the line first.
AT_ONCE = 4


class Box(Protocol):
    """An outbox that is filled from events, and how it is emptied."""

    @property
    def id(self) -> str:
        """Its name in the store."""

    @property
    def kind(self) -> str:
        """What it is, for logs and figures."""

    def covers(self, queue: QueueId) -> bool:
        """Whether it wants to know of a queue."""

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """What is to be sent of some events."""

    async def send(self, delivery: Delivery) -> Outcome:
        """Send one of them."""


class Dispatch:
    """Looks after all outboxes of a store: one of each webhook, and one of mail where there is a `mailer`. `private`
    says whether webhooks may go to private addresses; `on_lost` hears of events that were gone before they were
    taken."""

    def __init__(
        self,
        service: Fairline,
        *,
        private: bool,
        public_url: str = "",
        mailer: Mailer | None = None,
        round_seconds: float = ROUND_SECONDS,
        patience: Patience | None = None,
        on_outcome: Callable[[str, str], None] | None = None,
        on_lost: Callable[[str], None] | None = None,
    ) -> None:
        self._store = service.store
        self._private = private
        self._round_seconds = round_seconds
        self._on_lost = on_lost
        self._notice_writer = NoticeWriter(service, public_url)
        self._mail = MailBox(mailer, self._notice_writer) if mailer else None
        self._mail_open = False
        self._boxes: list[Box] = []
        self._taken: dict[tuple[str, QueueId], str] = {}
        """The last event known to be taken: where the queue has no newer one, there is nothing to do."""
        self._looked: dict[QueueId, str] = {}
        """The last event after which the front of the line was looked at."""
        self._couriers = {
            kind: DeliveryWorker(
                self._store.outbox, kind, round_seconds=round_seconds, patience=patience, on_outcome=on_outcome
            )
            for kind in ((webhooks.KIND, mail.KIND) if mailer else (webhooks.KIND,))
        }

    async def run(self) -> None:
        """Take and send until cancelled. An outage of the store is waited out."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._rounds())
            for kind, delivery_worker in self._couriers.items():
                tasks.create_task(delivery_worker.run(lambda kind=kind: self._channels(kind)))  # type: ignore[misc]

    def _channels(self, kind: str) -> Mapping[str, Channel]:
        return {box.id: box.send for box in self._boxes if box.kind == kind}

    async def _rounds(self) -> None:
        away = False
        while True:
            try:
                await self.take()
                away = False
            except StoreError as error:
                if not away:  # said once, not at every round
                    log.warning("delivery.store_away", error=error.message)
                away = True
            await asyncio.sleep(self._round_seconds)

    async def take(self) -> None:
        """One round: take what happened since the last one into the outbox of everyone who wants to hear of it."""
        self._boxes = await self._open_boxes()
        known = {box.id for box in self._boxes}
        self._taken = {key: event for key, event in self._taken.items() if key[0] in known}
        if not self._boxes:
            return
        places = asyncio.Semaphore(AT_ONCE)

        async def taken(queue: QueueId, newest: str) -> StoreError | None:
            async with places:
                try:
                    await self._take_queue(queue, newest)
                except QueueNotFound:
                    self._looked.pop(queue, None)  # deleted meanwhile
                except StoreError as error:
                    return error
            return None

        newest = await self._store.newest_events()
        heard = [each for each in newest.items() if any(box.covers(each[0]) for box in self._boxes)]
        failed = [error for error in await asyncio.gather(*(taken(*each) for each in heard)) if error]
        if failed:
            raise failed[0]

    async def _open_boxes(self) -> list[Box]:
        hooks = [hook for hook in await self._store.registry.webhooks() if hook.active]
        boxes: list[Box] = [HookBox(hook, self._store, self._notice_writer, private=self._private) for hook in hooks]
        if self._mail is None:
            return boxes
        if not self._mail_open:  # from now on: nobody is written to about what is long over
            await self._store.outbox.open(self._mail.id, await self._store.newest_events())
            self._mail_open = True
        return [*boxes, self._mail]

    async def _take_queue(self, queue: QueueId, newest: str) -> None:
        if self._looked.get(queue) != newest:  # only where something happened can anyone have moved up
            await self._notice_writer.note_nearly(queue)
            self._looked[queue] = newest
        for box in self._boxes:
            if box.covers(queue) and self._taken.get((box.id, queue)) != newest:
                await self._take(box, queue)

    async def _take(self, box: Box, queue: QueueId) -> None:
        outbox, store = self._store.outbox, self._store
        while True:
            seen = await outbox.cursor(box.id, queue)
            events = await store.events(queue, seen, STEP)
            if not events:
                if seen is not None:
                    self._taken[box.id, queue] = seen
                return
            lost = await self._are_lost(queue, seen, events)
            new_deliveries = await box.new_deliveries(queue, events)
            last = events[-1].id
            if not await outbox.take(box.id, queue, seen, last, new_deliveries, PENDING):
                return  # another keeper has done it, or there is no room: look again in the next round
            self._taken[box.id, queue] = last
            if lost:
                log.warning("delivery.events_lost", kind=box.kind, box=box.id, queue=queue, after=seen)
                if self._on_lost:
                    self._on_lost(box.kind)
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
