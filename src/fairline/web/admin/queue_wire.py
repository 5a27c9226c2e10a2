"""The requests and answers of the calls about queues and their settings."""

from __future__ import annotations

from typing import Annotated, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import SETTINGS, Message, QueueSettings, Settings
from fairline.web.api.wire import Strict


class NewQueue(Settings, frozen=True, kw_only=True):
    """A queue to create: its id, and any settings."""

    id: str
    """Its name in URLs: at most 64 letters, digits, `.`, `_` and `-`, starting with a letter or digit."""


_HINTS = get_type_hints(Settings, include_extras=True)
QueueChanges = msgspec.defstruct(
    "QueueChanges",
    [(name, _HINTS[name] | UnsetType, UNSET) for name in SETTINGS],
    bases=(Strict,),
    namespace={"__doc__": "The settings to change. The others stay as they are."},
    frozen=True,
    kw_only=True,
)


class Stock(Strict, frozen=True):
    """How much there is to sell in total, including what is sold already. Null is unlimited."""

    total: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None


class Say(Strict, frozen=True):
    """The message for everyone who waits. An empty one removes the message."""

    text: Message


class AdminQueue(Settings, frozen=True, kw_only=True):
    """A queue as operators see it: its settings with their version, and the number of people in each state."""

    id: str
    version: int
    waiting: int
    on_hold: int
    admitted: int
    active: int
    stock_left: int | None

    @classmethod
    def of(cls, queue: QueueId, settings: QueueSettings, version: int, snapshot: QueueSnapshot) -> AdminQueue:
        """A queue with its snapshot, as an answer."""
        return cls(
            **{name: getattr(settings, name) for name in SETTINGS},
            id=queue,
            version=version,
            waiting=snapshot.waiting,
            on_hold=snapshot.on_hold,
            admitted=snapshot.admitted,
            active=snapshot.active,
            stock_left=snapshot.stock_left(settings.stock),
        )


class UserTokenKey(Struct, frozen=True):
    """The key with which a site signs user tokens for one queue."""

    key: str
    """The key as text; its UTF-8 bytes are the key."""
    algorithm: Literal["HS256"] = "HS256"


class QueueList(Struct, frozen=True):
    """All queues, by id."""

    queues: list[AdminQueue]
