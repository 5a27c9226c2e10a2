"""The commands' client of a running server: its admin API, with a given admin key or the one of this machine."""

from __future__ import annotations

import http.client
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from fairline.domain.address import web_address
from fairline.errors import Invalid, InvalidRequest, ServerRefused, ServerUnreachable
from fairline.process.running_server import found_in
from fairline.settings import ServerSettings, load

#: Saving a page template takes longest, because the server tries it first.
TIMEOUT_SECONDS = 30


class Api:
    """The admin API of one server."""

    def __init__(self, url: str | None, key: str | None, data: Path | None) -> None:
        settings = load(flags={"data": data})
        named = url or os.environ.get("FAIRLINE_URL")
        url = named or _local_url(settings)
        self.url = (url if "://" in url else f"http://{url}").rstrip("/")
        if web_address(self.url) is None:
            raise Invalid("server", f"must be an http:// or https:// address; got {named or self.url!r}")
        self._given_key = key or settings.admin_key
        self._data = settings.data

    @cached_property
    def _key(self) -> str:
        key = self._given_key or _key_in_data_folder(self._data)
        if not key.isprintable():
            raise Invalid("key", "contains a line break or another character that no admin key has. Copy it again.")
        return key

    def public(self, path: str, token: str | None = None) -> Any:
        """Read JSON that needs no admin key; `token` is that of a ticket."""
        headers = {"authorization": f"Bearer {token}".encode()} if token else {}
        status, text = self._send("GET", f"/api/v1{path}", None, headers)
        return json.loads(text) if status < 400 and text.startswith(b"[") else _content(status, text)

    def get(self, path: str, **query: object) -> Any:
        """Read JSON."""
        return self._call("GET", path, query=query)

    def text(self, path: str, **query: object) -> str:
        """Read text."""
        return str(self._call("GET", path, query=query, as_text=True))

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        """Perform an action."""
        return self._call("POST", path, body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def patch(self, path: str, body: object) -> Any:
        """Change a resource."""
        return self._call("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Remove a resource."""
        self._call("DELETE", path)

    def ready(self) -> dict[str, Any]:
        """The server's report on its own health, good or bad. It needs no key."""
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
        # As bytes, because a key chosen by an operator may be in any script.
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
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: an invalid host name
            raise ServerUnreachable(
                f"No server answers at {self.url} ({error}). "
                "Start one with 'fairline serve', or name another with --server or FAIRLINE_URL."
            ) from None
        finally:
            connection.close()


def _local_url(settings: ServerSettings) -> str:
    """The URL of the server on this machine: from environment variables, or else the one that a running server has
    published in the data folder, or else from the settings."""
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
        raise ServerRefused(detail or f"The server answered with status {status}, and not as a Fairline would.")
    if text and not isinstance(content, dict):
        raise ServerRefused("A program answers there, but not as a Fairline would. Name the server with --server.")
    return content


def _key_in_data_folder(data: Path) -> str:
    """The key that a server on this machine created at its first start."""
    path = data / "admin-key"
    try:
        key = path.read_text(encoding="utf-8").strip()
    except OSError:
        raise ServerRefused(
            f"No admin key: {data} contains none. Give one with --key or FAIRLINE_ADMIN_KEY, or name the server's "
            "data folder with --data."
        ) from None
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isprintable():
        raise ServerRefused(
            f"No admin key: {path} must contain exactly one line of text. Restore the file, or give a key with --key "
            "or FAIRLINE_ADMIN_KEY."
        )
    return key


def part(name: str) -> str:
    """Quote a name for a path or a query."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:  # the terminal has another encoding, or a character was cut in the middle
        raise InvalidRequest("", f"{name!r:.80} is not valid UTF-8 text. Type it again.") from None
