"""The addresses that people are sent to: the target of a queue with a session token, and paths within one site."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from fairline.web.cookies import SESSION_COOKIE

#: In the query of a waiting page: the person came with a link that somebody else has already used.
TAKEN = "taken=1"


def redirect_url(target: str, session_token: str, back_to: str = "") -> str:
    """Where an admitted person goes, with the session token: the target, or the address on the same site that they
    first asked for."""
    if not target:
        return ""
    parts = urlsplit(urljoin(target, local(back_to)) if back_to else target)
    query = "&".join(filter(None, (parts.query, urlencode({SESSION_COOKIE: session_token}))))
    return urlunsplit(parts._replace(query=query))


def local(uri: str) -> str:
    """An address reduced to path and query, so that it never leads to another site."""
    parts = uri.split("://", 1)
    path = parts[1].partition("/")[2] if len(parts) == 2 and "/" not in parts[0] else uri
    return "/" + quote(path.lstrip("/\\").replace("\\", "/"), safe="/?&=%:@!$'()*+,;~-._")
