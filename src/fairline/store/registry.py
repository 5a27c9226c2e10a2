"""The registry: everything that belongs to the server and not to a queue, such as admin keys and the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, Protocol

from msgspec import Struct

from fairline.domain.webhook import Webhook

Part = Literal["web", "keeper"]


class Role(StrEnum):
    """What an admin key allows; each includes the ones before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class AdminKey(Struct, frozen=True, kw_only=True):
    """An admin key as the store keeps it: never the key itself."""

    id: str
    role: Role
    name: str
    digest: str
    created: int


class StoreWarning(Struct, frozen=True):
    """A setting of the store's server that may do harm: its name, its value, and what to do."""

    what: str
    found: str
    advice: str
    loses_places: bool = False
    """Whether places can be lost while everything runs, and not only in a crash."""


class AuditedAction(Struct, frozen=True, kw_only=True):
    """Something that was done with an admin key. The key is copied as it was then, because it may be revoked later."""

    key: str
    name: str
    role: Role
    action: str
    queue: str | None = None
    ticket: int | None = None
    detail: dict[str, Any] = {}
    """Small, and without data about the people in line."""
    request_id: str = ""


class AuditEntry(Struct, frozen=True):
    """An entry of the audit log."""

    id: str
    at: int
    audited: AuditedAction


class ProcessSeen(Struct, frozen=True):
    """A process that was seen recently, and when."""

    part: Part
    name: str
    at: int


class ServerSeen(Struct, frozen=True, kw_only=True):
    """What a process says of itself, so that servers which do not fit together are found."""

    name: str
    """Its machine and process id, as in ProcessSeen."""
    role: str
    secret: str
    """The fingerprint of its secret."""
    ahead_seconds: float
    """How far the clock of its machine is ahead of the store's."""


def newest_of(said: Iterable[ServerSeen]) -> list[ServerSeen]:
    """The last of each process, by name; `said` is oldest first."""
    return [each for _, each in sorted({each.name: each for each in said}.items())]


class Registry(Protocol):
    """Everything that belongs to the server and not to a queue."""

    async def admin_keys(self) -> list[AdminKey]:
        """All admin keys, oldest first."""

    async def admin_key(self, key_id: str) -> AdminKey | None:
        """One admin key."""

    async def put_admin_key(self, key: AdminKey) -> None:
        """Add an admin key, or replace the one with its id."""

    async def remove_admin_key(self, key_id: str) -> bool:
        """Remove an admin key; False if there was none."""

    async def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        """Count a try at something that belongs to the server, such as signing in. If it is over the limit, it is not
        counted, and the answer is the seconds to wait; otherwise 0."""

    async def tries(self, who: str, action: str, seconds: float) -> int:
        """How many such tries count at this moment. This itself is not a try."""

    async def generation(self) -> int:
        """The generation of the signing keys in use, from 1."""

    async def rotate(self) -> int:
        """Change to the next generation."""

    async def mark_alive(self, part: Part, name: str) -> None:
        """Record that a process serves HTTP, or keeps the queues, at this moment."""

    async def last_alive(self, part: Part) -> int | None:
        """When any process of this part was last seen, by the store's clock; None if never."""

    async def workers(self) -> list[ProcessSeen]:
        """The processes that were seen in the last minute, by part and name."""

    async def show_server(self, server: ServerSeen) -> None:
        """Record what a process says of itself at this moment."""

    async def servers(self) -> list[ServerSeen]:
        """What each process that was seen in the last minute said last, by name."""

    async def record(self, audited: AuditedAction) -> None:
        """Write an entry into the audit log, which keeps the last AUDIT_ENTRIES_KEPT."""

    async def audit(self, queue: str | None, before: str | None, limit: int) -> list[AuditEntry]:
        """The audit log, newest first: of one queue or of everything, before an entry or from the newest."""

    async def webhooks(self) -> list[Webhook]:
        """All webhooks, oldest first."""

    async def webhook(self, hook_id: str) -> Webhook | None:
        """One webhook."""

    async def put_webhook(self, hook: Webhook) -> None:
        """Add a webhook, or replace the one with its id."""

    async def remove_webhook(self, hook_id: str) -> bool:
        """Remove a webhook; False if there was none."""

    async def warnings(self) -> list[StoreWarning]:
        """The settings of the store's server that would do harm during an event."""
