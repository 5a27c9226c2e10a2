"""What a visitor asked for, in the same form for ASGI and WSGI, and what can be read off it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote_plus

from fairline.domain.bypass import address_passes, agent_passes, path_passes
from fairline.gate.options import Options
from fairline.gate.server import CLIENT_COOKIE, LONGEST_AGENT, Visitor

SESSION_COOKIE = "fairline_session"
#: The headers that the gate looks at.
HEADERS = frozenset({"accept", "authorization", "cookie", "sec-fetch-mode", "user-agent"})
#: What a pass and the cookies of the server are written in; nothing else is sent on.
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")
#: What stays as it is in an address, its escapes among it. A backslash does not: browsers read it as a slash.
_PLAIN = "/%:@!$&'()*+,;=~-._"


@dataclass(kw_only=True)
class Request:
    """One request or one WebSocket."""

    method: str
    path: str
    """Decoded, from the root of the site."""
    raw_path: str
    """As it was sent."""
    query: str
    headers: Mapping[str, str]
    """Those of HEADERS, in small letters."""
    address: str
    secure: bool
    websocket: bool = False

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The cookies; of two with one name, the first."""
        found: dict[str, str] = {}
        for each in self.headers.get("cookie", "").split(";"):
            name, _, value = each.strip().partition("=")
            found.setdefault(name, value)
        return found

    @cached_property
    def arrived_with(self) -> str | None:
        """The pass in the address, as on the way from the waiting page."""
        for pair in self.query.split("&"):
            name, _, value = pair.partition("=")
            if unquote_plus(name) == SESSION_COOKIE:
                return unquote_plus(value)
        return None

    @cached_property
    def token(self) -> str | None:
        """The pass that the visitor holds: in the cookie, or as a bearer token where it looks like one of ours."""
        scheme, _, bearer = self.headers.get("authorization", "").partition(" ")
        # {"alg":"EdDSA"… begins so; the tokens of the site itself are none of our business.
        if scheme.lower() == "bearer" and bearer.startswith("eyJhbGciOiJFZERTQSI") and _TOKEN.fullmatch(bearer):
            return bearer
        cookie = self.cookies.get(SESSION_COOKIE)
        return cookie or None

    @cached_property
    def visitor(self) -> Visitor:
        """Who comes."""
        client = self.cookies.get(CLIENT_COOKIE, "")
        agent = " ".join(self.headers.get("user-agent", "").split())[:LONGEST_AGENT]
        return Visitor(client if _TOKEN.fullmatch(client) else "", self.address, agent)

    @property
    def wants_page(self) -> bool:
        """Whether a person looks at the answer, so that it may be a redirect."""
        if self.method not in {"GET", "HEAD"}:
            return False
        # fetch() and the parts of a page say so; a redirect to another site would be of no use to them.
        if self.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return False
        accept = self.headers.get("accept", "")
        return "text/html" in accept or "json" not in accept

    @cached_property
    def address_without_token(self) -> str:
        """Path and query, without the pass. It never leads to another site: // at its beginning would."""
        path = "/" + quote(self.raw_path, safe=_PLAIN).lstrip("/")
        query = "&".join(
            pair for pair in self.query.split("&") if unquote_plus(pair.partition("=")[0]) != SESSION_COOKIE
        )
        return f"{path}?{quote(query, safe=_PLAIN + '?')}" if query else path


def is_token(text: str) -> bool:
    """Whether it is written as a token is, so that it can be put into a header."""
    return _TOKEN.fullmatch(text) is not None


class Bypass:
    """What goes through without a pass."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def lets(self, request: Request) -> bool:
        """Whether this request needs no pass."""
        options = self._options
        return (
            path_passes(request.path, options.bypass)
            or address_passes(request.address, options.bypass_addresses)
            or agent_passes(request.headers.get("user-agent", ""), options.bypass_agents)
        )
