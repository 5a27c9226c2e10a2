"""For the protected site: start, activity, complete, verify; and the queue as everyone may see it."""

from __future__ import annotations

from urllib.parse import quote

from fairline.errors import FairlineError, StoreError, TokenError, TokenInvalid
from fairline.queue import QueueId
from fairline.room import Answer
from fairline.ticket import Status
from fairline.token import SessionClaims
from fairline.web.context import CLIENT_COOKIE, Context, same_ticket
from fairline.web.http import Headers, Outcome, Pending, Request, Response, private
from fairline.web.people import gone_with_its_queue
from fairline.web.problems import failure
from fairline.web.wire import SessionAnswer, moment


class Sites:
    """The calls of sites that a queue protects."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._room = context.room

    def start(self, request: Request) -> Outcome:
        """Begin the session, for this client alone."""
        claims = self._context.session_claims(request)
        by = self._context.visitor(request, claims)
        future = self._room.start(QueueId(claims.queue), claims.number, by)
        return Pending(future, lambda answer: self._told(request, claims, answer, by), recover=gone_with_its_queue)

    def activity(self, request: Request) -> Outcome:
        """Keep the session alive."""
        claims = self._context.session_claims(request)
        by = self._context.visitor(request, claims)
        future = self._room.touch(QueueId(claims.queue), claims.number, by)
        return Pending(future, lambda answer: self._told(request, claims, answer), recover=gone_with_its_queue)

    def complete(self, request: Request) -> Outcome:
        """Done: the room is free at once."""
        claims = self._context.session_claims(request)
        future = self._room.complete(QueueId(claims.queue), claims.number)
        return Pending(future, lambda answer: self._told(request, claims, answer), recover=gone_with_its_queue)

    def _told(self, request: Request, claims: SessionClaims, answer: Answer, by: str | None = None) -> Response:
        standing = same_ticket(claims, answer).standing
        content = SessionAnswer(
            status=standing.status,
            queue=answer.queue,
            ticket=standing.number,
            expires_at=moment(standing.deadline) if standing.status is Status.ACTIVE and standing.deadline else None,
        )
        return private(200, content, self._context.visitor_cookies(request, claims, by) if by else ())

    def verify(self, request: Request) -> Outcome:
        """May this request go on? The first one of an admitted pass begins the session, later ones are activity."""
        guard = request.args.get("queue", "")
        try:
            claims = self._context.session_claims(request)
            if guard and claims.queue != guard:
                raise TokenInvalid(f"it is for queue {claims.queue!r}, not {guard!r}")
        except TokenError as error:
            return self.turned_away(request, guard, error)
        by = self._context.visitor(request, claims)
        return Pending(
            self._room.visit(QueueId(claims.queue), claims.number, by),
            lambda answer: self.let_through(request, claims, answer, by),
            recover=lambda error: self.turned_away(request, claims.queue, error),
        )

    def let_through(self, request: Request, claims: SessionClaims, answer: Answer, by: str) -> Response:
        """Yes, and who it is."""
        standing = same_ticket(claims, answer).standing
        headers: Headers = (
            (b"cache-control", b"no-store"),
            (b"x-fairline-queue", claims.queue.encode()),
            (b"x-fairline-ticket", str(standing.number).encode()),
        )
        if CLIENT_COOKIE not in request.cookies:
            headers += self._context.visitor_cookies(request, claims, by)
        return Response(200, headers=headers)

    def turned_away(self, request: Request, queue: str, error: FairlineError) -> Response:
        """No: 401 whatever the reason, as forward-auth expects, with the way to the waiting page. Only our own trouble
        is told as what it is."""
        if isinstance(error, StoreError):
            return failure(request, error)
        refusal = failure(request, error, status=401)
        if queue:
            page = f"{self._context.settings.public_url}/q/{quote(queue, safe='')}"
            refusal.headers += ((b"x-fairline-redirect", page.encode()),)
        return refusal
