"""Webhooks: who wants to hear of what, what they are told, and how it is signed."""

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
_BAD = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")
_encode = msgspec.json.encode


class Topic(StrEnum):
    """What a webhook can hear of: every kind of event, and the notices that people are sent."""

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
    TRANSFERRED = EventType.TRANSFERRED.value
    MOVED = EventType.MOVED.value
    QUEUE_CREATED = EventType.QUEUE_CREATED.value
    SETTINGS_CHANGED = EventType.SETTINGS_CHANGED.value
    CLOCK_STOPPED = EventType.CLOCK_STOPPED.value
    NOTICE = NOTICE


class Webhook(Struct, frozen=True, kw_only=True):
    """Someone who wants to be told. The secret is kept as it is, since it has to sign."""

    id: str
    url: str
    queue: QueueId | None = None
    """None is every queue, those made later too."""
    events: tuple[Topic, ...] = ()
    """None named is every event; notices only where they are named."""
    include_person: bool = False
    """Whether personal data is sent: an SMS gateway needs a phone number, most others do not."""
    active: bool = True
    """While it is not, nothing is sent, and it goes on from where it was."""
    secret: str
    created: int

    def covers(self, queue: QueueId) -> bool:
        """Whether it wants to know of a queue."""
        return self.queue is None or self.queue == queue

    def wants(self, event: Event) -> bool:
        """Whether it wants to know of this."""
        return not self.events or Topic(event.type.value) in self.events

    @property
    def wants_notices(self) -> bool:
        """Whether it tells people: an SMS gateway does."""
        return Topic.NOTICE in self.events


class PersonDetails(Struct, frozen=True, kw_only=True):
    """Who it is about: what they said of themselves when they joined."""

    name: str | None
    phone: str | None
    email: str | None
    user_id: str | None
    party_size: int
    metadata: dict[str, Any] | None

    @classmethod
    def of(cls, person: Person) -> PersonDetails:
        """What may go out of the house; digests and browsers stay."""
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
    """The same in every try: whoever has seen it drops the repeat."""
    type: str
    queue: str | None
    at: datetime
    ticket: int | None = None
    label: str | None = None
    detail: str | None = None
    person: PersonDetails | UnsetType | None = UNSET
    """Only where the webhook asks for it; null where the event is about nobody, or their record is gone."""

    def text(self) -> str:
        """As it is sent."""
        return _encode(self).decode()


def body_of(hook: Webhook, queue: QueueId, event: Event, label: str | None, person: Person | None) -> Body:
    """What a webhook is told of an event."""
    told = None if person is None else PersonDetails.of(person)
    return Body(
        id=delivery_id(hook.id, queue, event),
        type=event.type.value,
        queue=queue,
        at=datetime.fromtimestamp(event.at / 1000, UTC),
        ticket=event.ticket,
        label=label,
        detail=event.detail,
        person=told if hook.include_person else UNSET,
    )


def delivery_id(box: str, queue: QueueId, event: Event, form: str = "") -> str:
    """One id for one event and receiver, in the form it is told in. The time is in it since a queue made anew may count
    its events anew."""
    return sha256(f"{box} {queue} {event.id} {event.at}{form}".encode()).hexdigest()[:32]


def signature(secret: str, body: bytes, at: int) -> str:
    """The value of X-Fairline-Signature: the second it was signed in, and the HMAC of both."""
    signed = hmac.new(secret.encode(), b"%d.%b" % (at, body), sha256).hexdigest()
    return f"t={at},v1={signed}"


def check_url(url: str) -> None:
    """Refuse what is not a plain http or https address."""
    if len(url) > MAX_URL:
        raise InvalidRequest("url", f"must have at most {MAX_URL:,} characters; got {len(url):,}")
    if _BAD.search(url):
        raise InvalidRequest("url", "must be in plain characters: encode spaces and others with %, names with xn--")
    parts = web_address(url)
    if parts is None:
        raise InvalidRequest("url", f"must be an address such as https://example.com/hook; got {url!r:.80}")
    if "@" in parts.netloc:
        raise InvalidRequest("url", "must not have a name or password in it: check the signature instead")
    if parts.fragment:
        raise InvalidRequest("url", "must not have a # in it: what follows is never sent")
