"""CORS: which other origins may call this server from a browser, on the fast path and on ASGI alike."""

from __future__ import annotations

from collections.abc import Sequence

from fairline.web.server.http import Headers, Request, Response

_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, idempotency-key, if-match, last-event-id"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED = (b"access-control-expose-headers", b"x-request-id, retry-after, x-fairline-redirect")
_ANY = ((b"access-control-allow-origin", b"*"), _EXPOSED)
_VARY = (b"vary", b"Origin")


class Cors:
    """The CORS headers of answers. `origins` are full origins, or `*` for any (which then may not send cookies).

    A cache gives a stored answer to the next client. So where answers differ by origin, every answer carries `Vary:
    Origin`, also for an origin that may do nothing; and where they are the same for all, every answer allows all
    origins, also for a request without an Origin."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._named: dict[bytes | None, Headers] = {
            origin.encode(): (
                (b"access-control-allow-origin", origin.encode()),
                (b"access-control-allow-credentials", b"true"),
                _EXPOSED,
                _VARY,
            )
            for origin in origins
            if origin != "*"
        }
        self._allows_others = "*" in origins
        self._others = (_ANY if self._allows_others else ()) + ((_VARY,) if self._named else ())

    def headers(self, request: Request) -> Headers:
        """The headers with which pages of other origins may read an answer."""
        return self._named.get(request.header(b"origin"), self._others) if self._named else self._others

    def preflight(self, request: Request) -> Response:
        """The answer to the OPTIONS request that a browser sends before a call."""
        allowed = self._allows_others or request.header(b"origin") in self._named
        return Response(204, headers=self.headers(request) + (_PREFLIGHT if allowed else ()))
