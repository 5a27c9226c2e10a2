"""Checks the admin key of a call, and the sessions of the dashboard.

A program sends its key with every call. A person signs in at the dashboard with the key once, and from then on a cookie
names the key. No script can read the cookie, another site cannot use it to change anything, and signing out ends the
session, even for a copied cookie.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from hashlib import blake2b

from fairline.domain.tokens import AdminClaims
from fairline.errors import CrossSite, KeyInvalid, KeyMissing, RateLimited, SignedOut, TokenError
from fairline.service.admin_keys import AdminKeys, id_of, require_role
from fairline.store import AdminKey, Role
from fairline.web.admin.wrong_keys import WrongKeys
from fairline.web.context import Context
from fairline.web.server.http import Request

ADMIN_COOKIE = "fairline_admin"
#: Where someone signs in; `next` in its query is where they wanted to go.
SIGN_IN = "/admin/sign-in"
#: How long a session of the dashboard lasts.
SESSION_SECONDS = 12 * 3600
#: The header that the dashboard sends with every change. A form of another site cannot send it.
OWN_HEADER = b"x-fairline-admin"
#: How often one address may try to sign in, with a right or a wrong key, in this many seconds.
TRIES, TRIES_SECONDS = 10, 60.0
#: The rate limit that records the end of a session: a session with an attempt counted here is over.
SIGN_OUT = "sign-out"


class Access:
    """Checks who may make the operators' calls."""

    def __init__(self, context: Context) -> None:
        self.keys = AdminKeys(context.service)
        self._context = context
        self._registry = context.service.store.registry
        self._keyring = context.service.keyring
        self._wrong = WrongKeys(self._registry, context.settings.wrong_keys_per_minute)

    async def check(self, request: Request, needs: Role) -> AdminKey:
        """The key that came with a call, if its role is sufficient; an error otherwise."""
        text = request.bearer()
        key = await (self._by_text(text, request) if text else self._by_cookie(request))
        return require_role(key, needs)

    async def _by_text(self, text: str, request: Request) -> AdminKey:
        return await self._wrong.look_up(self._who(request), id_of(text), lambda: self.keys.of_text(text))

    def _who(self, request: Request) -> str:
        """The caller's address as a keyed digest, for counting attempts. The address itself is not stored."""
        address = self._context.proxies.counted_address(request).encode()
        return blake2b(address, key=self._keyring.digest_key, person=b"sign in").hexdigest()[:32]

    # The dashboard

    async def sign_in(self, text: str, request: Request) -> tuple[AdminKey, str]:
        """The key of this text, and the value of the session cookie. Raises RateLimited after TRIES attempts of one
        address at all workers together, and the same KeyInvalid for every wrong key."""
        wait = await self._registry.limit(self._who(request), "sign-in", TRIES, TRIES_SECONDS)
        if wait > 0:
            raise RateLimited("address", wait)
        key = await self.keys.of_text(text)
        if key is None:
            raise KeyInvalid
        expires = int(time.time()) + SESSION_SECONDS
        claims = AdminClaims(key=key.id, session=secrets.token_hex(16), expires=expires)
        return key, self._keyring.admins.sign(claims)

    async def sign_out(self, request: Request) -> None:
        """End the session of a cookie, in every browser that has it. A session that is over stays over."""
        with contextlib.suppress(TokenError):
            claims = self._keyring.admins.check(request.cookies.get(ADMIN_COOKIE, ""), time.time())
            await self._registry.limit(claims.session, SIGN_OUT, 1, SESSION_SECONDS)

    async def _by_cookie(self, request: Request) -> AdminKey:
        if not self._context.origins.is_own(request):
            raise CrossSite
        token = request.cookies.get(ADMIN_COOKIE)
        if not token:
            raise KeyMissing
        if not _is_safe_from_forms(request):
            raise CrossSite
        try:
            claims = self._keyring.admins.check(token, time.time())
        except TokenError:
            raise SignedOut from None
        key = await self._registry.admin_key(claims.key)
        if key is None or await self._registry.tries(claims.session, SIGN_OUT, SESSION_SECONDS):
            raise SignedOut
        return key


def _is_safe_from_forms(request: Request) -> bool:
    """Whether the request changes nothing, or has the header that no form can send."""
    return request.method in ("GET", "HEAD") or request.header(OWN_HEADER) == b"1"
