"""The decision: through, to the waiting page, or not now. The same for ASGI and WSGI."""

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
#: Threads that may wait for the Fairline server at once, where the site itself must not.
THREADS = 8
#: The longest that someone without a pass is told to stay away.
LONGEST_RETRY = 60

Header: TypeAlias = tuple[str, str]


class Visit:
    """What the site is told of its visitor, as `scope["fairline"]` or `environ["fairline"]`."""

    def __init__(self, gate: Gate, session: Session | None = None) -> None:
        self._gate = gate
        self.session = session

    @property
    def queue(self) -> str:
        """The queue that guards the site."""
        return self._gate.options.queue

    @property
    def ticket(self) -> int | None:
        """The number of the visitor's ticket; None for whoever came in without a pass."""
        return self.session.claims.ticket if self.session else None

    @property
    def label(self) -> str | None:
        """The number as a counter prints it."""
        return self.session.claims.label if self.session else None

    def complete(self) -> None:
        """The visitor has done what they came for: their room is free at once, and the pass has done its work."""
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
        """Threads that wait for the Fairline server in place of an event loop; begun when first needed, after forks."""
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="fairline-gate")
            return self._pool

    def close(self) -> None:
        """End the threads; what is left to report is reported, for two seconds at most."""
        self.reporter.close()
        with self._pool_lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
        self._server.close()

    # The decision

    def at_once(self, request: Request) -> Outcome | None:
        """The outcome, where the server need not be asked for it; that is nearly always."""
        if self._bypass.lets(request):
            return Through(Visit(self))
        if request.arrived_with is not None:
            return None
        if request.token is None:
            if state := self._state.fresh:
                return self._shown_the_line(request, _missing(), state)
            return self._in_doubt(request) if self._server.away else None
        session = self._sessions.find(request.token, request.visitor)
        if session is None or not self._stands(session):
            return None
        return self._through(session)

    def ask(self, request: Request) -> Outcome:
        """The outcome, after asking the server for what is not known. It may take as long as the time limit."""
        arrived = request.arrived_with
        if arrived is not None and not request.websocket:
            return self._arrival(request, arrived)
        try:
            session, client = self._let_in(request, arrived or request.token)
        except SessionTokenRefused as refused:
            return self._turned_away(request, refused)
        except ServerAway:
            return self._in_doubt(request)
        outcome = self._through(session)
        outcome.headers += client
        return outcome

    def decide(self, request: Request) -> Outcome:
        """The outcome, for whoever may wait."""
        return self.at_once(request) or self.ask(request)

    def _arrival(self, request: Request, token: str) -> Outcome:
        """Someone comes with the pass in the address: it goes into a cookie, and they to the address without it."""
        cookies: list[Header] = []
        try:
            session, cookies = self._let_in(request, token, token_hex(16))
            cookies.append(self._cookie(request, SESSION_COOKIE, session.token, session.claims.expires - time.time()))
        except SessionTokenRefused as refused:
            if request.token is None:
                return self._turned_away(request, refused)
            # The pass they hold already may be a good one; the next request tells.
        except ServerAway:
            if self.options.on_error == "closed":
                return self._in_doubt(request)
            # Kept for when the server is back. It is checked whenever it is used, so nothing is given away.
            if is_token(token):
                cookies = [self._cookie(request, SESSION_COOKIE, token, None)]
        answer = _redirect(request.address_without_token, 302 if request.method in {"GET", "HEAD"} else 307)
        answer.headers += cookies
        return answer

    def _let_in(self, request: Request, token: str | None, arrival: str = "") -> tuple[Session, list[Header]]:
        """The session of this visitor and the cookie that names them, or SessionTokenRefused, or ServerAway. `arrival` is the
        key of one that comes by a link, which lets one in, however alike those are who have it."""
        if not token:
            raise _missing()
        says = self._checker.check(token, time.time())
        visitor = request.visitor
        session = None if arrival and not visitor.client else self._sessions.find(token, visitor)
        if session is None:
            session = Session(token, says, visitor)
        elif not session.good and not self._may_ask_again(session):
            raise session.refused or _completed()
        elif self._stands(session):
            return session, []
        try:
            known = self._begin(session, arrival)
        except ServerAway:
            if session.refused:
                raise session.refused from None
            # A cookie cannot be checked here; but what the server has said of this pass still holds.
            other = self._sessions.of_ticket(says)
            if other is not None and other is not session:
                raise other.refused or _taken() from None
            # Whoever brings the server's cookie was let in before, by another process of the site perhaps.
            named = visitor.client or says.client
            if not named and session.confirmed_at is None and self.options.on_error == "closed":
                raise
            self._sessions.keep(session, visitor)
            return session, []
        finally:
            if session.refused:
                self._sessions.keep(session, visitor)
        self._sessions.keep(session, visitor, known)
        if known == visitor:
            return session, []
        return session, [self._cookie(request, CLIENT_COOKIE, known.client, says.expires - time.time())]

    def _begin(self, session: Session, arrival: str = "") -> Visitor:
        """Ask the server to begin the session, or whether this visitor did."""
        visitor = session.visitor
        # Who holds a pass that no client has been handed is known by the browser, in every process of the site.
        key = arrival or sha256(visitor.name.encode("utf-8", "surrogateescape")).hexdigest()
        try:
            theirs, session.visitor = self._server.start(session.token, visitor, key)
        except SessionTokenRefused as refused:
            session.refuse(refused, time.monotonic())
            raise
        if arrival:
            session.token = theirs
        session.confirm(time.monotonic())
        session.reported_at = time.monotonic()
        return session.visitor

    def _stands(self, session: Session) -> bool:
        """Whether the session is good as far as we know, and need not be confirmed first."""
        limit = self.options.confirm_seconds
        since = session.confirmed_at
        if limit is not None and not self._server.away and (since is None or time.monotonic() - since > limit):
            return False
        self._keys.renew()
        return (
            session.good and session.claims.key in self._keys and not self._checker.lapsed(session.claims, time.time())
        )

    def _may_ask_again(self, session: Session) -> bool:
        """A ticket may go back to the line and be let in once more; but not every request is to ask."""
        if session.completed or session.asked_at is None:
            return False
        return time.monotonic() - session.asked_at > self.options.report_seconds

    # What follows

    def _through(self, session: Session) -> Through:
        self.seen(session)
        return Through(Visit(self, session))

    def seen(self, session: Session) -> None:
        """There is activity: reported in the background, and not every time."""
        now = time.monotonic()
        if session.good and now - session.reported_at > self.options.report_seconds:
            session.reported_at = now
            self.reporter.run(("activity", session.token, session.visitor), partial(self._report, session))

    def complete(self, session: Session) -> None:
        """Done: the room is free as soon as the server is told, and the pass lets nobody in from now on."""
        if not session.completed:
            session.completed = True
            session.refuse(_completed(), time.monotonic())
            tell = partial(self._server.complete, session.token, session.visitor)
            self.reporter.run(("complete", session.token), tell, lasting=True)

    def _report(self, session: Session) -> None:
        """Tell the server of activity, and hear whether the pass is still good."""
        if session.completed:
            return
        try:
            if session.confirmed_at is None:
                self._begin(session)
            else:
                self._server.activity(session.token, session.visitor)
                session.confirm(time.monotonic())
        except SessionTokenRefused as refused:
            log.info("Ticket %s is turned away from now on: %s", session.claims.label, refused)
            session.refuse(refused, time.monotonic())

    def _turned_away(self, request: Request, refused: SessionTokenRefused) -> Outcome:
        """No pass, or not a good one."""
        try:
            return self._shown_the_line(request, refused, self._state.read())
        except ServerAway:
            return self._in_doubt(request)

    def _shown_the_line(self, request: Request, refused: SessionTokenRefused, state: dict[str, Any]) -> Answer:
        """To the waiting page; programs are told the state of the queue."""
        page = f"{self.waiting_page}?return={quote(request.address_without_token, safe='')}"
        if refused.reason is Refusal.TAKEN and request.arrived_with is not None:
            page += "&taken=1"  # it says that the link has been used
        if request.wants_page:
            return _redirect(page)
        wait = state.get("estimated_wait_seconds")
        retry = min(max(1, math.ceil(wait)), LONGEST_RETRY) if isinstance(wait, int | float) else LONGEST_RETRY
        return _as_json({**state, "reason": refused.reason, "waiting_page": page}, retry)

    def _in_doubt(self, request: Request) -> Outcome:
        """The server is needed and cannot be asked: as the site has chosen."""
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
    return SessionTokenRefused(Refusal.MISSING, "A pass is needed.")


def _taken() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.TAKEN, "The pass is used by another client.")


def _completed() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.ENDED, "The visit is completed. Join the line again.")


def _redirect(address: str, status: int = 302) -> Answer:
    # Without a type, the answer is not proper WSGI.
    return Answer(status, [("location", address), ("content-type", "text/plain"), ("cache-control", "no-store")])


def _as_json(content: dict[str, Any], retry: int) -> Answer:
    return Answer(503, [("content-type", "application/json"), *_not_now(retry)], json.dumps(content).encode())


def _not_now(retry: int) -> list[Header]:
    return [("retry-after", str(retry)), ("cache-control", "no-store")]
