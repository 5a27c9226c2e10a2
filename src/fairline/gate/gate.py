"""The decision about a request, the same for ASGI and WSGI: let in, send to the waiting page, or answer "not now"."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from secrets import token_hex
from typing import Any, TypeAlias
from urllib.parse import quote

from fairline.gate.errors import Refusal, ServerAway, SessionTokenRefused
from fairline.gate.keys import PublicKeys
from fairline.gate.options import Options
from fairline.gate.reports import Reporter
from fairline.gate.request import SESSION_COOKIE, Bypass, Request, is_token
from fairline.gate.server import AWAY_SECONDS, CLIENT_COOKIE, FairlineServer, QueueState, Visitor
from fairline.gate.session_tokens import Checker
from fairline.gate.sessions import Session, Sessions

log = logging.getLogger("fairline.gate")

#: A response header of the site: the visitor has done what they came for.
COMPLETE_HEADER = "x-fairline-complete"
#: How many threads may wait for the Fairline server in place of an event loop.
THREADS = 8
#: The longest Retry-After for a program without a session token, in seconds.
LONGEST_RETRY = 60

Header: TypeAlias = tuple[str, str]


class Visit:
    """What the site learns about its visitor, as `scope["fairline"]` or `environ["fairline"]`."""

    def __init__(self, gate: Gate, session: Session | None = None) -> None:
        self._gate = gate
        self.session = session

    @property
    def queue(self) -> str:
        """The queue that guards the site."""
        return self._gate.options.queue

    @property
    def ticket(self) -> int | None:
        """The number of the visitor's ticket; None for a visitor who came in without a session token."""
        return self.session.claims.ticket if self.session else None

    @property
    def label(self) -> str | None:
        """The ticket's number as it is shown to people."""
        return self.session.claims.label if self.session else None

    def complete(self) -> None:
        """The visitor is done: their capacity is free at once, and their session token lets nobody in any more."""
        if self.session:
            self._gate.complete(self.session)


@dataclass(slots=True)
class Through:
    """The request goes on to the site; these headers are added to its answer."""

    visit: Visit
    headers: list[Header] = field(default_factory=list)


@dataclass(slots=True)
class Answer:
    """The gate answers itself."""

    status: int
    headers: list[Header]
    body: bytes = b""


Outcome: TypeAlias = Through | Answer


