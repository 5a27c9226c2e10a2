"""Which client was let in with which session token, as far as this process knows.

The server can be asked again for anything that is missing here. So the sessions remembered here only save time, and let
visitors through during outages of the server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256

from fairline.gate.errors import SessionTokenRefused
from fairline.gate.server import Visitor
from fairline.gate.session_tokens import SessionToken

#: How many sessions a process remembers.
REMEMBERED = 50_000


class Session:
    """The stay of one visitor with one session token. Times are those of time.monotonic."""

    __slots__ = ("asked_at", "claims", "completed", "confirmed_at", "refused", "reported_at", "token", "visitor")

    def __init__(self, token: str, claims: SessionToken, visitor: Visitor) -> None:
        self.token = token
        self.claims = claims
        self.visitor = visitor
        self.refused: SessionTokenRefused | None = None
        self.completed = False
        self.asked_at: float | None = None
        """When the server was last asked whether this visitor may come in."""
        self.confirmed_at: float | None = None
        """When the server last said yes; None for someone who was let in while it was away."""
        self.reported_at = float("-inf")

    def confirm(self, now: float) -> None:
        """The server said yes."""
        self.asked_at = self.confirmed_at = now
        self.refused = None

    @property
    def good(self) -> bool:
        """Whether it is neither refused nor completed. Both count: a report under way may confirm a completed one."""
        return self.refused is None and not self.completed

    def refuse(self, error: SessionTokenRefused, now: float) -> None:
        """The server said no."""
        self.asked_at = now
        self.refused = error


class Sessions:
    """The sessions by session token and visitor. The least recently used are forgotten first."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._found: OrderedDict[bytes, Session] = OrderedDict()
        self._by_ticket: OrderedDict[tuple[int, int], Session] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, token: str, visitor: Visitor) -> Session | None:
        """The session of this visitor with this session token."""
        key = _key(token, visitor)
        with self._lock:
            session = self._found.get(key)
            if session is not None:
                self._found.move_to_end(key)
            return session

    def of_ticket(self, claims: SessionToken) -> Session | None:
        """The confirmed session of a ticket, for any visitor."""
        with self._lock:
            return self._by_ticket.get((claims.ticket, claims.joined))

    def keep(self, session: Session, *visitors: Visitor) -> None:
        """Remember a session under each of the identities with which the visitor may come back."""
        with self._lock:
            for visitor in visitors:
                self._found[_key(session.token, visitor)] = session
            if session.confirmed_at is not None:
                self._by_ticket[session.claims.ticket, session.claims.joined] = session
            while len(self._found) > self._limit:
                self._found.popitem(last=False)
            while len(self._by_ticket) > self._limit:
                self._by_ticket.popitem(last=False)


def _key(token: str, visitor: Visitor) -> bytes:
    return sha256(f"{token}\n{visitor.name}".encode("utf-8", "surrogateescape")).digest()
