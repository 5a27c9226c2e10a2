"""Protects cookies against pages of other sites: finds out whether a page of this server, of an origin in
`cors_origins`, or of a foreign site makes a call.

A browser sends our cookies with a call whichever page makes it, and stores those that the answer sets. So a call that
changes something and comes from a foreign page is handled as if it had no cookies, and its answer sets none. GET calls
are left unchanged: links from anywhere may lead to them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from fairline.domain.address import DEFAULT_PORTS
from fairline.errors import FairlineError
from fairline.settings import ServerSettings
from fairline.web.server.http import Handler, Outcome, Pending, Request, Response, Sent, SlowHandler, Takeover
from fairline.web.server.operations import Operation
from fairline.web.server.trusted_proxies import TrustedProxies


class Origins:
    """The origins whose pages may use our cookies."""

    def __init__(self, settings: ServerSettings, proxies: TrustedProxies) -> None:
        self._proxies = proxies
        self._public = settings.public_url.partition("://")[2].partition("/")[0]
        self._named = set(settings.cors_origins) - {"*"}

    def is_own(self, request: Request) -> bool:
        """Whether a request comes from a page of this server, or from no page at all. The browser tells us: with
        Sec-Fetch-Site, for which it compares the origins itself, so that it is right behind any proxy; or else with
        Origin, which it sends with every POST; or else, if it is very old, with Referer."""
        site = request.header(b"sec-fetch-site")
        if site == b"same-origin":
            return True
        origin = _page_origin(request)
        return site in (None, b"none") if origin is None else self._is_here(origin, request)

    def guarded(self, row: Operation) -> Operation:
        """The same operation, ignoring the cookies of calls from foreign pages."""
        if row.method == "GET":
            return row
        allowed = self._may_use_cookies if row.path.startswith("/api/") else self._is_own_or_named
        fast, slow = row.fast and _fast(row.fast, allowed), row.slow and _slow(row.slow, allowed)
        return msgspec.structs.replace(row, fast=fast, slow=slow)

    def _may_use_cookies(self, request: Request) -> bool:
        """Whether the cookies of an API call count. Old browsers do not always tell us which page sends a form, but a
        form cannot send JSON."""
        site = request.head.header(b"sec-fetch-site")
        if site == b"same-origin":  # nearly all calls of browsers
            return True
        if site is None and _page_origin(request) is None:
            return not request.body or _is_json(request)
        return self._is_own_or_named(request)

    def _is_own_or_named(self, request: Request) -> bool:
        return _page_origin(request) in self._named or self.is_own(request)

    def _is_here(self, origin: str, request: Request) -> bool:
        scheme, _, name = origin.partition("://")
        if not name or (scheme == "http" and self._proxies.is_https(request)):
            return False
        hosts = (self._public, request.text(b"host"), self._proxies.host(request))
        return any(name == host.lower().removesuffix(DEFAULT_PORTS.get(scheme, "")) for host in hosts if host)


def _page_origin(request: Request) -> str | None:
    """The origin of the page that makes a call, as its browser says. Browsers without Origin send a Referer with forms;
    it says nothing of a GET, to which links from anywhere may lead."""
    head = request.head
    origin = head.text(b"origin")
    if origin is not None or head.method in ("GET", "HEAD") or head.header(b"sec-fetch-site") is not None:
        return origin
    referer = head.text(b"referer")
    return None if referer is None else "/".join(referer.split("/", 3)[:3])


def _is_json(request: Request) -> bool:
    media = (request.header(b"content-type") or b"").partition(b";")[0]
    return media.strip().lower() == b"application/json"


def _fast(handler: Handler, allowed: Callable[[Request], bool]) -> Handler:
    def handle(request: Request) -> Outcome:
        if allowed(request):
            return handler(request)
        return _setting_no_cookies(handler(request.without_cookies()))

    return handle


def _slow(handler: SlowHandler, allowed: Callable[[Request], bool]) -> SlowHandler:
    async def handle(request: Request) -> Sent:
        if allowed(request):
            return await handler(request)
        return await _strip_cookies_later(handler(request.without_cookies()))

    return handle


def _setting_no_cookies(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Sent):
        return _strip_cookies(outcome)
    if not isinstance(outcome, Pending):
        return _strip_cookies_later(outcome)
    recover = outcome.recover

    def recovered(error: FairlineError) -> Outcome:
        assert recover is not None
        return _setting_no_cookies(recover(error))

    return Pending(
        outcome.call, lambda arrived: _setting_no_cookies(outcome.render(arrived)), recovered if recover else None
    )


async def _strip_cookies_later(outcome: Coroutine[Any, Any, Sent]) -> Sent:
    return _strip_cookies(await outcome)


def _strip_cookies(sent: Sent) -> Sent:
    headers = tuple(header for header in sent.headers if header[0] != b"set-cookie")
    if isinstance(sent, Response):
        return msgspec.structs.replace(sent, headers=headers)
    return Takeover(sent.stream, headers)