class Gate:
    """One site's gate in one process."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.reporter = Reporter(options.report_limit)
        self._server = FairlineServer(options.server, options.time_limit_seconds)
        self._keys = PublicKeys(self._server.keys, partial(self.reporter.run, "keys"), options.keys_seconds)
        self._checker = Checker(options.queue, self._keys.find, issuer=options.issuer, leeway=options.leeway_seconds)
        self._state = QueueState(self._server, options.queue)
        self._sessions = Sessions()
        self._bypass = Bypass(options)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_lock = threading.Lock()
        public = (options.public_url or options.server).rstrip("/")
        self.waiting_page = f"{public}/q/{quote(options.queue, safe='')}"

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Threads that wait for the Fairline server in place of an event loop. Created when first needed, so after
        forks."""
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="fairline-gate")
            return self._pool

    def close(self) -> None:
        """Send the remaining reports, for at most two seconds, and end the threads."""
        self.reporter.close()
        with self._pool_lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
        self._server.close()

    # The decision

    def at_once(self, request: Request) -> Outcome | None:
        """The outcome if the server need not be asked, which is nearly always; else None."""
        if self._bypass.lets(request):
            return Through(Visit(self))
        if request.arrived_with is not None:
            return None
        if request.token is None:
            if state := self._state.fresh:
                return self._send_to_waiting_page(request, _missing(), state)
            return self._without_server(request) if self._server.away else None
        session = self._sessions.find(request.token, request.visitor)
        if session is None or not self._is_confirmed(session):
            return None
        return self._let_through(session)

    def ask(self, request: Request) -> Outcome:
        """The outcome after asking the server. It may take as long as the time limit."""
        arrived = request.arrived_with
        if arrived is not None and not request.websocket:
            return self._arrival(request, arrived)
        try:
            session, client = self._let_in(request, arrived or request.token)
        except SessionTokenRefused as refused:
            return self._turn_away(request, refused)
        except ServerAway:
            return self._without_server(request)
        outcome = self._let_through(session)
        outcome.headers += client
        return outcome

    def decide(self, request: Request) -> Outcome:
        """The outcome, for a caller that may wait for the server."""
        return self.at_once(request) or self.ask(request)

    def _arrival(self, request: Request, token: str) -> Outcome:
        """A visitor comes with the session token in the address: put it into a cookie, and redirect to the address
        without it."""
        cookies: list[Header] = []
        try:
            session, cookies = self._let_in(request, token, token_hex(16))
            cookies.append(self._cookie(request, SESSION_COOKIE, session.token, session.claims.expires - time.time()))
        except SessionTokenRefused as refused:
            if request.token is None:
                return self._turn_away(request, refused)
            # The session token in their cookie may be valid: the redirected request will show.
        except ServerAway:
            if self.options.on_error == "closed":
                return self._without_server(request)
            # Kept until the server is back. It is checked at every use, so this lets nobody in.
            if is_token(token):
                cookies = [self._cookie(request, SESSION_COOKIE, token, None)]
        answer = _redirect(request.address_without_token, 302 if request.method in {"GET", "HEAD"} else 307)
        answer.headers += cookies
        return answer

    def _let_in(self, request: Request, token: str | None, arrival: str = "") -> tuple[Session, list[Header]]:
        """The session of this visitor and the cookie that names them. Raises SessionTokenRefused or ServerAway.
        `arrival` is a random key for a visitor who comes by a link: a link lets in one visitor, even if others with the
        same link have the same address and browser."""
        if not token:
            raise _missing()
        claims = self._checker.check(token, time.time())
        visitor = request.visitor
        session = None if arrival and not visitor.client else self._sessions.find(token, visitor)
        if session is None:
            session = Session(token, claims, visitor)
        elif not session.good and not self._may_ask_server_again(session):
            raise session.refused or _completed()
        elif self._is_confirmed(session):
            return session, []
        try:
            named = self._start(session, arrival)
        except ServerAway:
            if session.refused:
                raise session.refused from None
            # The gate cannot check the server's cookie, but the server's last answer about this ticket still holds.
            other = self._sessions.of_ticket(claims)
            if other is not None and other is not session:
                raise other.refused or _taken() from None
            # A visitor with the server's cookie was let in before, perhaps by another process of the site.
            client = visitor.client or claims.client
            if not client and session.confirmed_at is None and self.options.on_error == "closed":
                raise
            self._sessions.keep(session, visitor)
            return session, []
        finally:
            if session.refused:
                self._sessions.keep(session, visitor)
        self._sessions.keep(session, visitor, named)
        if named == visitor:
            return session, []
        return session, [self._cookie(request, CLIENT_COOKIE, named.client, claims.expires - time.time())]

    def _start(self, session: Session, arrival: str = "") -> Visitor:
        """Ask the server to start the session, or to confirm that this visitor started it."""
        visitor = session.visitor
        # A visitor without the server's cookie has the same key in every process of the site.
        key = arrival or sha256(visitor.name.encode("utf-8", "surrogateescape")).hexdigest()
        try:
            own_token, session.visitor = self._server.start(session.token, visitor, key)
        except SessionTokenRefused as refused:
            session.refuse(refused, time.monotonic())
            raise
        if arrival:
            session.token = own_token
        session.confirm(time.monotonic())
        session.reported_at = time.monotonic()
        return session.visitor

    def _is_confirmed(self, session: Session) -> bool:
        """Whether the session is good as far as this process knows, and need not be confirmed first."""
        limit = self.options.confirm_seconds
        since = session.confirmed_at
        if limit is not None and not self._server.away and (since is None or time.monotonic() - since > limit):
            return False
        self._keys.renew()
        return (
            session.good and session.claims.key in self._keys and not self._checker.expired(session.claims, time.time())
        )

    def _may_ask_server_again(self, session: Session) -> bool:
        """A refused ticket may go back to the line and be let in again, but not every request may ask the server."""
        if session.completed or session.asked_at is None:
            return False
        return time.monotonic() - session.asked_at > self.options.report_seconds

    # After the decision

    def _let_through(self, session: Session) -> Through:
        self.seen(session)
        return Through(Visit(self, session))

    def seen(self, session: Session) -> None:
        """Report activity in the background, at most once per `report_seconds`."""
        now = time.monotonic()
        if session.good and now - session.reported_at > self.options.report_seconds:
            session.reported_at = now
            self.reporter.run(("activity", session.token, session.visitor), partial(self._report, session))

    def complete(self, session: Session) -> None:
        """Complete the session: its session token lets nobody in from now on, and the server frees the capacity as
        soon as it receives the report."""
        if not session.completed:
            session.completed = True
            session.refuse(_completed(), time.monotonic())
            send = partial(self._server.complete, session.token, session.visitor)
            self.reporter.run(("complete", session.token), send, lasting=True)

    def _report(self, session: Session) -> None:
        """Report activity to the server, and learn whether the session token is still valid."""
        if session.completed:
            return
        try:
            if session.confirmed_at is None:
                self._start(session)
            else:
                self._server.activity(session.token, session.visitor)
                session.confirm(time.monotonic())
        except SessionTokenRefused as refused:
            log.info("Ticket %s is turned away from now on: %s", session.claims.label, refused)
            session.refuse(refused, time.monotonic())

    def _turn_away(self, request: Request, refused: SessionTokenRefused) -> Outcome:
        """Answer a visitor without a valid session token."""
        try:
            return self._send_to_waiting_page(request, refused, self._state.read())
        except ServerAway:
            return self._without_server(request)

    def _send_to_waiting_page(self, request: Request, refused: SessionTokenRefused, state: dict[str, Any]) -> Answer:
        """Redirect a browser to the waiting page; a program receives the state of the queue."""
        page = f"{self.waiting_page}?return={quote(request.address_without_token, safe='')}"
        if refused.reason is Refusal.TAKEN and request.arrived_with is not None:
            page += "&taken=1"  # the page then says that the link has been used
        if request.wants_page:
            return _redirect(page)
        wait = state.get("estimated_wait_seconds")
        retry = min(max(1, math.ceil(wait)), LONGEST_RETRY) if isinstance(wait, int | float) else LONGEST_RETRY
        return _as_json({**state, "reason": refused.reason, "waiting_page": page}, retry)

    def _without_server(self, request: Request) -> Outcome:
        """The server is needed and cannot be asked: do what the site chose with `on_error`."""
        if self.options.on_error == "open":
            return Through(Visit(self))
        retry = math.ceil(AWAY_SECONDS) + 1
        if not request.wants_page:
            return _as_json({"reason": "server_away", "detail": "The waiting line cannot be reached."}, retry)
        body = b"<!doctype html><title>One moment</title><p>We cannot let you in just now. Please try again.</p>"
        return Answer(503, [("content-type", "text/html; charset=utf-8"), *_not_now(retry)], body)

    def _cookie(self, request: Request, name: str, value: str, seconds: float | None) -> Header:
        secure = request.secure if self.options.secure is None else self.options.secure
        lasts = "" if seconds is None else f"; Max-Age={max(0, int(seconds))}"
        return "set-cookie", f"{name}={value}; Path=/; HttpOnly; SameSite=Lax{lasts}{'; Secure' if secure else ''}"


def _missing() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.MISSING, "A session token is needed.")


def _taken() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.TAKEN, "The session token is in use by another client.")


def _completed() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.ENDED, "The visit is completed. Join the line again.")


def _redirect(address: str, status: int = 302) -> Answer:
    # WSGI requires a content type.
    return Answer(status, [("location", address), ("content-type", "text/plain"), ("cache-control", "no-store")])


def _as_json(content: dict[str, Any], retry: int) -> Answer:
    return Answer(503, [("content-type", "application/json"), *_not_now(retry)], json.dumps(content).encode())


def _not_now(retry: int) -> list[Header]:
    return [("retry-after", str(retry)), ("cache-control", "no-store")]
