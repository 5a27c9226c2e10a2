"""Push: tells people who asked for it on their page when it is nearly their turn, and when it is.

Each wish is a delivery in an outbox, with the subscription of the browser. It is looked at again and again until its
moment comes, and forgotten with its ticket.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from fairline.domain.events import Event
from fairline.domain.push import PushKey, Subscription, encrypted
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status
from fairline.errors import QueueNotFound, ServiceFailed, TicketNotFound
from fairline.keeper.delivery import Outcome
from fairline.keeper.outbound import send
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.service.push import BOX, PushWish
from fairline.store import Delivery, NewDelivery

KIND = "push"
#: The time that a push service has for its answer.
ANSWER_SECONDS = 10.0
#: How often a wish is looked at: often when its moment is near.
SOONEST_SECONDS, LATEST_SECONDS = 1.0, 30.0
#: How long a push service keeps a message for a device that is off: by then the turn is over.
KEPT_SECONDS = 600
_wish = msgspec.json.Decoder(PushWish).decode


class Pusher:
    """Sends to push services. `tls` is for tests, whose push service has no trusted certificate."""

    def __init__(self, key: PushKey, contact: str, *, private: bool, tls: ssl.SSLContext | None = None) -> None:
        self._key = key
        self._contact = contact
        self._private = private
        self._tls = tls

    async def send(self, subscription: Subscription, message: bytes) -> Outcome:
        """Send one message. A subscription that has ended is forgotten; a push service that is busy is asked again."""
        headers = {
            "authorization": self._key.authorization(subscription.endpoint, time.time(), self._contact),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(KEPT_SECONDS),
            "urgency": "high",
        }
        body = encrypted(subscription, message)
        try:
            answer = await send(
                "POST",
                subscription.endpoint,
                headers=headers,
                body=body,
                seconds=ANSWER_SECONDS,
                private=self._private,
                tls=self._tls,
            )
        except ServiceFailed:
            return Outcome(sent=False, later=LATEST_SECONDS)
        if answer.ok:
            return Outcome(sent=True)
        if answer.status == 429 or answer.status >= 500:
            return Outcome(sent=False, later=LATEST_SECONDS)
        return Outcome(sent=False, overtaken=True)


class PushBox:
    """The outbox of wishes. No event goes into it: pages put them there."""

    kind = KIND
    id = BOX

    def __init__(self, pusher: Pusher, service: Fairline) -> None:
        self._pusher = pusher
        self._service = service

    def covers(self, queue: QueueId) -> bool:
        """False for every queue."""
        return False

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """None."""
        return []

    async def send(self, delivery: Delivery) -> Outcome:
        """Send a message if its moment has come."""
        wish = _wish(delivery.payload)
        try:
            answer = await self._service.status(QueueId(wish.queue), wish.ticket)
        except (QueueNotFound, TicketNotFound):
            return Outcome(sent=False, overtaken=True)
        moment = _moment(wish, answer)
        if moment.message is None:
            return Outcome(sent=False, overtaken=moment.over, later=None if moment.over else moment.later)
        return await self._pusher.send(wish.subscription, msgspec.json.encode(moment.message))


class _Moment(Struct):
    """Whether the moment of a wish has come (`message`), is over, or is still to come."""

    message: dict[str, str] | None = None
    over: bool = False
    later: float = LATEST_SECONDS


def _moment(wish: PushWish, answer: StatusAnswer) -> _Moment:
    ticket_status = answer.ticket_status
    if ticket_status.joined != wish.joined or ticket_status.status not in (Status.WAITING, Status.ADMITTED):
        return _Moment(over=True)
    message = {"title": wish.title, "body": wish.text, "tag": f"{wish.queue} {wish.ticket}", "url": wish.url}
    called = ticket_status.status is Status.ADMITTED
    if wish.is_turn:
        return _Moment(message) if called else _Moment(later=_pause(answer, 0))
    if called:
        return _Moment(over=True)
    position, wait = ticket_status.position, answer.wait
    if not position:  # on hold
        return _Moment()
    near = position <= wish.place if wish.place else wait is not None and wait.seconds <= 60 * (wish.minutes or 0)
    return _Moment(message) if near else _Moment(later=_pause(answer, 60 * (wish.minutes or 0)))


def _pause(answer: StatusAnswer, before: float) -> float:
    """Seconds until it is worth looking again: a tenth of the wait."""
    position, wait = answer.ticket_status.position or 1, answer.wait
    pause = (wait.seconds - before) / 10 if wait else position / 5
    return min(max(pause, SOONEST_SECONDS), LATEST_SECONDS)
