"""What the calls about webhooks take and answer, as types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.errors import InvalidRequest
from fairline.keeper.outbox import Outcome
from fairline.notices import NoticeKind
from fairline.store import BoxCounts, Delivery, DeliveryPage, DeliveryState
from fairline.web.operations import Query
from fairline.web.wire import Strict, moment
from fairline.webhook import MAX_URL, Topic, Webhook

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


class PingAnswer(Struct, frozen=True, kw_only=True):
    """What became of a ping."""

    delivered: bool
    error: str | None
    """What went wrong, in short; nothing of what the receiver wrote."""
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome, seconds: float) -> PingAnswer:
        """The outcome of one try."""
        return cls(delivered=outcome.sent, error=outcome.error or None, seconds=round(seconds, 3))


#: The most deliveries in one answer.
PAGE = 100
DELIVERIES_QUERY = (
    Query("state", DeliveryState, "pending, or dead; pending unless told"),
    Query("limit", int, f"at most so many, up to {PAGE}; {PAGE} unless told"),
    Query("cursor", str, "where the last page ended"),
)


def wanted_state(args: Mapping[str, str]) -> DeliveryState:
    """Which deliveries a listing is asked for."""
    wanted = args.get("state") or DeliveryState.PENDING
    if wanted not in list(DeliveryState):
        raise InvalidRequest("state", f"must be one of {', '.join(DeliveryState)}; got {wanted!r:.80}")
    return DeliveryState(wanted)


class _Gist(Struct, frozen=True):
    type: str
    queue: str | None
    at: datetime
    ticket: int | None = None
    notice: NoticeKind | None = None


_gist = msgspec.json.Decoder(_Gist).decode


class DeliveryAnswer(Struct, frozen=True, kw_only=True):
    """One delivery: what it is about, without what may be personal in it."""

    id: str
    state: DeliveryState
    type: str
    notice: NoticeKind | None
    """What someone is told, where it is a notice."""
    queue: str | None
    ticket: int | None
    at: datetime
    """When it happened."""
    tries: int
    due_at: datetime | None
    """When it is tried next; while it is being sent, when it is given to someone else."""
    died_at: datetime | None
    error: str | None
    """What the last try met."""

    @classmethod
    def of(cls, delivery: Delivery, state: DeliveryState) -> DeliveryAnswer:
        """A delivery as operators see it."""
        gist, dead = _gist(delivery.payload), state is DeliveryState.DEAD
        return cls(
            id=delivery.id,
            state=state,
            type=gist.type,
            notice=gist.notice,
            queue=gist.queue,
            ticket=gist.ticket,
            at=gist.at,
            tries=delivery.tries,
            due_at=None if dead else moment(delivery.at),
            died_at=moment(delivery.at) if dead else None,
            error=delivery.error or None,
        )


class DeliveryList(Struct, frozen=True):
    """Some deliveries, and the cursor to go on from; null at the end."""

    deliveries: list[DeliveryAnswer]
    cursor: str | None

    @classmethod
    def of(cls, page: DeliveryPage, state: DeliveryState) -> DeliveryList:
        """A page of an outbox."""
        return cls([DeliveryAnswer.of(delivery, state) for delivery in page.deliveries], page.cursor)


class Replayed(Struct, frozen=True):
    """How many dead letters are sent again."""

    replayed: int
