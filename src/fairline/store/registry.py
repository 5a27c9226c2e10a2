"""The registry: what belongs to the server rather than to a queue, such as admin keys, the audit log and webhooks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Protocol

from msgspec import Struct

from fairline.domain.webhook import Webhook

#: How many deeds the audit log keeps.
AUDIT_ENTRIES_KEPT = 100_000
#: A worker that has not been seen for so long is gone.
GONE_MS = 60_000

Part = Literal["web", "keeper"]


class Role(StrEnum):
    """What an admin key allows; each includes the ones before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class AdminKey(Struct, frozen=True, kw_only=True):
    """What is kept of an admin key: never the key itself."""

    id: str
    role: Role
    name: str
    digest: str
    created: int


class StoreWarning(Struct, frozen=True):
    """Something about the store's set-up: what it is, how it was found, what to do."""

    what: str
    found: str
    advice: str


class AuditedAction(Struct, frozen=True, kw_only=True):
    """Something that was done with an admin key. The key is told as it was then: it may be gone when someone looks."""

    key: str
    name: str
    role: Role
    action: str
    queue: str | None = None
    ticket: int | None = None
    detail: dict[str, Any] = {}
    """Small, and nothing of the people in line."""
    request_id: str = ""


class AuditEntry(Struct, frozen=True):
    """A deed in the audit log."""

    id: str
    at: int
    audited: AuditedAction


class ProcessSeen(Struct, frozen=True):
    """A process that was seen lately, and when."""

    part: Part
    name: str
    at: int


class Registry(Protocol):
    """What belongs to the server rather than to a queue."""

    async def admin_keys(self) -> list[AdminKey]:
        """All admin keys, oldest first."""

    async def admin_key(self, key_id: str) -> AdminKey | None:
        """One admin key."""

    async def put_admin_key(self, key: AdminKey) -> None:
        """Add an admin key, or replace the one with its id."""

    async def remove_admin_key(self, key_id: str) -> bool:
        """Take an admin key away; False where there was none."""

    async def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        """Count a try at something of the server's own, such as signing in; answers the seconds to wait where it is
        over the limit, and then is not counted."""

    async def tries(self, who: str, action: str, seconds: float) -> int:
        """How many such tries count at this moment. Asking is none."""

    async def generation(self) -> int:
        """Which generation of signing keys is in use, from 1."""

    async def rotate(self) -> int:
        """Go on to the next generation."""

    async def mark_alive(self, part: Part, name: str) -> None:
        """Note that a process serves HTTP, or keeps the queues, at this moment."""

    async def last_alive(self, part: Part) -> int | None:
        """When that was last noted of any process, by the store's clock; None if never."""

    async def workers(self) -> list[ProcessSeen]:
        """Who was seen in the last minute, by part and name."""

    async def record(self, audited: AuditedAction) -> None:
        """Write into the audit log, which keeps the last AUDIT_ENTRIES_KEPT."""

    async def audit(self, queue: str | None, before: str | None, limit: int) -> list[AuditEntry]:
        """The audit log, newest first: of one queue or of everything, before an entry or from the newest."""

    async def webhooks(self) -> list[Webhook]:
        """All webhooks, oldest first."""

    async def webhook(self, hook_id: str) -> Webhook | None:
        """One webhook."""

    async def put_webhook(self, hook: Webhook) -> None:
        """Add a webhook, or replace the one with its id."""

    async def remove_webhook(self, hook_id: str) -> bool:
        """Take a webhook away; False where there was none."""

    async def warnings(self) -> list[StoreWarning]:
        """What of the store's own set-up would hurt on the night."""
