"""Priority passes and admin keys as the operators' calls take and answer them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

from fairline.store import AdminKey, PriorityPass, Role
from fairline.web.admin.wire import Level
from fairline.web.api.wire import Strict, moment


class NewPass(Strict, frozen=True):
    """A priority pass to be issued."""

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
        """What is kept of a pass: not its text."""
        return cls(id=kept.id, level=kept.level, uses=kept.uses, used=kept.used, expires_at=moment(kept.expires))


class IssuedPass(PassAnswer, frozen=True, kw_only=True):
    """A priority pass that was issued now, with the text to be given as `priority_pass` at joining."""

    text: str = field(name="pass")


class PassList(Struct, frozen=True):
    """The priority passes that have not ended."""

    passes: list[PassAnswer]


class NewKey(Strict, frozen=True):
    """An admin key to be made."""

    role: Role
    name: Annotated[str, Meta(max_length=100)] = ""


class KeyAnswer(Struct, frozen=True, kw_only=True):
    """An admin key, without the key."""

    id: str
    role: Role
    name: str
    created_at: datetime

    @classmethod
    def of(cls, key: AdminKey) -> KeyAnswer:
        """What may be shown of a key."""
        return cls(id=key.id, role=key.role, name=key.name, created_at=moment(key.created))


class MadeKey(KeyAnswer, frozen=True, kw_only=True):
    """An admin key that was made now. The key is shown this once."""

    key: str


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Whose key a call came with."""

    id: str
    role: Role
    name: str


class KeyList(Struct, frozen=True):
    """All admin keys, oldest first."""

    keys: list[KeyAnswer]


class Generation(Struct, frozen=True):
    """Which generation of signing keys is in use, from 1."""

    generation: int
