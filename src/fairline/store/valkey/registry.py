"""What belongs to the server rather than to a queue, on Valkey."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from redis.exceptions import ResponseError

from fairline.store.contract import AdminKey, Caution, Part
from fairline.store.valkey.client import Connection, mapped_errors
from fairline.store.valkey.keys import ADMIN_KEYS, ALIVE, GENERATION, WEBHOOKS
from fairline.webhook import Webhook

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(AdminKey).decode
_webhook = msgspec.json.Decoder(Webhook).decode

#: How a server that keeps people's places should be set, and what to do where it is not.
_WANTED = {
    "maxmemory-policy": (
        "noeviction",
        "It would throw people's places away when memory is short. Set it to noeviction.",
    ),
    "appendonly": ("yes", "A restart would lose everything since the last snapshot. Set appendonly yes."),
    "appendfsync": ("always", "A crash of the server may lose what was answered in the last second or two."),
}


class ValkeyRegistry:
    """See `contract.Registry`."""

    def __init__(self, client: Connection, time: Callable[[], Awaitable[int]]) -> None:
        self._client = client
        self._time = time

    async def admin_keys(self) -> list[AdminKey]:
        async with mapped_errors():
            found = await self._client.hvals(ADMIN_KEYS)
        return sorted(map(_decode, found), key=lambda key: (key.created, key.id))

    async def admin_key(self, key_id: str) -> AdminKey | None:
        async with mapped_errors():
            found = await self._client.hget(ADMIN_KEYS, key_id)
        return _decode(found) if found else None

    async def put_admin_key(self, key: AdminKey) -> None:
        async with mapped_errors():
            await self._client.hset(ADMIN_KEYS, key.id, _encode(key))

    async def remove_admin_key(self, key_id: str) -> bool:
        async with mapped_errors():
            return bool(await self._client.hdel(ADMIN_KEYS, key_id))

    async def generation(self) -> int:
        async with mapped_errors():
            return int(await self._client.get(GENERATION) or 0) + 1

    async def rotate(self) -> int:
        async with mapped_errors():
            return int(await self._client.incr(GENERATION)) + 1

    async def mark_alive(self, part: Part) -> None:
        now = await self._time()
        async with mapped_errors():
            await self._client.hset(ALIVE, part, now)

    async def last_alive(self, part: Part) -> int | None:
        async with mapped_errors():
            at = await self._client.hget(ALIVE, part)
        return int(at) if at else None

    async def webhooks(self) -> list[Webhook]:
        async with mapped_errors():
            found = await self._client.hvals(WEBHOOKS)
        return sorted(map(_webhook, found), key=lambda hook: (hook.created, hook.id))

    async def webhook(self, hook_id: str) -> Webhook | None:
        async with mapped_errors():
            found = await self._client.hget(WEBHOOKS, hook_id)
        return _webhook(found) if found else None

    async def put_webhook(self, hook: Webhook) -> None:
        async with mapped_errors():
            await self._client.hset(WEBHOOKS, hook.id, _encode(hook))

    async def remove_webhook(self, hook_id: str) -> bool:
        async with mapped_errors():
            return bool(await self._client.hdel(WEBHOOKS, hook_id))

    async def warnings(self) -> list[Caution]:
        async with mapped_errors():
            try:
                found = {name: (await self._client.config_get(name)).get(name) for name in _WANTED}
            except ResponseError:
                return []  # a managed server that hides its settings has someone else to look after them
        return [
            Caution(name, f"{name} is {value}", advice)
            for name, (wanted, advice) in _WANTED.items()
            if (value := found[name]) is not None and value != wanted
        ]
