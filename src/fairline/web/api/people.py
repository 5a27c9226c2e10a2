"""The API calls of people in line: join, heartbeat, status, leave, stream, step back, move to another device."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import NoReturn

import msgspec
from msgspec import UnsetType

from fairline.aio.grouping import GroupedCall
from fairline.domain.join_request import JoinBody, JoinRequest
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.tokens import TicketClaims
from fairline.errors import (
    FairlineError,
    InvalidRequest,
    InvalidSettings,
    QueueNotFound,
    TicketExpired,
    TicketNotFound,
    TokenInvalid,
    TransitionRefused,
)
from fairline.service.answers import JoinAnswer, StatusAnswer
from fairline.service.walk_in import GROUP_SECONDS, MOVE_SECONDS, WalkIn, group_path, move_path
from fairline.web.api.wire import (
    GroupAnswer,
    HeartbeatRequest,
    LeaveRequest,
    MoveAnswer,
    MovedRequest,
    StepBackRequest,
    Strict,
    TicketAnswer,
)
from fairline.web.context import Context
from fairline.web.cookies import VISITOR_COOKIE, VISITOR_SECONDS
from fairline.web.server import request_log
from fairline.web.server.http import NO_STORE, Headers, Outcome, Pending, Request, Response, Sent, private
from fairline.web.ticket_answers import same_ticket

_join = msgspec.json.Decoder(JoinBody)
_join_escaped = msgspec.json.Decoder(JoinRequest)
_heartbeat = msgspec.json.Decoder(HeartbeatRequest)
_leave = msgspec.json.Decoder(LeaveRequest)
_step_back = msgspec.json.Decoder(StepBackRequest)
_moved = msgspec.json.Decoder(MovedRequest)
_nothing = msgspec.json.Decoder(Strict)
_EMPTY_HEARTBEAT = HeartbeatRequest()
_EMPTY_JOIN = JoinBody()
#: The characters of a visitor cookie that are read; the rest is ignored.
LONGEST_VISITOR = 200
_LEFT = Response(204, headers=NO_STORE)


def named_queue(name: str) -> QueueId:
    """The queue in a path; QueueNotFound if that cannot be the id of a queue."""
    try:
        return queue_id(name)
    except InvalidSettings:
        raise QueueNotFound(name[:80]) from None


def visitor_of(request: Request) -> str:
    """The secret in our visitor cookie, which identifies a browser that sends no client id; or a new secret."""
    return _known_visitor(request) or secrets.token_urlsafe(16)


def visitor_with(request: Request, key: str | None, context: Context) -> str:
    """The same for a join with an idempotency key: a browser without the cookie that repeats the call receives the same
    secret again."""
    if not key:
        return visitor_of(request)
    return _known_visitor(request) or context.service.identity.visitor(
        key, context.sessions.browser_at_address(request)
    )


def _known_visitor(request: Request) -> str:
    return request.cookies.get(VISITOR_COOKIE, "")[:LONGEST_VISITOR]


class People:
    """The API calls of people in line."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service
        self._walk_in = WalkIn(context.service)

    def join(self, request: Request) -> Outcome:
        """Take a place in the line, or return to the existing one."""
        queue = named_queue(request.params["queue"])
        body = join_request(request)
        visitor = None if body.client_id else visitor_with(request, body.idempotency_key, self._context)
        asked = self._service.join(queue, body, self._context.caller(request, queue, visitor=visitor))

        def welcome(answer: JoinAnswer) -> Response:
            request_log.joined(request, answer, keyed=body.idempotency_key is not None)
            return self.welcome(request, answer, visitor)

        return Pending(asked, welcome)

    def welcome(self, request: Request, answer: JoinAnswer, visitor: str | None) -> Response:
        """The ticket with its token. The token is also set as a cookie; a browser that sent no client id gets the
        visitor cookie in addition."""
        content = self._context.answers.ticket(answer, token=answer.token)
        return private(201 if answer.created else 200, content, self.cookies(request, answer, visitor))

    def cookies(self, request: Request, answer: JoinAnswer, visitor: str | None) -> Headers:
        """The cookies that a browser needs to return to its ticket."""
        headers = self._context.ticket_cookies(request, answer.queue, answer.settings, answer.token)
        if visitor is not None and request.cookies.get(VISITOR_COOKIE) != visitor:
            headers += (self._context.cookie(request, VISITOR_COOKIE, visitor, VISITOR_SECONDS),)
        return headers

    def heartbeat(self, request: Request) -> Outcome:
        """A heartbeat; answers with the status of the ticket and the time until the next heartbeat."""
        claims = self._context.ticket_claims(request)
        body = request.decode(_heartbeat, default=_EMPTY_HEARTBEAT)
        if body.client_id and claims.client and not self._service.is_client(body.client_id, claims.client):
            raise TokenInvalid("it belongs to another client")

        def render(answer: StatusAnswer) -> Response:
            token = self._context.renewed_token(claims, same_ticket(claims, answer))
            headers = self._renewal(request, answer, token)
            return private(200, self._context.answers.ticket(answer, token=token, heartbeat=True), headers)

        return Pending(self._heartbeat(claims), render, recover=gone_with_its_queue)

    def _heartbeat(self, claims: TicketClaims) -> GroupedCall[StatusAnswer]:
        return self._service.heartbeat(QueueId(claims.queue), claims.number, claims.joined)

    def _renewal(self, request: Request, answer: StatusAnswer, token: str | None) -> Headers:
        """A renewed token is returned in the way the old one came: a browser's script cannot set the cookie itself."""
        if token is None or request.bearer():
            return ()
        return self._context.ticket_cookies(request, answer.queue, answer.settings, token)

    def status(self, request: Request) -> Outcome:
        """The status of the ticket."""
        claims = self._context.ticket_claims(request)

        def render(answer: StatusAnswer) -> Response:
            content = self._context.answers.ticket(same_ticket(claims, answer))
            return private(200, content, self._onward(request, answer, content))

        return Pending(self._service.status(QueueId(claims.queue), claims.number), render, recover=gone_with_its_queue)

    def _onward(self, request: Request, answer: StatusAnswer, content: TicketAnswer) -> Headers:
        """The cookie with the new ticket of a person who was transferred to another queue and uses cookies."""
        there = content.transferred_to
        if isinstance(there, UnsetType) or request.bearer():
            return ()
        return self._context.ticket_cookies(request, QueueId(there.queue), answer.settings, there.token)

    async def leave(self, request: Request) -> Response:
        """Leave for good, or within a short grace, or close the page, which keeps the place for longer. Leaving a place
        that is already gone succeeds, so that a repeated beacon is answered like the first."""
        body = request.decode(_leave, default=LeaveRequest())
        if body.final and body.closed:
            raise InvalidRequest("closed", "Send final to give up the place, or closed to keep it; not both.")
        claims = self._context.ticket_claims(request, body.token)
        queue = QueueId(claims.queue)
        with suppress(TransitionRefused, TicketExpired, TicketNotFound, QueueNotFound):
            # A page that is still open on the old device must not give up a place that has moved to another device.
            same_ticket(claims, await self._service.status(queue, claims.number))
            if body.final:
                request_log.left(request, await self._service.leave(queue, claims.number, claims.joined))
            elif body.closed:
                await self._service.close_page(queue, claims.number)
            else:
                await self._service.unload(queue, claims.number)
        return _LEFT

    async def step_back(self, request: Request) -> Response:
        """Let others go first."""
        body = request.decode(_step_back, default=StepBackRequest())
        claims = self._context.ticket_claims(request)
        queue = QueueId(claims.queue)
        try:
            same_ticket(claims, await self._heartbeat(claims))
            await self._walk_in.step_back(queue, claims.number, body.places, body.position)
            return private(200, self._context.answers.ticket(await self._service.status(queue, claims.number)))
        except QueueNotFound as error:
            gone_with_its_queue(error)

    async def move(self, request: Request) -> Response:
        """A link that takes the ticket to another device."""
        request.decode(_nothing, default=Strict())
        claims = self._context.ticket_claims(request)
        queue = QueueId(claims.queue)
        try:
            answer = same_ticket(claims, await self._heartbeat(claims))
        except QueueNotFound as error:
            gone_with_its_queue(error)
        code = self._walk_in.move_code(queue, answer.ticket_status)
        url = f"{self._context.settings.public_url}{move_path(queue, code)}"
        return private(200, MoveAnswer(url=url, code=code, expires_in_seconds=MOVE_SECONDS))

    async def group(self, request: Request) -> Response:
        """A link with which others join the group of the ticket."""
        request.decode(_nothing, default=Strict())
        claims = self._context.ticket_claims(request)
        queue = QueueId(claims.queue)
        try:
            answer = same_ticket(claims, await self._heartbeat(claims))
            code, size, most = await self._walk_in.group_code(queue, answer.ticket_status)
        except QueueNotFound as error:
            gone_with_its_queue(error)
        url = f"{self._context.settings.public_url}{group_path(queue, code)}"
        return private(200, GroupAnswer(url=url, code=code, expires_in_seconds=GROUP_SECONDS, size=size, most=most))

    async def moved(self, request: Request) -> Response:
        """Continue with a ticket on this device."""
        body = request.decode(_moved)
        visitor = visitor_of(request)
        try:
            answer = await self._walk_in.moved(body.code, body.client_id or visitor)
        except TicketNotFound:
            raise TicketExpired("purged") from None
        except QueueNotFound:
            raise TicketExpired("queue_deleted") from None
        except TransitionRefused as error:
            raise TicketExpired(error.found) from None
        return self.welcome(request, answer, visitor)

    def stream(self, request: Request) -> Outcome:
        """The status of the ticket, live: see hub."""
        claims = self._context.ticket_claims(request)
        hub = self._context.hub
        if hub is None:
            raise InvalidRequest("", "This server has no streams. Use heartbeats.")

        def opened(answer: StatusAnswer) -> Sent:
            return hub.open(request, same_ticket(claims, answer))

        return Pending(self._heartbeat(claims), opened, recover=gone_with_its_queue)


def gone_with_its_queue(error: FairlineError) -> NoReturn:
    """Answer 410 for a valid token whose queue was deleted: the place is gone."""
    if isinstance(error, QueueNotFound):
        raise TicketExpired("queue_deleted") from None
    raise error


def join_request(request: Request) -> JoinRequest:
    """The body of a join, with the idempotency key of the header where the body has none."""
    body = request.decode(_join_escaped) if b"\\" in request.body else request.decode(_join, default=_EMPTY_JOIN)
    key = request.head.text(b"idempotency-key")
    if key and body.idempotency_key is None:
        # Not a JoinBody: the value of the header has not been checked yet.
        return JoinRequest(**msgspec.structs.asdict(body) | {"idempotency_key": key})
    return body
