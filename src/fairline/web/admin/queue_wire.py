"""Queues and their settings as the operators' calls take and answer them."""

from __future__ import annotations

from typing import Annotated, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.queue import SETTINGS, Message, QueueId, QueueSettings, QueueSnapshot
from fairline.web.api.wire import Strict


class NewQueue(QueueSettings, frozen=True, kw_only=True):
    """A queue to be made: its id, and any setting."""

    id: str
    """Its name in addresses: letters, digits, `.`, `_` and `-`, at most 64, beginning with a letter or digit."""


_HINTS = get_type_hints(QueueSettings, include_extras=True)
QueueChanges = msgspec.defstruct(
    "QueueChanges",
    [(name, _HINTS[name] | UnsetType, UNSET) for name in SETTINGS],
    bases=(Strict,),
    namespace={"__doc__": "Settings to be changed: only those given."},
    frozen=True,
    kw_only=True,
)


class Stock(Strict, frozen=True):
    """How much there is to sell in all, what is sold already among it; null sells without end."""

    total: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None


class Say(Strict, frozen=True):
    """What everyone who waits is shown; empty shows nothing."""

    text: Message


class AdminQueue(QueueSettings, frozen=True, kw_only=True):
    """A queue as operators see it: its settings with their version, and how many are where."""

    id: str
    version: int
    waiting: int
    on_hold: int
    admitted: int
    active: int
    stock_left: int | None

    @classmethod
    def of(cls, queue: QueueId, settings: QueueSettings, version: int, snapshot: QueueSnapshot) -> AdminQueue:
        """A queue with what the store says of it."""
        return cls(
            **msgspec.structs.asdict(settings),
            id=queue,
            version=version,
            waiting=snapshot.waiting,
            on_hold=snapshot.on_hold,
            admitted=snapshot.admitted,
            active=snapshot.active,
            stock_left=snapshot.stock_left(settings.stock),
        )


class UserTokenKey(Struct, frozen=True):
    """What a site signs user tokens with, for one queue."""

    key: str
    """As text; its bytes are the key."""
    algorithm: Literal["HS256"] = "HS256"


class QueueList(Struct, frozen=True):
    """All queues, by id."""

    queues: list[AdminQueue]
