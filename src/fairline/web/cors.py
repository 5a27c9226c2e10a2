"""Which other origins may call us from a browser, the same on both lanes."""

from __future__ import annotations

from collections.abc import Sequence

from fairline.web.http import Headers, Request, Response

_ALLOWED = (
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, idempotency-key, if-match, last-event-id"),
    (b"access-control-max-age", b"600"),
)
_EXPOSED = (b"access-control-expose-headers", b"x-request-id, retry-after, x-fairline-redirect")


class Cors:
    """`origins` as in the settings: full origins, or `*` for any (which then may not send cookies)."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = {origin.encode() for origin in origins}

    def headers(self, request: Request) -> Headers:
        """What an answer to another origin must say to be read there."""
        if not self._origins:
            return ()
        origin = request.header(b"origin")
        if origin is not None and origin in self._origins:
            named = (b"access-control-allow-origin", origin)
            return (named, (b"access-control-allow-credentials", b"true"), (b"vary", b"Origin"), _EXPOSED)
        if origin is not None and b"*" in self._origins:
            return ((b"access-control-allow-origin", b"*"), _EXPOSED)
        return ()

    def preflight(self, request: Request) -> Response:
        """What a browser asks before a call."""
        headers = self.headers(request)
        return Response(204, headers=headers + _ALLOWED if headers else ())
