"""What the calls about webhooks take and answer, as types."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.webhook import MAX_URL, Topic, Webhook
from fairline.store import BoxCounts
from fairline.web.api.wire import Strict, moment

Url = Annotated[str, Meta(min_length=1, max_length=MAX_URL, description="where to post to: http or https")]
Events = Annotated[
    tuple[Topic, ...], Meta(max_length=50, description="what to hear of; none is every event, and no notice")
]


class NewWebhook(Strict, frozen=True):
    """A webhook to be made."""

    url: Url
    queue: str | None = None
    """Which queue to hear of; null is every one, those made later too."""
    events: Events = ()
    include_person: bool = False
    """Whether name, phone, email, user_id, party_size and metadata are sent too; of a notice, whom to tell, and the
    link to their ticket."""
    active: bool = True


class WebhookChanges(Strict, frozen=True):
    """What to change of a webhook: only what is given."""

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    include_person: bool | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    """While it is not, nothing is sent; then it goes on from where it was."""


class WebhookAnswer(Struct, frozen=True, kw_only=True):
    """A webhook, without its secret."""

    id: str
    url: str
    """For a viewer without what may be secret in it: its path and query."""
    queue: str | None
    events: list[Topic]
    include_person: bool
    active: bool
    created_at: datetime
    pending: int
    """Still to be sent, or tried again."""
    dead: int
    """Dead letters: given up, and kept for a week."""

    @classmethod
    def of(cls, hook: Webhook, counts: BoxCounts, *, whole: bool) -> WebhookAnswer:
        """What may be shown of a webhook."""
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
    """A webhook that was made now. The secret is shown this once."""

    secret: str


class WebhookList(Struct, frozen=True):
    """All webhooks, oldest first."""

    webhooks: list[WebhookAnswer]
