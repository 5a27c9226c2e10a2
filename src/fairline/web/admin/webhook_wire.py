"""The requests and answers of the calls about webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.webhook import MAX_URL, Topic, Webhook
from fairline.store import BoxCounts
from fairline.web.api.wire import Strict, moment

Url = Annotated[str, Meta(min_length=1, max_length=MAX_URL, description="the URL to post to: http or https")]
Events = Annotated[
    tuple[Topic, ...],
    Meta(max_length=50, description="the events to send; an empty list is every event, and no notice"),
]


class NewWebhook(Strict, frozen=True):
    """A webhook to create."""

    url: Url
    queue: str | None = None
    """The queue whose events to send; null is every queue, including later ones."""
    events: Events = ()
    include_person: bool = False
    """Whether name, phone, email, user_id, party_size and metadata are sent too; for a notice, its recipient and the
    link to their ticket."""
    active: bool = True


class WebhookChanges(Strict, frozen=True):
    """The fields of a webhook to change. The others stay as they are."""

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    include_person: bool | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    """While it is false, nothing is sent. Afterwards sending continues from where it stopped."""


class WebhookAnswer(Struct, frozen=True, kw_only=True):
    """A webhook, without its secret."""

    id: str
    url: str
    """The URL. A viewer sees it without path and query, which may be secret."""
    queue: str | None
    events: list[Topic]
    include_person: bool
    active: bool
    created_at: datetime
    pending: int
    """Deliveries that wait to be sent or tried again."""
    dead: int
    """Dead letters: deliveries that were given up, kept for a week."""

    @classmethod
    def of(cls, hook: Webhook, counts: BoxCounts, *, whole: bool) -> WebhookAnswer:
        """The part of a webhook that may be shown."""
        parts = urlsplit(hook.url)
        return cls(
            id=hook.id,
            url=hook.url if whole else f"{parts.scheme}://{parts.netloc}/…",
            queue=hook.queue,
            events=list(hook.events),
            include_person=hook.include_person,
            active=hook.active,
            created_at=moment(hook.created),
            pending=counts.pending,
            dead=counts.dead,
        )


class MadeWebhook(WebhookAnswer, frozen=True, kw_only=True):
    """A new webhook. Its secret is shown only once."""

    secret: str


class WebhookList(Struct, frozen=True):
    """All webhooks, oldest first."""

    webhooks: list[WebhookAnswer]
