"""Everything that belongs to the server and not to a queue, on PostgreSQL."""

from __future__ import annotations

import re

import msgspec

from fairline.domain.webhook import Webhook
from fairline.errors import InvalidRequest
from fairline.store.constants import AUDIT_ENTRIES_KEPT, GONE_MS
from fairline.store.contract import Clock
from fairline.store.postgres.client import Client
from fairline.store.registry import (
    AdminKey,
    AuditedAction,
    AuditEntry,
    Part,
    ProcessSeen,
    ServerSeen,
    StoreWarning,
    newest_of,
)

_encode = msgspec.json.encode
_keys = msgspec.json.Decoder(list[AdminKey]).decode
_alive = msgspec.json.Decoder(list[tuple[Part, str, int]]).decode
_servers = msgspec.json.Decoder(list[ServerSeen]).decode
_actions = msgspec.json.Decoder(list[tuple[int, int, AuditedAction]]).decode
_ENTRY = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_webhooks = msgspec.json.Decoder(list[Webhook]).decode

#: How the server should be set, and what to do if it is not.
_WANTED = {
    "fsync": ("on", "A crash of the machine may destroy everything. Set fsync = on."),
    "full_page_writes": ("on", "A crash of the machine may destroy everything. Set full_page_writes = on."),
    "synchronous_commit": (
        "on",
        "A crash may lose the last answered changes. Set synchronous_commit = on.",
    ),
    "autovacuum": ("on", "Tables that change all the time would keep growing. Set autovacuum = on."),
}
#: These values are at least as safe as the wanted one.
_AS_GOOD = {"synchronous_commit": {"remote_write", "remote_apply"}}


class PostgresRegistry:
    """See `registry.Registry`."""

    def __init__(self, client: Client, clock: Clock | None) -> None:
        self._client = client
        self._clock = clock

    async def admin_keys(self) -> list[AdminKey]:
        return _keys(await self._client.call("all_admin_keys", None))

    async def admin_key(self, key_id: str) -> AdminKey | None:
        return next(iter(_keys(await self._client.call("all_admin_keys", key_id))), None)

    async def put_admin_key(self, key: AdminKey) -> None:
        await self._client.call("put_admin_key", _encode(key).decode())

    async def remove_admin_key(self, key_id: str) -> bool:
        return await self._client.call("remove_admin_key", key_id) == "true"

    async def generation(self) -> int:
        return int(await self._client.call("generation"))

    async def rotate(self) -> int:
        return int(await self._client.call("rotate"))

    async def mark_alive(self, part: Part, name: str) -> None:
        await self._client.call("mark_alive", part, name, self._now(), GONE_MS)

    async def last_alive(self, part: Part) -> int | None:
        at = await self._client.call("last_alive", part)
        return None if at == "null" else int(at)

    async def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        at = self._clock() if self._clock else None
        return float(await self._client.call("try_at", at, who, action, limit, round(seconds * 1000))) / 1000

    async def tries(self, who: str, action: str, seconds: float) -> int:
        return int(await self._client.call("tries_at", self._now(), who, action, round(seconds * 1000)))

    async def workers(self) -> list[ProcessSeen]:
        return [ProcessSeen(*row) for row in _alive(await self._client.call("all_workers", self._now(), GONE_MS))]

    async def show_server(self, server: ServerSeen) -> None:
        await self._client.call("show_server", _encode(server).decode(), self._now(), GONE_MS)

    async def servers(self) -> list[ServerSeen]:
        return newest_of(_servers(await self._client.call("all_servers", self._now(), GONE_MS)))

    async def record(self, audited: AuditedAction) -> None:
        await self._client.call(
            "record_action", self._now(), audited.queue, _encode(audited).decode(), AUDIT_ENTRIES_KEPT
        )

    async def audit(self, queue: str | None, before: str | None, limit: int) -> list[AuditEntry]:
        if before is not None and not _ENTRY.fullmatch(before):
            raise InvalidRequest("before", f"must be the id of an entry; got {before!r:.80}")
        rows = _actions(await self._client.call("list_actions", queue, int(before) if before else None, limit))
        return [AuditEntry(str(number), at, audited) for number, at, audited in rows]

    async def webhooks(self) -> list[Webhook]:
        return _webhooks(await self._client.call("all_webhooks", None))

    async def webhook(self, hook_id: str) -> Webhook | None:
        return next(iter(_webhooks(await self._client.call("all_webhooks", hook_id))), None)

    async def put_webhook(self, hook: Webhook) -> None:
        await self._client.call("put_webhook", hook.id, hook.created, _encode(hook).decode())

    async def remove_webhook(self, hook_id: str) -> bool:
        return await self._client.call("remove_webhook", hook_id) == "true"

    async def warnings(self) -> list[StoreWarning]:
        found = {name: await self._client.setting(name) for name in _WANTED}
        return [
            StoreWarning(name, f"{name} is {value}", advice)
            for name, (wanted, advice) in _WANTED.items()
            if (value := found[name]) is not None and value != wanted and value not in _AS_GOOD.get(name, ())
        ]

    def _now(self) -> int | None:
        """The time that tests pass; None is that of the database."""
        return self._clock() if self._clock else None
