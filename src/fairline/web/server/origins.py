"""Whose page makes a call: a page of this server, one of an origin in `cors_origins`, or a foreign one.

A browser sends our cookies with a call whichever page makes it, and keeps those that the answer sets. So a call that
changes something, made by a foreign page, is handled as if it had brought no cookie, and its answer sets none. Calls by
GET are left as they are: a link from anywhere leads to them, and is meant to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fairline.domain.address import DEFAULT_PORTS
from fairline.errors import FairlineError
from fairline.web.server.http import Handler, Outcome, Pending, Request, Response, Sent, SlowHandler, Takeover
from fairline.web.server.operations import Operation

if TYPE_CHECKING:
    from fairline.web.context import Context


class Origins:
    """The origins whose pages may use cookies."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._public = context.settings.public_url.partition("://")[2].partition("/")[0]
        self._named = {origin.encode() for origin in context.settings.cors_origins} - {b"*"}

    def is_own(self, request: Request) -> bool:
        """Whether a request comes from a page of this server, or from no page at all. The browser says it: by comparing
        origins itself, which is right behind any proxy, or else by naming the origin, as it does with every POST."""
        site = request.header(b"sec-fetch-site")
        if site == b"same-origin":
            return True
        origin = request.text(b"origin")
        return site in (None, b"none") if origin is None else self._is_here(origin, request)

    def guarded(self, row: Operation) -> Operation:
        """The same call without the cookies of foreign pages."""
        if row.method == "GET":
            return row
        allowed = self._may_use_cookies if row.path.startswith("/api/") else self._is_own_or_named
        fast, slow = row.fast and _fast(row.fast, allowed), row.slow and _slow(row.slow, allowed)
        return msgspec.structs.replace(row, fast=fast, slow=slow)

    def _may_use_cookies(self, request: Request) -> bool:
        """Whether the cookies of a call of the API count. Old browsers do not say whose page sends a form; but no form
        of theirs can send JSON."""
        if request.header(b"origin") is None and request.header(b"sec-fetch-site") is None:
            return not request.body or _is_json(request)
        return self._is_own_or_named(request)

    def _is_own_or_named(self, request: Request) -> bool:
        return request.header(b"origin") in self._named or self.is_own(request)

    def _is_here(self, origin: str, request: Request) -> bool:
        scheme, _, name = origin.partition("://")
        if not name or (scheme == "http" and self._context.secure(request)):
            return False
        hosts = (self._public, request.text(b"host"), self._context.host(request))
        return any(name == host.lower().removesuffix(DEFAULT_PORTS.get(scheme, "")) for host in hosts if host)


def _is_json(request: Request) -> bool:
    media = (request.header(b"content-type") or b"").partition(b";")[0]
    return media.strip().lower() == b"application/json"


def _fast(handler: Handler, allowed: Callable[[Request], bool]) -> Handler:
    def handle(request: Request) -> Outcome:
        if allowed(request):
            return handler(request)
        return _without_cookies(handler(request.without_cookies()))

    return handle


def _slow(handler: SlowHandler, allowed: Callable[[Request], bool]) -> SlowHandler:
    async def handle(request: Request) -> Sent:
        if allowed(request):
            return await handler(request)
        return _sets_none(await handler(request.without_cookies()))

    return handle


def _without_cookies(outcome: Outcome) -> Outcome:
    if not isinstance(outcome, Pending):
        return _sets_none(outcome)
    recover = outcome.recover

    def recovered(error: FairlineError) -> Outcome:
        assert recover is not None
        return _without_cookies(recover(error))

    return Pending(
        outcome.deferred, lambda arrived: _without_cookies(outcome.render(arrived)), recovered if recover else None
    )


def _sets_none(sent: Sent) -> Sent:
    headers = tuple(header for header in sent.headers if header[0] != b"set-cookie")
    if isinstance(sent, Response):
        return msgspec.structs.replace(sent, headers=headers)
    return Takeover(sent.stream, headers)
