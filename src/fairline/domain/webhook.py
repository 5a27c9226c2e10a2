"""Webhooks: which events a webhook receives, the body that is sent, and its signature."""

from __future__ import annotations

import hmac
import re
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fairline.domain.address import web_address
from fairline.domain.events import Event, EventType
from fairline.domain.notices import NOTICE
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Person
from fairline.errors import InvalidRequest

PING = "ping"
MAX_URL = 2000
_NOT_IN_URLS = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")
_encode = msgspec.json.encode


class Topic(StrEnum):
    """What a webhook can receive: every type of event, and the notices that are sent to people."""

    JOINED = EventType.JOINED.value
    PRIORITISED = EventType.PRIORITISED.value
    PUT_ON_HOLD = EventType.PUT_ON_HOLD.value
    RELEASED = EventType.RELEASED.value
    STEPPED_BACK = EventType.STEPPED_BACK.value
    NEARLY = EventType.NEARLY.value
    ADMITTED = EventType.ADMITTED.value
    CALLED = EventType.CALLED.value
    RECALLED = EventType.RECALLED.value
    RETURNED = EventType.RETURNED.value
    STARTED = EventType.STARTED.value
    COMPLETED = EventType.COMPLETED.value
    EXPIRED = EventType.EXPIRED.value
    REINSTATED = EventType.REINSTATED.value
    PUT_BACK = EventType.PUT_BACK.value
    TRANSFERRED = EventType.TRANSFERRED.value
    MOVED = EventType.MOVED.value
    QUEUE_CREATED = EventType.QUEUE_CREATED.value
    SETTINGS_CHANGED = EventType.SETTINGS_CHANGED.value
    PREQUEUE_OPENED = EventType.PREQUEUE_OPENED.value
    PREQUEUE_CLOSED = EventType.PREQUEUE_CLOSED.value
    OPENING_STARTED = EventType.OPENING_STARTED.value
    OPENING_ENDED = EventType.OPENING_ENDED.value
    CLOCK_STOPPED = EventType.CLOCK_STOPPED.value
    NOTICE = NOTICE


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook. Its secret is stored in plain text because it is needed to sign each delivery."""

    id: str
    url: str
    queue: QueueId | None = None
    """The only queue it receives events of; None is every queue, including queues created later."""
    events: tuple[Topic, ...] = ()
    """The topics it receives. Empty is every event, but no notices."""
    include_person: bool = False
    """Whether personal data is sent: an SMS gateway needs a phone number, most other receivers do not."""
    active: bool = True
    """While false, nothing is sent; later it continues where it stopped."""
    secret: str
    created: int

    def covers(self, queue: QueueId) -> bool:
        """Whether it receives events of this queue."""
        return self.queue is None or self.queue == queue

    def wants(self, event: Event) -> bool:
        """Whether it receives this event."""
        return not self.events or Topic(event.type.value) in self.events

    @property
    def wants_notices(self) -> bool:
        """Whether it receives notices, as an SMS gateway does."""
        return Topic.NOTICE in self.events


class PersonDetails(Struct, frozen=True, kw_only=True):
    """The person an event is about: the details they gave when they joined."""

    name: str | None
    phone: str | None
    email: str | None
    user_id: str | None
    party_size: int
    metadata: dict[str, Any] | None

    @classmethod
    def of(cls, person: Person) -> PersonDetails:
        """The details that may be sent to others. Digests and the user agent stay in the store."""
        return cls(
            name=person.name,
            phone=person.phone,
            email=person.email,
            user_id=person.user_id,
            party_size=person.party_size,
            metadata=person.metadata,
        )


class Body(Struct, frozen=True, kw_only=True):
    """The body of a delivery."""

    id: str
    """The same in every attempt, so that a receiver can drop repeats."""
    type: str
    queue: str | None
    at: datetime
    ticket: int | None = None
    label: str | None = None
    detail: str | None = None
    person: PersonDetails | UnsetType | None = UNSET
    """Only sent if the webhook has `include_person`; null if the event is about nobody, or their record is gone."""

    def text(self) -> str:
        """The JSON that is sent."""
        return _encode(self).decode()


def body_of(hook: Webhook, queue: QueueId, event: Event, label: str | None, person: Person | None) -> Body:
    """The body that a webhook receives for an event."""
    details = None if person is None else PersonDetails.of(person)
    return Body(
        id=delivery_id(hook.id, queue, event),
        type=event.type.value,
        queue=queue,
        at=datetime.fromtimestamp(event.at / 1000, UTC),
        ticket=event.ticket,
        label=label,
        detail=event.detail,
        person=details if hook.include_person else UNSET,
    )


def delivery_id(box: str, queue: QueueId, event: Event, form: str = "") -> str:
    """The id of one event for one receiver in one form, such as the notice to one person. It includes the time, because
    a recreated queue may count its events from the start again."""
    return sha256(f"{box} {queue} {event.id} {event.at}{form}".encode()).hexdigest()[:32]


def signature(secret: str, body: bytes, at: int) -> str:
    """The value of X-Fairline-Signature: the second of signing, and the HMAC of that second and the body."""
    signed = hmac.new(secret.encode(), b"%d.%b" % (at, body), sha256).hexdigest()
    return f"t={at},v1={signed}"


def check_url(url: str) -> None:
    """Raise InvalidRequest if this is not a plain http or https address."""
    if len(url) > MAX_URL:
        raise InvalidRequest("url", f"must have at most {MAX_URL:,} characters; got {len(url):,}")
    if _NOT_IN_URLS.search(url):
        raise InvalidRequest(
            "url", "must be in plain ASCII: encode spaces and other characters with %, host names with xn--"
        )
    parts = web_address(url)
    if parts is None:
        raise InvalidRequest("url", f"must be an address such as https://example.com/hook; got {url!r:.80}")
    if "@" in parts.netloc:
        raise InvalidRequest("url", "must not contain a user name or password: check the signature instead")
    if parts.fragment:
        raise InvalidRequest("url", "must not contain #: what follows it is never sent")
