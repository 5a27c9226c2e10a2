"""The admin keys of a server. The store keeps digests; a key is shown once, when it is made."""

from __future__ import annotations

import hmac
import secrets
from hashlib import blake2b, sha256

from fairline.domain.queue import check_text
from fairline.errors import (
    Forbidden,
    InvalidRequest,
    KeyInvalid,
    KeyNotFound,
    LastAdminKey,
)
from fairline.service.fairline import Fairline
from fairline.settings import LONG_ENOUGH
from fairline.store import AdminKey, Role

_ORDER = list(Role)


class AdminKeys:
    """All admin keys, read from the store every time: a key taken away is of no use on the very next call."""

    def __init__(self, service: Fairline) -> None:
        self._registry = service.store.registry
        self._store = service.store
        self._digest_key = service.keyring.digest_key

    async def of_text(self, text: str) -> AdminKey | None:
        """The key that this is the text of. One that can be guessed is none, also where a version that took any has put
        it into the store."""
        if len(text.strip()) < LONG_ENOUGH:
            return None
        key = await self._registry.admin_key(id_of(text))
        return key if key is not None and hmac.compare_digest(key.digest, self.digest(text)) else None

    async def of_id(self, key_id: str, needs: Role) -> AdminKey:
        """The key of an id, if it is still there and allows enough: for what someone with the key has set up."""
        key = await self._registry.admin_key(key_id)
        if key is None:
            raise KeyInvalid
        return enough(key, needs)

    async def create(self, role: Role, name: str, text: str | None = None) -> tuple[AdminKey, str]:
        """A new key, or a record of one the operator has chosen."""
        check_text("name", name, InvalidRequest)
        text = text or f"fl_{secrets.token_urlsafe(24)}"
        created = await self._store.time()
        key = AdminKey(id=id_of(text), role=role, name=name, digest=self.digest(text), created=created)
        await self._registry.put_admin_key(key)
        return key, text

    async def all(self) -> list[AdminKey]:
        """All keys, oldest first."""
        return await self._registry.admin_keys()

    async def remove(self, key_id: str) -> None:
        """Take a key away, unless no admin would be left."""
        key = await self._registry.admin_key(key_id)
        if key is None:
            raise KeyNotFound(key_id)
        if key.role is Role.ADMIN and await self._admins() == {key_id}:
            raise LastAdminKey
        if not await self._registry.remove_admin_key(key_id):
            raise KeyNotFound(key_id)
        if key.role is Role.ADMIN and not await self._admins():
            await self._registry.put_admin_key(key)  # two admins removed each other's at once: neither may
            raise LastAdminKey

    async def _admins(self) -> set[str]:
        return {key.id for key in await self.all() if key.role is Role.ADMIN}

    def digest(self, text: str) -> str:
        """What is kept of a key."""
        return blake2b(text.encode(errors="replace"), key=self._digest_key, person=b"admin key").hexdigest()


def enough(key: AdminKey, needs: Role) -> AdminKey:
    """The key, if it allows enough."""
    if _ORDER.index(key.role) < _ORDER.index(needs):
        raise Forbidden(key.role, needs)
    return key


def id_of(text: str) -> str:
    """A key's id is made from it: enough to find it by, nothing to guess it from."""
    return sha256(b"fairline admin key" + text.encode(errors="replace")).hexdigest()[:12]
