"""The calls of the gate to the Fairline server, and whether it can be reached.

They use http.client: it is in the standard library, follows no redirects and ignores the proxy environment variables.
"""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from fairline.gate.errors import Refusal, ServerAway, SessionTokenRefused

log = logging.getLogger("fairline.gate")

CLIENT_COOKIE = "fairline_client"
#: After a failed call no request waits for the server for this long.
AWAY_SECONDS = 1.0
#: A connection that was idle for longer is not used again: the server may be closing it.
IDLE_SECONDS = 3.0
#: How many idle connections are kept for the next calls.
MOST_IDLE = 8
#: The largest answer that is read, in bytes; far more than any expected one.
LARGEST = 65_536
#: A User-Agent is cut to this length, so that a visitor cannot make a call too large for the server.
LONGEST_AGENT = 512
#: How long the state of a queue is good for.
FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor, identified by the signed cookie of the server, or else by IP address and User-Agent."""

    client: str
    address: str
    agent: str

    @property
    def name(self) -> str:
        """The identity that tells one visitor from another."""
        return self.client or f"{self.address} {self.agent}"


class FairlineServer:
    """Makes the calls to the server. Safe to use from any thread."""

    def __init__(self, url: str, time_limit: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._prefix = parts.path.rstrip("/")
        self._time_limit = time_limit
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        self._away_until = float("-inf")

    @property
    def away(self) -> bool:
        """Whether a call failed a moment ago, so that the next one would likely fail too."""
        return time.monotonic() < self._away_until

    def keys(self) -> dict[str, Any]:
        """The public keys of the server, as a JSON Web Key Set."""
        return self._expected(*self._call("GET", "/.well-known/jwks.json", {}))

    def state(self, queue: str) -> dict[str, Any]:
        """The public state of a queue."""
        return self._expected(*self._call("GET", f"/api/v1/queues/{quote(queue, safe='')}", {}))

    def start(self, token: str, visitor: Visitor, key: str) -> tuple[str, Visitor]:
        """Start the session of this visitor, or confirm that they started it. Returns the session token of this visitor
        alone, and the visitor with the server's cookie. Visitors without the cookie are the same if `key` is."""
        response, body = self._session("start", token, visitor, {"Idempotency-Key": key})
        self._check(response, body)
        own_token = _json(body).get("session_token")
        named = replace(visitor, client=_client(response) or visitor.client)
        return own_token if isinstance(own_token, str) else token, named

    def activity(self, token: str, visitor: Visitor) -> None:
        """Keep the session alive."""
        self._check(*self._session("activity", token, visitor))

    def complete(self, token: str, visitor: Visitor) -> None:
        """Complete the session, so that its capacity is free at once. It may have ended already."""
        response, body = self._session("complete", token, visitor)
        if response.status not in {409, 410}:
            self._check(response, body)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop()[0].close()

    def _session(
        self, what: str, token: str, visitor: Visitor, more: dict[str, str] | None = None
    ) -> tuple[HTTPResponse, bytes]:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": visitor.agent[:LONGEST_AGENT], **(more or {})}
        if visitor.client:
            headers["Cookie"] = f"{CLIENT_COOKIE}={visitor.client}"
        if _is_address(visitor.address):
            headers["X-Forwarded-For"] = visitor.address
        return self._call("POST", f"/api/v1/session/{what}", headers)

    def _check(self, response: HTTPResponse, body: bytes) -> None:
        """Return if the server said yes; raise SessionTokenRefused or ServerAway otherwise."""
        if response.status == 200:
            return
        code = _json(body).get("code", "")
        if code == "session_taken":
            raise SessionTokenRefused(Refusal.TAKEN, "This session token is in use by another browser.")
        if response.status == 401 and code:
            raise SessionTokenRefused(Refusal.INVALID, f"The server refuses this session token: {code}.")
        if response.status in {409, 410} and code:
            raise SessionTokenRefused(Refusal.ENDED, "This session has ended. Join the line again.")
        what = f"it answered {response.status} {code}"
        # Any other answer may be caused by what this visitor sent, so it does not mean that the server is away.
        raise self._failed(what) if response.status >= 500 else ServerAway(what)

    def _expected(self, response: HTTPResponse, body: bytes) -> dict[str, Any]:
        """The JSON of an answer; ServerAway if it is not a good one."""
        found = _json(body)
        if response.status != 200 or not found:
            raise self._failed(f"it answered {response.status} {found.get('code', '')}; are address and queue right?")
        return found

    def _call(self, method: str, path: str, headers: dict[str, str]) -> tuple[HTTPResponse, bytes]:
        if self.away:
            raise ServerAway("The Fairline server did not answer a moment ago.")
        try:
            try:
                return self._sent(self._connection(), method, path, headers)
            except (ConnectionError, HTTPException):
                # The server may have closed an idle connection. All calls of the gate may safely be made twice.
                return self._sent(self._new_connection(), method, path, headers)
        except (OSError, HTTPException) as error:
            raise self._failed(str(error) or type(error).__name__) from error

    def _sent(
        self, connection: HTTPConnection, method: str, path: str, headers: dict[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        try:
            connection.request(method, self._prefix + path, headers=headers)
            response = connection.getresponse()
            body = response.read(LARGEST + 1)
            if len(body) > LARGEST:
                raise HTTPException("the answer is too long")
        except BaseException:
            connection.close()
            raise
        self._idle.append((connection, time.monotonic()))
        if len(self._idle) > MOST_IDLE:
            self._idle.popleft()[0].close()
        return response, body

    def _connection(self) -> HTTPConnection:
        """The idle connection that was used last, or a new one."""
        while self._idle:
            try:
                connection, used_at = self._idle.pop()
            except IndexError:
                # Another thread was faster.
                break
            if time.monotonic() - used_at < IDLE_SECONDS:
                return connection
            connection.close()
        return self._new_connection()

    def _new_connection(self) -> HTTPConnection:
        if self._tls is not None:
            return HTTPSConnection(self._host, self._port, timeout=self._time_limit, context=self._tls)
        return HTTPConnection(self._host, self._port, timeout=self._time_limit)

    def _failed(self, why: str) -> ServerAway:
        if not self.away:
            log.warning("The Fairline server at %s cannot be asked: %s", self._host, why)
        self._away_until = time.monotonic() + AWAY_SECONDS
        return ServerAway(f"The Fairline server cannot be asked: {why}")


class QueueState:
    """The public state of a queue, read at most once a second, however many visitors are turned away."""

    def __init__(self, server: FairlineServer, queue: str) -> None:
        self._server = server
        self._queue = queue
        self._found: dict[str, Any] | None = None
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    @property
    def fresh(self) -> dict[str, Any] | None:
        """The last state, while it is fresh."""
        return self._found if time.monotonic() - self._read_at < FRESH_SECONDS else None

    def read(self) -> dict[str, Any]:
        """The state, or ServerAway. While one thread asks the server, the others receive the last state."""
        last = self._found
        if not self._lock.acquire(blocking=last is None):
            return last or {}
        try:
            found = self.fresh
            if found is None:
                found = self._found = self._server.state(self._queue)
                self._read_at = time.monotonic()
            return found
        finally:
            self._lock.release()


def _client(response: HTTPResponse) -> str:
    """The value of the cookie that names the client."""
    for header in response.headers.get_all("Set-Cookie", ()):
        try:
            found = SimpleCookie(header).get(CLIENT_COOKIE)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return ""


def _json(body: bytes) -> dict[str, Any]:
    """The JSON object of an answer, or an empty one."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
