"""Which client was let in with which pass, as far as this process knows.

What is forgotten is asked of the server again, so that nothing depends on what is remembered here but speed and the
outages of the server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256

from fairline.gate.errors import SessionTokenRefused
from fairline.gate.server import Visitor
from fairline.gate.session_tokens import SessionToken

#: Sessions remembered in a process.
REMEMBERED = 50_000


class Session:
    """A stay inside, by one visitor with one pass. Times are those of time.monotonic."""

    __slots__ = ("asked_at", "claims", "completed", "confirmed_at", "refused", "reported_at", "token", "visitor")

    def __init__(self, token: str, claims: SessionToken, visitor: Visitor) -> None:
        self.token = token
        self.claims = claims
        self.visitor = visitor
        self.refused: SessionTokenRefused | None = None
        self.completed = False
        self.asked_at: float | None = None
        """When the server was asked whether this visitor may come in."""
        self.confirmed_at: float | None = None
        """When the server last said yes; never for someone who was let in while it was away."""
        self.reported_at = float("-inf")

    def confirm(self, now: float) -> None:
        """The server said yes."""
        self.asked_at = self.confirmed_at = now
        self.refused = None

    @property
    def good(self) -> bool:
        """Whether nobody has said no. A report that was under way may say yes to one that is completed."""
        return self.refused is None and not self.completed

    def refuse(self, error: SessionTokenRefused, now: float) -> None:
        """The server said no."""
        self.asked_at = now
        self.refused = error


class Sessions:
    """The sessions by pass and visitor; the longest unused are forgotten first."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._found: OrderedDict[bytes, Session] = OrderedDict()
        self._by_ticket: OrderedDict[tuple[int, int], Session] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, token: str, visitor: Visitor) -> Session | None:
        """The session this visitor has with this pass."""
        key = _key(token, visitor)
        with self._lock:
            session = self._found.get(key)
            if session is not None:
                self._found.move_to_end(key)
            return session

    def of_ticket(self, claims: SessionToken) -> Session | None:
        """What the server has said of a ticket, whoever brought its pass."""
        with self._lock:
            return self._by_ticket.get((claims.ticket, claims.joined))

    def keep(self, session: Session, *visitors: Visitor) -> None:
        """Remember it, under each of the ways in which the visitor may come again."""
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
