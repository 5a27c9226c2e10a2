"""The requests and answers of the calls about priority passes and admin keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

from fairline.store import AdminKey, PriorityPass, Role
from fairline.web.admin.wire import Level
from fairline.web.api.wire import Strict, moment


class NewPass(Strict, frozen=True):
    """A priority pass to issue."""

    level: Level
    uses: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    expires_in_seconds: Annotated[float, Meta(ge=1, le=31_536_000)] = 86_400.0


class PassAnswer(Struct, frozen=True, kw_only=True):
    """A priority pass."""

    id: str
    level: int
    uses: int
    used: int
    expires_at: datetime

    @classmethod
    def of(cls, kept: PriorityPass) -> PassAnswer:
        """A priority pass of the store as an answer. Its text is not stored."""
        return cls(id=kept.id, level=kept.level, uses=kept.uses, used=kept.used, expires_at=moment(kept.expires))


class IssuedPass(PassAnswer, frozen=True, kw_only=True):
    """A new priority pass, with the text to send as `priority_pass` when joining."""

    text: str = field(name="pass")


class PassList(Struct, frozen=True):
    """The priority passes that are still valid."""

    passes: list[PassAnswer]


class NewKey(Strict, frozen=True):
    """An admin key to create."""

    role: Role
    name: Annotated[str, Meta(max_length=100)] = ""


class KeyAnswer(Struct, frozen=True, kw_only=True):
    """An admin key, without its secret text."""

    id: str
    role: Role
    name: str
    created_at: datetime

    @classmethod
    def of(cls, key: AdminKey) -> KeyAnswer:
        """The part of a key that may be shown."""
        return cls(id=key.id, role=key.role, name=key.name, created_at=moment(key.created))


class MadeKey(KeyAnswer, frozen=True, kw_only=True):
    """A new admin key. Its text is shown only once."""

    key: str


class SessionInfo(Struct, frozen=True, kw_only=True):
    """The admin key that came with a call."""

    id: str
    role: Role
    name: str


class KeyList(Struct, frozen=True):
    """All admin keys, oldest first."""

    keys: list[KeyAnswer]


class Generation(Struct, frozen=True):
    """The generation of signing keys in use, counted from 1."""

    generation: int
