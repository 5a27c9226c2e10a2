"""The admin keys of a server. The store keeps only digests; a key is shown once, when it is created."""

from __future__ import annotations

import hmac
import secrets
from hashlib import blake2b, sha256

from fairline.domain.storable_text import check_text
from fairline.errors import Forbidden, InvalidRequest, KeyInvalid, KeyNotFound, LastAdminKey
from fairline.service.fairline import Fairline
from fairline.settings import MIN_SECRET_LENGTH
from fairline.store import AdminKey, Role

_ORDER = list(Role)


class AdminKeys:
    """All admin keys. They are read from the store every time, so a removed key is refused on the next call."""

    def __init__(self, service: Fairline) -> None:
        self._registry = service.store.registry
        self._store = service.store
        self._digest_key = service.keyring.digest_key

    async def of_text(self, text: str) -> AdminKey | None:
        """Return the key with this text; None if there is none. A text that is too short is never a key, even if an
        older version has put it into the store, because it could be guessed."""
        if len(text.strip()) < MIN_SECRET_LENGTH:
            return None
        key = await self._registry.admin_key(id_of(text))
        return key if key is not None and hmac.compare_digest(key.digest, self.digest(text)) else None

    async def of_id(self, key_id: str, needs: Role) -> AdminKey:
        """Return the key with this id if it still exists and allows the role: for something that was set up with it."""
        key = await self._registry.admin_key(key_id)
        if key is None:
            raise KeyInvalid
        return require_role(key, needs)

    async def create(self, role: Role, name: str, text: str | None = None) -> tuple[AdminKey, str]:
        """Create a key, with a random text or the text that the operator has chosen."""
        check_text("name", name, InvalidRequest)
        text = text or f"fl_{secrets.token_urlsafe(24)}"
        created = await self._store.time()
        key = AdminKey(id=id_of(text), role=role, name=name, digest=self.digest(text), created=created)
        await self._registry.put_admin_key(key)
        return key, text

    async def all(self) -> list[AdminKey]:
        """Return all keys, oldest first."""
        return await self._registry.admin_keys()

    async def remove(self, key_id: str) -> None:
        """Remove a key, unless it is the last one with the role admin."""
        key = await self._registry.admin_key(key_id)
        if key is None:
            raise KeyNotFound(key_id)
        if key.role is Role.ADMIN and await self._admins() == {key_id}:
            raise LastAdminKey
        if not await self._registry.remove_admin_key(key_id):
            raise KeyNotFound(key_id)
        if key.role is Role.ADMIN and not await self._admins():
            await self._registry.put_admin_key(key)  # two admins removed each other's key at once: refuse both
            raise LastAdminKey

    async def _admins(self) -> set[str]:
        return {key.id for key in await self.all() if key.role is Role.ADMIN}

    def digest(self, text: str) -> str:
        """The digest of a key that is stored."""
        return blake2b(text.encode(errors="replace"), key=self._digest_key, person=b"admin key").hexdigest()


def require_role(key: AdminKey, needs: Role) -> AdminKey:
    """Return the key if its role allows what is needed, or raise Forbidden."""
    if _ORDER.index(key.role) < _ORDER.index(needs):
        raise Forbidden(key.role, needs)
    return key


def id_of(text: str) -> str:
    """The id of a key, derived from its text: the key can be found by it, but not guessed from it."""
    return sha256(b"fairline admin key" + text.encode(errors="replace")).hexdigest()[:12]
