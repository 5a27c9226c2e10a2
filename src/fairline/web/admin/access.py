"""Who calls as an operator, and what they may do.

A program sends its key with every call. Someone at the dashboard signs in with it once, and from then on a cookie says
which key it was: no script can read it, with it nothing can be changed from another site, and signing out ends it,
wherever it was copied to.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from hashlib import blake2b

from fairline.domain.tokens import AdminClaims
from fairline.errors import CrossSite, KeyInvalid, KeyMissing, RateLimited, SignedOut, TokenError
from fairline.service.admin_keys import AdminKeys, enough, id_of
from fairline.store import AdminKey, Role
from fairline.web.admin.wrong_keys import WrongKeys
from fairline.web.context import Context
from fairline.web.server.http import Request

ADMIN_COOKIE = "fairline_admin"
#: How long someone stays signed in.
SESSION_SECONDS = 12 * 3600
#: A form of another site cannot send a header of its own.
OWN_HEADER = b"x-fairline-admin"
#: How often one address may try to sign in, right or wrong.
TRIES, TRIES_SECONDS = 10, 60.0
#: The store keeps as a try of this that a session was ended.
SIGN_OUT = "sign-out"


class Access:
    """What opens the operators' calls."""

    def __init__(self, context: Context) -> None:
        self.keys = AdminKeys(context.service)
        self._context = context
        self._registry = context.service.store.registry
        self._keyring = context.service.keyring
        self._wrong = WrongKeys(self._registry, context.settings.wrong_keys_per_minute)

    async def check(self, request: Request, needs: Role) -> AdminKey:
        """Whose key came with a call, if it allows enough."""
        text = request.bearer()
        key = await (self._by_text(text, request) if text else self._by_cookie(request))
        return enough(key, needs)

    async def _by_text(self, text: str, request: Request) -> AdminKey:
        return await self._wrong.look_up(self._who(request), id_of(text), lambda: self.keys.of_text(text))

    def _who(self, request: Request) -> str:
        """Where a call comes from, as tries are counted: no address is kept."""
        address = self._context.counted_address(request).encode()
        return blake2b(address, key=self._keyring.digest_key, person=b"sign in").hexdigest()[:32]

    # The dashboard

    async def sign_in(self, text: str, request: Request) -> tuple[AdminKey, str]:
        """Whose key this is, and the cookie that says so from now on. However many workers there are, one address has
        so many tries: RateLimited. The answer to a wrong key is the same whatever is wrong with it."""
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
        """End the session of a cookie: from now on it opens nothing, in no browser. One that is over stays so."""
        with contextlib.suppress(TokenError):
            claims = self._keyring.admins.check(request.cookies.get(ADMIN_COOKIE, ""), time.time())
            await self._registry.limit(claims.session, SIGN_OUT, 1, SESSION_SECONDS)

    async def _by_cookie(self, request: Request) -> AdminKey:
        if not self._context.origins.is_own(request):
            raise CrossSite
        token = request.cookies.get(ADMIN_COOKIE)
        if not token:
            raise KeyMissing
        if not _is_harmless(request):
            raise CrossSite
        try:
            claims = self._keyring.admins.check(token, time.time())
        except TokenError:
            raise SignedOut from None
        key = await self._registry.admin_key(claims.key)
        if key is None or await self._registry.tries(claims.session, SIGN_OUT, SESSION_SECONDS):
            raise SignedOut
        return key


def _is_harmless(request: Request) -> bool:
    """It changes nothing, or has what no form can send."""
    return request.method in ("GET", "HEAD") or request.header(OWN_HEADER) == b"1"
