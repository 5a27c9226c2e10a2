"""Admin keys: who may do what. The store keeps digests; a key is shown once, when it is made.

A program sends its key with every call. Someone at the dashboard signs in with it once, and from then on a cookie says
which key it was: no script can read it, and with it nothing can be changed from another site.
"""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import blake2b, sha256
from urllib.parse import urlsplit

from fairline.errors import FairlineError, InvalidRequest, NotFound, RateLimited, Refused, TokenError
from fairline.queue import check_text
from fairline.room import Room
from fairline.store import AdminKey, Role
from fairline.token import AdminClaims
from fairline.web.http import Request

_ORDER = list(Role)

ADMIN_COOKIE = "fairline_admin"
#: How long someone stays signed in.
SESSION_SECONDS = 12 * 3600
#: A form of another site cannot send a header of its own.
OWN_HEADER = b"x-fairline-admin"
#: How often one address may try to sign in, right or wrong.
TRIES, TRIES_SECONDS = 10, 60.0


class KeyMissing(FairlineError):
    """No admin key came with the call."""

    code = "key_missing"

    def __init__(self) -> None:
        super().__init__("This call needs an admin key. Send it as 'Authorization: Bearer …'.")


class KeyInvalid(FairlineError):
    """The key is none of ours, or was taken away."""

    code = "key_invalid"

    def __init__(self) -> None:
        super().__init__(
            "This admin key is not valid. Make one with 'fairline keys create', or check for a typing error."
        )


class SignedOut(FairlineError):
    """The session of the dashboard is over."""

    code = "signed_out"

    def __init__(self) -> None:
        super().__init__("You are signed out: the session is over, or its key was taken away. Sign in at /admin.")


class CrossSite(FairlineError):
    """A call with the cookie of the dashboard did not come from the dashboard."""

    code = "cross_site"

    def __init__(self) -> None:
        super().__init__(
            "This call came with the dashboard's cookie, and not from the dashboard. Programs send their key as "
            "'Authorization: Bearer …'; behind a proxy, see that it hands on the Host header."
        )


class KeyNotFound(NotFound):
    """No admin key has this id."""

    code = "key_not_found"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no admin key {key_id!r}. List them to see the ids.")


class LastAdminKey(Refused):
    """Nobody would be left who can make keys."""

    code = "last_admin_key"

    def __init__(self) -> None:
        super().__init__("This is the last key with the role admin. Make another one first, then remove this one.")


class Forbidden(FairlineError):
    """The key allows less than this call needs."""

    code = "forbidden"

    def __init__(self, has: Role, needs: Role) -> None:
        super().__init__(f"This key has the role {has}; this call needs the role {needs}. Ask for another key.")


class Access:
    """The admin keys of a server."""

    def __init__(self, room: Room, public_url: str = "") -> None:
        self._registry = room.store.registry
        self._store = room.store
        self._keyring = room.keyring
        self._digest_key = room.keyring.digest_key
        self._own_hosts = {urlsplit(public_url).netloc} - {""}

    async def check(self, request: Request, needs: Role) -> AdminKey:
        """Whose key came with a call, if it allows enough. Read from the store every time: a key taken away is of no
        use on the very next call."""
        text = request.bearer()
        key = await (self._by_text(text) if text else self._by_cookie(request))
        return _enough(key, needs)

    async def still(self, key_id: str, needs: Role) -> AdminKey:
        """The key of an id, if it is still there and allows enough: for what someone with the key has set up."""
        key = await self._registry.admin_key(key_id)
        if key is None:
            raise KeyInvalid
        return _enough(key, needs)

    async def _by_text(self, text: str) -> AdminKey:
        key = await self._registry.admin_key(_id_of(text))
        if key is None or not hmac.compare_digest(key.digest, self._digest(text)):
            raise KeyInvalid
        return key

    # The dashboard

    async def sign_in(self, text: str, address: str | None) -> tuple[AdminKey, str]:
        """Whose key this is, and the cookie that says so from now on. However many workers there are, one address has
        so many tries: RateLimited. The answer to a wrong key is the same whatever is wrong with it."""
        who = blake2b((address or "").encode(), key=self._digest_key, person=b"sign in").hexdigest()[:32]
        wait = await self._registry.limit(who, "sign-in", TRIES, TRIES_SECONDS)
        if wait > 0:
            raise RateLimited("address", wait)
        key = await self._by_text(text)
        claims = AdminClaims(key=key.id, expires=int(time.time()) + SESSION_SECONDS)
        return key, self._keyring.admins.sign(claims)

    async def _by_cookie(self, request: Request) -> AdminKey:
        token = request.cookies.get(ADMIN_COOKIE)
        if not token:
            raise KeyMissing
        if not self.is_own(request) or not _is_harmless(request):
            raise CrossSite
        try:
            claims = self._keyring.admins.check(token, time.time())
        except TokenError:
            raise SignedOut from None
        key = await self._registry.admin_key(claims.key)
        if key is None:
            raise SignedOut
        return key

    def is_own(self, request: Request) -> bool:
        """Whether a request comes from a page of ours, as far as the browser says. Where it does not say so itself, it
        names the page's origin with everything that changes something."""
        site = request.text(b"sec-fetch-site")
        if site is not None:
            return site in ("same-origin", "none")
        origin = request.text(b"origin")
        return origin is None or origin.partition("://")[2] in {request.text(b"host") or "", *self._own_hosts}

    # Keys

    async def create(self, role: Role, name: str, text: str | None = None) -> tuple[AdminKey, str]:
        """A new key, or a record of one the operator has chosen."""
        check_text("name", name, InvalidRequest)
        text = text or f"fl_{secrets.token_urlsafe(24)}"
        created = await self._store.time()
        key = AdminKey(id=_id_of(text), role=role, name=name, digest=self._digest(text), created=created)
        await self._registry.put_admin_key(key)
        return key, text

    async def keys(self) -> list[AdminKey]:
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
        return {key.id for key in await self.keys() if key.role is Role.ADMIN}

    def _digest(self, text: str) -> str:
        return blake2b(text.encode(errors="replace"), key=self._digest_key, person=b"admin key").hexdigest()


def _is_harmless(request: Request) -> bool:
    """It changes nothing, or has what no form can send."""
    return request.method in ("GET", "HEAD") or request.header(OWN_HEADER) == b"1"


def _id_of(text: str) -> str:
    """A key's id is made from it: enough to find it by, nothing to guess it from."""
    return sha256(b"fairline admin key" + text.encode(errors="replace")).hexdigest()[:12]


def _enough(key: AdminKey, needs: Role) -> AdminKey:
    if _ORDER.index(key.role) < _ORDER.index(needs):
        raise Forbidden(key.role, needs)
    return key
