"""Webhooks: which events each webhook receives, and the signed POST that sends them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from fairline.domain.events import Event
from fairline.domain.mail import mailbox
from fairline.domain.notices import NOTICE, Recipient, unpacked
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Person, Ticket, label
from fairline.domain.webhook import Webhook, body_of, signature
from fairline.errors import ServiceFailed
from fairline.keeper.delivery import Outcome
from fairline.keeper.notices import NoticeWriter
from fairline.keeper.outbound import send
from fairline.store import Delivery, NewDelivery, Store

KIND = "webhook"
#: The time that a receiver has for its whole answer.
ANSWER_SECONDS = 10.0


class _Kind(Struct):
    type: str


_kind = msgspec.json.Decoder(_Kind).decode


async def post(hook: Webhook, private: bool, delivery: Delivery, seconds: float = ANSWER_SECONDS) -> Outcome:
    """Post one delivery. Any answer but 2xx is a failure, and 410 is final."""
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
    reason = f"answered {answer.status}"
    if 300 <= answer.status < 400:
        reason += ", and redirects are not followed"
    return Outcome(
        sent=False, error=reason, final=answer.status == 410, retry_after=_seconds(answer.headers.get("retry-after"))
    )


def _seconds(text: str | None) -> float | None:
    """The seconds of a Retry-After header. One with a date is ignored, and the retry policy applies."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


class HookBox:
    """The outbox of one webhook."""

    kind = KIND

    def __init__(self, hook: Webhook, store: Store, notice_writer: NoticeWriter, *, private: bool) -> None:
        self.id = hook.id
        self._hook = hook
        self._store = store
        self._notice_writer = notice_writer
        self._private = private

    def covers(self, queue: QueueId) -> bool:
        """Whether the webhook takes events of a queue."""
        return self._hook.covers(queue)

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """The deliveries for some events: the events themselves, and the notices to people, as the webhook wants."""
        new_deliveries = await self._event_deliveries(queue, [event for event in events if self._hook.wants(event)])
        if self._hook.wants_notices:
            whole = self._hook.include_person
            new_deliveries += await self._notice_writer.new_deliveries(self.id, queue, events, _reachable, whole=whole)
        return new_deliveries

    async def send(self, delivery: Delivery) -> Outcome:
        """Post one delivery. A notice is posted only if it is still true and its recipient is below the limit."""
        whole = self._hook.include_person
        if outcome := await self._notice_writer.take_step(self.id, delivery, _reachable, whole=whole):
            return outcome
        unsent = await self._unsent(delivery) if _kind(delivery.payload).type == NOTICE else None
        return unsent or await post(self._hook, self._private, delivery)

    async def _unsent(self, delivery: Delivery) -> Outcome | None:
        notice = unpacked(delivery.payload)
        return await self._notice_writer.unsent(self.id, delivery, notice, _limit_key(notice.to))

    async def _event_deliveries(self, queue: QueueId, events: list[Event]) -> list[NewDelivery]:
        if not events:
            return []
        hook = self._hook
        prefix = (await self._store.settings(queue)).settings.ticket_prefix or queue.upper()
        tickets = await self._tickets(queue, events)
        new_deliveries = []
        for event in events:
            number, ticket = event.ticket, tickets.get(event.ticket or 0)
            printed = None if number is None else label(prefix, number, ticket.serial if ticket else "")
            body = body_of(hook, queue, event, printed, ticket.person if ticket and hook.include_person else None)
            new_deliveries.append(NewDelivery(body.id, body.text()))
        return new_deliveries

    async def _tickets(self, queue: QueueId, events: list[Event]) -> dict[int, Ticket]:
        numbers = sorted({event.ticket for event in events if event.ticket is not None})
        found = (await self._store.look_up(queue, numbers)).items if numbers else []
        return {ticket.number: ticket for ticket in found if ticket is not None}


def _limit_key(to: Recipient | None) -> str:
    """The phone or else the mailbox that a gateway writes to: notices are limited by it."""
    if to is None:
        return ""
    return to.phone or (mailbox(to.email) if to.email else "")


def _reachable(person: Person) -> bool:
    """Whether a gateway could reach a person. Most people in a website's line left no contact details."""
    return bool(person.phone or person.email or person.user_id)
