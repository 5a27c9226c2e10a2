"""The deliveries of webhooks and mail as operators see them: pending ones and dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from fairline.domain.notices import NoticeKind
from fairline.errors import InvalidRequest
from fairline.keeper.delivery import Outcome
from fairline.store import Delivery, DeliveryPage, DeliveryState, Role
from fairline.web.admin.operator_call import Operators, StaffHandler
from fairline.web.admin.wire import Cursor, Nothing, limit_query
from fairline.web.api.wire import moment
from fairline.web.server.operations import Operation, Query

#: The most deliveries in one answer.
PAGE = 100
_QUERY = (
    Query("state", DeliveryState, "pending or dead; default pending"),
    limit_query(PAGE, PAGE),
    Query("cursor", Cursor, "the cursor of the previous page"),
)


class PingAnswer(Struct, frozen=True, kw_only=True):
    """The outcome of a ping or a test mail."""

    delivered: bool
    error: str | None
    """What went wrong, in short. It contains nothing that the receiver wrote."""
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome, seconds: float) -> PingAnswer:
        """The outcome of one try, as an answer."""
        return cls(delivered=outcome.sent, error=outcome.error or None, seconds=round(seconds, 3))


class _Gist(Struct, frozen=True):
    type: str
    queue: str | None
    at: datetime
    ticket: int | None = None
    notice: NoticeKind | None = None


_gist = msgspec.json.Decoder(_Gist).decode


class DeliveryAnswer(Struct, frozen=True, kw_only=True):
    """One delivery: what it is about, without personal data."""

    id: str
    state: DeliveryState
    type: str
    notice: NoticeKind | None
    """The kind of notice, if it is one."""
    queue: str | None
    ticket: int | None
    at: datetime
    """When it happened."""
    tries: int
    due_at: datetime | None
    """When it is tried next. While it is being sent: when another keeper may try it."""
    died_at: datetime | None
    error: str | None
    """The error of the last try."""

    @classmethod
    def of(cls, delivery: Delivery, state: DeliveryState) -> DeliveryAnswer:
        """A delivery of the store as an answer."""
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
    """A page of deliveries. `cursor` is for the next page, null at the end."""

    deliveries: list[DeliveryAnswer]
    cursor: str | None

    @classmethod
    def of(cls, page: DeliveryPage, state: DeliveryState) -> DeliveryList:
        """A page of an outbox."""
        return cls([DeliveryAnswer.of(delivery, state) for delivery in page.deliveries], page.cursor)


class Replayed(Struct, frozen=True):
    """The number of dead letters that are sent again."""

    replayed: int


def delivery_rows(
    operators: Operators, under: str, listing: StaffHandler, replay_one: StaffHandler, replay_all: StaffHandler
) -> list[Operation]:
    """The operations on the deliveries below a path."""
    again, replayed = Role.OPERATOR, {200: Replayed}
    about = "Pending deliveries, or the dead letters."
    return [
        operators.row(Role.VIEWER, f"GET {under}/deliveries", about, listing, {200: DeliveryList}, query=_QUERY),
        operators.row(
            again,
            f"POST {under}/deliveries/{{delivery}}/replay",
            "Send one dead letter again.",
            replay_one,
            replayed,
            takes=Nothing,
        ),
        operators.row(
            again, f"POST {under}/replay", "Send all dead letters again.", replay_all, replayed, takes=Nothing
        ),
    ]


def wanted_state(args: Mapping[str, str]) -> DeliveryState:
    """The state of deliveries that the query asks for."""
    wanted = args.get("state") or DeliveryState.PENDING
    if wanted not in list(DeliveryState):
        raise InvalidRequest("state", f"must be one of {', '.join(DeliveryState)}; got {wanted!r:.80}")
    return DeliveryState(wanted)
