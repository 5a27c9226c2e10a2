"""What belongs to the server rather than to a queue, on Valkey."""

from __future__ import annotations

import msgspec

from fairline.store.contract import AdminKey
from fairline.store.valkey.client import Connection, mapped_errors
from fairline.store.valkey.keys import ADMIN_KEYS, GENERATION

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(AdminKey).decode


class ValkeyRegistry:
    """See `contract.Registry`."""

    def __init__(self, client: Connection) -> None:
        self._client = client

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
