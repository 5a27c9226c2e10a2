"""The API calls of protected sites about a session: start, activity, complete, leave. Whether a request may continue is
in forward_auth."""

from __future__ import annotations

from typing import NoReturn

import msgspec
from msgspec import UNSET, UnsetType

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status
from fairline.domain.tokens import SessionClaims
from fairline.errors import FairlineError, TicketExpired, TicketNotFound
from fairline.service.answers import StatusAnswer
from fairline.web.api.people import gone_with_its_queue
from fairline.web.api.wire import SessionAnswer, Strict, moment
from fairline.web.context import Context
from fairline.web.server.http import Outcome, Pending, Request, Response, private

_nothing = msgspec.json.Decoder(Strict)


class Sessions:
    """The API calls of sites that a queue protects."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service

    def start(self, request: Request) -> Outcome:
        """Start the session, for this client alone."""
        claims = self._claims(request)
        client = self._context.sessions.starting_client(request, claims)
        call = self._service.start(QueueId(claims.queue), claims.number, client, claims.joined)
        return Pending(call, lambda answer: self._started(request, claims, answer, client), recover=_session_over)

    def activity(self, request: Request) -> Outcome:
        """Keep the session alive."""
        claims = self._claims(request)
        client = self._context.sessions.client(request, claims)
        call = self._service.touch(QueueId(claims.queue), claims.number, client, claims.joined)
        return Pending(call, _render, recover=_session_over)

    def leave(self, request: Request) -> Outcome:
        """The visitor left without completing: the capacity is free at once, and no stock is used up."""
        claims = self._claims(request)
        client = self._context.sessions.client(request, claims)
        call = self._service.leave(QueueId(claims.queue), claims.number, claims.joined, client)
        return Pending(call, _render, recover=_session_over)

    def complete(self, request: Request) -> Outcome:
        """The visitor is done: the capacity is free at once."""
        claims = self._claims(request)
        client = self._context.sessions.client(request, claims)
        call = self._service.complete(QueueId(claims.queue), claims.number, claims.joined, client)
        return Pending(call, _render, recover=_session_over)

    def _claims(self, request: Request) -> SessionClaims:
        request.decode(_nothing, default=Strict())
        return self._context.sessions.claims(request)

    def _started(self, request: Request, claims: SessionClaims, answer: StatusAnswer, client: str) -> Response:
        token = self._context.sessions.token_for_client(claims, client)
        return private(200, _content(answer, token), self._context.sessions.client_cookies(request, claims, client))


def _render(answer: StatusAnswer) -> Response:
    return private(200, _content(answer))


def _content(answer: StatusAnswer, token: str | UnsetType = UNSET) -> SessionAnswer:
    ticket_status = answer.ticket_status
    return SessionAnswer(
        status=ticket_status.status,
        queue=answer.queue,
        ticket=ticket_status.number,
        expires_at=moment(ticket_status.deadline)
        if ticket_status.status is Status.ACTIVE and ticket_status.deadline
        else None,
        session_token=token,
    )


def _session_over(error: FairlineError) -> NoReturn:
    """Answer 410 for a valid session token whose ticket was purged or whose queue was deleted: the session is over."""
    if isinstance(error, TicketNotFound):
        raise TicketExpired("purged") from None
    gone_with_its_queue(error)
