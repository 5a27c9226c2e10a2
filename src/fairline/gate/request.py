"""The request of a visitor in the same form for ASGI and WSGI, and what the gate reads from it."""

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
#: The headers that the gate reads.
HEADERS = frozenset({"accept", "authorization", "cookie", "sec-fetch-mode", "user-agent"})
#: The form of session tokens and of the server's cookies. A value of another form is not sent to the server.
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")
#: Characters that stay unquoted in an address, including escapes. A backslash is quoted: browsers take it for a slash.
_PLAIN = "/%:@!$&'()*+,;=~-._"


@dataclass(kw_only=True)
class Request:
    """One request or one WebSocket."""

    method: str
    path: str
    """The decoded path, from the root of the site."""
    raw_path: str
    """The path as the client sent it."""
    query: str
    headers: Mapping[str, str]
    """Those in HEADERS, with lower-case names."""
    address: str
    secure: bool
    websocket: bool = False

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The cookies. If two have the same name, the first one counts."""
        found: dict[str, str] = {}
        for each in self.headers.get("cookie", "").split(";"):
            name, _, value = each.strip().partition("=")
            found.setdefault(name, value)
        return found

    @cached_property
    def arrived_with(self) -> str | None:
        """The session token in the query, which a visitor brings from the waiting page."""
        for pair in self.query.split("&"):
            name, _, value = pair.partition("=")
            if unquote_plus(name) == SESSION_COOKIE:
                return unquote_plus(value)
        return None

    @cached_property
    def token(self) -> str | None:
        """The session token that the visitor holds: a bearer token that looks like one, or else the cookie."""
        scheme, _, bearer = self.headers.get("authorization", "").partition(" ")
        # {"alg":"EdDSA"… in base64 starts like this. Bearer tokens of the site itself are ignored.
        if scheme.lower() == "bearer" and bearer.startswith("eyJhbGciOiJFZERTQSI") and _TOKEN.fullmatch(bearer):
            return bearer
        cookie = self.cookies.get(SESSION_COOKIE)
        return cookie or None

    @cached_property
    def visitor(self) -> Visitor:
        """The visitor who sent the request."""
        client = self.cookies.get(CLIENT_COOKIE, "")
        agent = " ".join(self.headers.get("user-agent", "").split())[:LONGEST_AGENT]
        return Visitor(client if _TOKEN.fullmatch(client) else "", self.address, agent)

    @property
    def wants_page(self) -> bool:
        """Whether a browser shows the answer to a person, so that it may be a redirect."""
        if self.method not in {"GET", "HEAD"}:
            return False
        # fetch() and the resources of a page send another mode; they cannot use a redirect to another site.
        if self.headers.get("sec-fetch-mode", "navigate") != "navigate":
            return False
        accept = self.headers.get("accept", "")
        return "text/html" in accept or "json" not in accept

    @cached_property
    def address_without_token(self) -> str:
        """Path and query, without the session token. It starts with a single slash: // would lead to another site."""
        path = "/" + quote(self.raw_path, safe=_PLAIN).lstrip("/")
        query = "&".join(
            pair for pair in self.query.split("&") if unquote_plus(pair.partition("=")[0]) != SESSION_COOKIE
        )
        return f"{path}?{quote(query, safe=_PLAIN + '?')}" if query else path


def is_token(text: str) -> bool:
    """Whether the text has the form of a token, so that it can be put into a header."""
    return _TOKEN.fullmatch(text) is not None


class Bypass:
    """The requests that need no session token."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def lets(self, request: Request) -> bool:
        """Whether this request needs no session token."""
        options = self._options
        return (
            path_passes(request.path, options.bypass)
            or address_passes(request.address, options.bypass_addresses)
            or agent_passes(request.headers.get("user-agent", ""), options.bypass_agents)
        )
