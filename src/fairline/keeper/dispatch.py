"""The dispatch: puts events into the outbox of each receiver that wants them, and has them sent.

Events are read after they were written, so a slow or failing receiver never holds up a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.domain.rehearsal import rehearsed_at
from fairline.errors import QueueNotFound, StoreError
from fairline.keeper import mail, push, webhooks
from fairline.keeper.delivery import ROUND_SECONDS, Channel, DeliveryWorker, Outcome, RetryPolicy
from fairline.keeper.mail import MailBox, Mailer
from fairline.keeper.notices import NoticeWriter
from fairline.keeper.push import Pusher
from fairline.keeper.webhooks import HookBox
from fairline.keeper.wishes import Teller
from fairline.service.fairline import Fairline
from fairline.store import Delivery, NewDelivery

log = structlog.get_logger()

#: How many events are taken in one step.
STEP = 200
#: How many deliveries may wait in one outbox. Further events stay in the event log of their queue until then.
PENDING = 10_000
#: How many queues are read at once. It is low because the store serves the people in line first.
AT_ONCE = 4


class Box(Protocol):
    """An outbox: which events go into it, and how its deliveries are sent."""

    @property
    def id(self) -> str:
        """The name of the outbox in the store."""

    @property
    def kind(self) -> str:
        """The kind of outbox, for logs and metrics."""

    def covers(self, queue: QueueId) -> bool:
        """Whether it takes events of a queue."""

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """The deliveries to send for some events."""

    async def send(self, delivery: Delivery) -> Outcome:
        """Send one delivery."""


class Dispatch:
    """Fills and sends all outboxes of a store: one for each webhook, one for mail if there is a `mailer`, and
    those of wishes that the `mailer` and the `pusher` can fulfil.
    `private` says whether webhooks may go to private addresses. `on_lost` is called with the kind of an outbox when
    events were gone before they were taken."""

    def __init__(
        self,
        service: Fairline,
        *,
        private: bool,
        public_url: str = "",
        mailer: Mailer | None = None,
        pusher: Pusher | None = None,
        round_seconds: float = ROUND_SECONDS,
        retry_policy: RetryPolicy | None = None,
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
        self._wishes = Teller(self._notice_writer, public_url, pusher, mailer).boxes(service)
        self._boxes: list[Box] = []
        self._taken: dict[tuple[str, QueueId], str] = {}
        """The last event that was taken. If the queue has no newer one, there is nothing to do."""
        self._noted: dict[QueueId, str] = {}
        """The newest event when the front of the line was last checked for people who are nearly there."""
        self._workers = {
            kind: DeliveryWorker(
                self._store.outbox, kind, round_seconds=round_seconds, retry_policy=retry_policy, on_outcome=on_outcome
            )
            for kind in (webhooks.KIND, *([mail.KIND] if mailer else ()), *([push.KIND] if pusher else ()))
        }

    async def run(self) -> None:
        """Take and send until cancelled. An outage of the store is waited out."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._rounds())
            for kind, worker in self._workers.items():
                tasks.create_task(worker.run(lambda kind=kind: self._channels(kind)))  # type: ignore[misc]

    def _channels(self, kind: str) -> Mapping[str, Channel]:
        return {box.id: box.send for box in self._boxes if box.kind == kind}

    async def _rounds(self) -> None:
        away = False
        while True:
            try:
                await self.take()
                away = False
            except StoreError as error:
                if not away:  # logged once, not at every round
                    log.warning("delivery.store_away", error=error.message)
                away = True
            await asyncio.sleep(self._round_seconds)

    async def take(self) -> None:
        """One round: put the events since the last round into the outboxes that want them."""
        self._boxes = await self._open_boxes()
        known = {box.id for box in self._boxes}
        self._taken = {key: event for key, event in self._taken.items() if key[0] in known}
        if len(self._boxes) == len(self._wishes):  # nobody wants events
            return
        slots = asyncio.Semaphore(AT_ONCE)

        async def taken(queue: QueueId, newest: str) -> StoreError | None:
            async with slots:
                try:
                    await self._take_queue(queue, newest)
                except QueueNotFound:
                    self._noted.pop(queue, None)  # deleted meanwhile
                except StoreError as error:
                    return error
            return None

        newest = await self._store.newest_events()
        real = [each for each in newest.items() if rehearsed_at(each[0]) is None]
        wanted = [each for each in real if any(box.covers(each[0]) for box in self._boxes)]
        failed = [error for error in await asyncio.gather(*(taken(*each) for each in wanted)) if error]
        if failed:
            raise failed[0]

    async def _open_boxes(self) -> list[Box]:
        hooks = [hook for hook in await self._store.registry.webhooks() if hook.active]
        boxes: list[Box] = [HookBox(hook, self._store, self._notice_writer, private=self._private) for hook in hooks]
        boxes += self._wishes
        if self._mail is None:
            return boxes
        if not self._mail_open:  # it starts with events from now on: nobody gets mail about old ones
            await self._store.outbox.open(self._mail.id, await self._store.newest_events())
            self._mail_open = True
        return [*boxes, self._mail]

    async def _take_queue(self, queue: QueueId, newest: str) -> None:
        if self._noted.get(queue) != newest:  # nobody can have moved up without a new event
            await self._notice_writer.note_nearly(queue)
            self._noted[queue] = newest
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
                return  # another keeper has taken them, or the outbox is full: try again in the next round
            self._taken[box.id, queue] = last
            if lost:
                log.warning("delivery.events_lost", kind=box.kind, box=box.id, queue=queue, after=seen)
                if self._on_lost:
                    self._on_lost(box.kind)
            if len(events) < STEP:
                return

    async def _are_lost(self, queue: QueueId, seen: str | None, events: list[Event]) -> bool:
        """Whether the event log of the queue was trimmed before these events were taken. That can only happen to an
        outbox that is far behind."""
        if len(events) < STEP:
            return False
        if seen is None:
            return events[0].type is not EventType.QUEUE_CREATED
        return await self._store.events_lost(queue, seen)
