"""Which other origins may call us from a browser, the same on both lanes."""

from __future__ import annotations

from collections.abc import Sequence

from fairline.web.server.http import Headers, Request, Response

_ASKED = (
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, idempotency-key, if-match, last-event-id"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED = (b"access-control-expose-headers", b"x-request-id, retry-after, x-fairline-redirect")
_ANY = ((b"access-control-allow-origin", b"*"), _EXPOSED)
_VARY = (b"vary", b"Origin")


class Cors:
    """`origins` as in the settings: full origins, or `*` for any (which then may not send cookies).

    A cache keeps what it was given for the next who asks. So an answer says that it is another for other origins, also
    to those it allows nothing; and where it is the same for all, it allows it to all, also to who names no origin."""

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
        """What an answer must say to be read by pages of other origins."""
        return self._named.get(request.header(b"origin"), self._others) if self._named else self._others

    def preflight(self, request: Request) -> Response:
        """What a browser asks before a call."""
        allowed = self._allows_others or request.header(b"origin") in self._named
        return Response(204, headers=self.headers(request) + (_ASKED if allowed else ()))
