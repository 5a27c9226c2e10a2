"""What belongs to the server rather than to a queue, on PostgreSQL."""

from __future__ import annotations

import msgspec

from fairline.store.contract import AdminKey, Caution, Clock, Part
from fairline.store.postgres.client import Client
from fairline.webhook import Webhook

_encode = msgspec.json.encode
_keys = msgspec.json.Decoder(list[AdminKey]).decode
_webhooks = msgspec.json.Decoder(list[Webhook]).decode

#: How a server that keeps people's places should be set, and what to do where it is not.
_WANTED = {
    "fsync": ("on", "A crash of the machine may destroy everything. Set fsync = on."),
    "full_page_writes": ("on", "A crash of the machine may destroy everything. Set full_page_writes = on."),
    "synchronous_commit": (
        "on",
        "A crash may lose what was answered last. Set synchronous_commit = on.",
    ),
    "autovacuum": ("on", "Tables that change all the time would only grow. Set autovacuum = on."),
}
#: These keep at least as much as what is wanted.
_AS_GOOD = {"synchronous_commit": {"remote_write", "remote_apply"}}


class PostgresRegistry:
    """See `contract.Registry`."""

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

    async def mark_alive(self, part: Part) -> None:
        await self._client.call("mark_alive", part, self._clock() if self._clock else None)

    async def last_alive(self, part: Part) -> int | None:
        at = await self._client.call("last_alive", part)
        return None if at == "null" else int(at)

    async def webhooks(self) -> list[Webhook]:
        return _webhooks(await self._client.call("all_webhooks", None))

    async def webhook(self, hook_id: str) -> Webhook | None:
        return next(iter(_webhooks(await self._client.call("all_webhooks", hook_id))), None)

    async def put_webhook(self, hook: Webhook) -> None:
        await self._client.call("put_webhook", hook.id, hook.created, _encode(hook).decode())

    async def remove_webhook(self, hook_id: str) -> bool:
        return await self._client.call("remove_webhook", hook_id) == "true"

    async def warnings(self) -> list[Caution]:
        found = {name: await self._client.setting(name) for name in _WANTED}
        return [
            Caution(name, f"{name} is {value}", advice)
            for name, (wanted, advice) in _WANTED.items()
            if (value := found[name]) is not None and value != wanted and value not in _AS_GOOD.get(name, ())
        ]
