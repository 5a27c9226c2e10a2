"""Talks to a running server for the commands: its admin API, with the key of this machine or a given one."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fairline.domain.address import web_address
from fairline.errors import Invalid, InvalidRequest, ServerRefused, ServerUnreachable
from fairline.process.running_server import found_in
from fairline.settings import ServerSettings, load

#: A template is tried before it is kept, which is what takes longest.
TIMEOUT_SECONDS = 30


class Api:
    """The admin API of one server."""

    def __init__(self, url: str | None, key: str | None, data: Path | None) -> None:
        settings = load(flags={"data": data})
        named = url or os.environ.get("FAIRLINE_URL")
        url = named or _near(settings)
        self.url = (url if "://" in url else f"http://{url}").rstrip("/")
        if web_address(self.url) is None:
            raise Invalid("server", f"must be an http:// or https:// address; got {named or self.url!r}")
        self._key = key or settings.admin_key or _kept_key(settings.data)
        if not self._key.isprintable():
            raise Invalid("key", "has a line break, or something else that no admin key has in it. Copy it again.")

    def get(self, path: str, **query: object) -> Any:
        """Read."""
        return self._call("GET", path, query=query)

    def text(self, path: str, **query: object) -> str:
        """Read what is not JSON."""
        return str(self._call("GET", path, query=query, as_text=True))

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        """Do something."""
        return self._call("POST", path, body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def patch(self, path: str, body: object) -> Any:
        """Change something."""
        return self._call("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Remove something."""
        self._call("DELETE", path)

    def ready(self) -> dict[str, Any]:
        """What the server says of its own health, good or bad; no key is needed for it."""
        status, text = self._send("GET", "/readyz", None, {})
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        return content if isinstance(content, dict) else _content(max(status, 400), text)

    def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
        as_text: bool = False,
    ) -> Any:
        given = "&".join(f"{name}={part(str(value))}" for name, value in (query or {}).items() if value is not None)
        address = f"/api/v1/admin{path}" + (f"?{given}" if given else "")
        # As bytes: a key that an operator has chosen may be in any script.
        sent = {"authorization": f"Bearer {self._key}".encode(), "content-type": b"application/json"}
        sent |= {name: value.encode() for name, value in (headers or {}).items()}
        status, text = self._send(method, address, json.dumps(body) if body is not None else None, sent)
        return text.decode(errors="replace") if as_text and status < 400 else _content(status, text)

    def _send(self, method: str, address: str, body: str | None, headers: dict[str, bytes]) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, parts.path + address, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # the last: no name of a host
            raise ServerUnreachable(
                f"No server answers at {self.url} ({error}). "
                "Start one with 'fairline serve', or name another with --server or FAIRLINE_URL."
            ) from None
        finally:
            connection.close()


def _near(settings: ServerSettings) -> str:
    """The address of the server on this machine: as variables say, or as the one with the data folder says, or as the
    settings do."""
    is_named = settings.port and any(os.environ.get(f"FAIRLINE_{name}") for name in ("HOST", "PORT"))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return (None if is_named else found_in(settings.data)) or f"http://{host}:{settings.port}"


def _content(status: int, text: bytes) -> Any:
    try:
        content = json.loads(text) if text else None
    except ValueError:
        content = None
    if status >= 400:
        detail = content.get("detail") if isinstance(content, dict) else None
        raise ServerRefused(detail or f"The server answered with {status}, and not as a Fairline would.")
    if text and not isinstance(content, dict):
        raise ServerRefused("What answers there does so, but not as a Fairline would. Name the server with --server.")
    return content


def _kept_key(data: Path) -> str:
    """The key that the server made at its first start, if it runs on this machine."""
    path = data / "admin-key"
    try:
        key = path.read_text(encoding="utf-8").strip()
    except OSError:
        raise ServerRefused(
            f"No admin key: there is none in {data}. Give one with --key or FAIRLINE_ADMIN_KEY, or name the server's "
            "data folder with --data."
        ) from None
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isprintable():
        raise ServerRefused(
            f"No admin key: {path} should have one line of text, and has something else. Put the file back as it was, "
            "or give a key with --key or FAIRLINE_ADMIN_KEY."
        )
    return key


def part(name: str) -> str:
    """A name as a part of a path or of a query."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:  # a terminal that is set to other letters, or a name cut in the middle of one
        raise InvalidRequest("", f"{name!r:.80} is not proper text in UTF-8. Type it again.") from None
