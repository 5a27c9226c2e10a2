"""The gate in front of a WSGI site: Flask, Django, Pyramid, Bottle.

app.wsgi_app = FairlineMiddleware(app.wsgi_app, server="http://127.0.0.1:8080", queue="demo")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import quote

from fairline.gate.gate import COMPLETE_HEADER, Answer, Gate, Through
from fairline.gate.options import Options
from fairline.gate.request import HEADERS, Request

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
App: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]

_NAMES = [(f"HTTP_{name.upper().replace('-', '_')}", name) for name in sorted(HEADERS)]


class FairlineMiddleware:
    """Lets visitors with a valid session token through to `app`. The options are those of `fairline.gate.Options`."""

    def __init__(self, app: App, **options: Any) -> None:
        self.app = app
        self.gate = Gate(Options(**options))

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        outcome = self.gate.decide(_request(environ))
        if isinstance(outcome, Answer):
            return _answer(outcome, environ["REQUEST_METHOD"], start_response)
        environ["fairline"] = outcome.visit
        return self.app(environ, _completing(outcome, start_response))

    def close(self) -> None:
        """Send the remaining reports and end the threads. This also happens when the interpreter ends."""
        self.gate.close()


def _request(environ: Environ) -> Request:
    # WSGI decodes the bytes of the unquoted path as latin-1.
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
    return Request(
        method=environ["REQUEST_METHOD"],
        path=path.decode("utf-8", "replace"),
        raw_path=quote(path),
        query=environ.get("QUERY_STRING", ""),
        headers={name: environ[key] for key, name in _NAMES if key in environ},
        address=environ.get("REMOTE_ADDR") or "",
        secure=environ.get("wsgi.url_scheme") == "https",
    )


def _answer(answer: Answer, method: str, start_response: StartResponse) -> Iterable[bytes]:
    status = HTTPStatus(answer.status)
    headers = [*answer.headers, ("content-length", str(len(answer.body)))]
    start_response(f"{status.value} {status.phrase}", headers)
    return [] if method == "HEAD" else [answer.body]


def _completing(outcome: Through, start_response: StartResponse) -> StartResponse:
    """Remove the completion header from the site's answer, and complete the visit if it was set."""

    def completing(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        kept = []
        for name, value in headers:
            if name.lower() != COMPLETE_HEADER:
                kept.append((name, value))
            elif value.strip() == "1":
                outcome.visit.complete()
        return start_response(status, kept + outcome.headers, *more)

    return completing
