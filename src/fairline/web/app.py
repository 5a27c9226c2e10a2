"""Puts the web side of a worker together: all calls in one table, and the full lane on Starlette."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from fairline.errors import FairlineError
from fairline.keeper import Keeper
from fairline.web.adapter import Adapter, Scope, request_of, respond
from fairline.web.context import Context
from fairline.web.cors import Cors
from fairline.web.http import Request
from fairline.web.operations import Operation, Query
from fairline.web.people import People
from fairline.web.problems import failure, problem
from fairline.web.public import Public
from fairline.web.sites import Sites
from fairline.web.wire import (
    HeartbeatRequest,
    JoinRequest,
    LeaveRequest,
    QueueAnswer,
    SessionAnswer,
    TicketAnswer,
)

_TOKEN = ("token_missing", "token_invalid", "token_expired")
_SESSION = (*_TOKEN, "transition_refused", "session_taken", "ticket_not_found", "queue_not_found")


def operations(context: Context, keeper: Keeper | None) -> list[Operation]:
    """Every call there is."""
    return [*_people(People(context)), *_sites(Sites(context)), *_public(Public(context, keeper))]


def _people(people: People) -> list[Operation]:
    return [
        Operation(
            method="POST",
            path="/api/v1/queues/{queue}/join",
            about="Take a place in the line, or come back to the one held.",
            group="people",
            fast=people.join,
            takes=JoinRequest,
            answers={201: TicketAnswer, 200: TicketAnswer},
            headers=("Idempotency-Key",),
            problems=(
                "queue_not_found",
                "queue_full",
                "queue_maintenance",
                "already_in_line",
                "pass_invalid",
                "idempotency_conflict",
                "rate_limited",
            ),
        ),
        Operation(
            method="POST",
            path="/api/v1/heartbeat",
            about="Give a sign of life.",
            group="people",
            fast=people.heartbeat,
            token="ticket",
            takes=HeartbeatRequest,
            answers={200: TicketAnswer},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
        ),
        Operation(
            method="GET",
            path="/api/v1/status",
            about="Where the ticket stands.",
            group="people",
            fast=people.status,
            token="ticket",
            answers={200: TicketAnswer},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
        ),
        Operation(
            method="POST",
            path="/api/v1/leave",
            about="Leave for good, or say that the page was closed.",
            group="people",
            fast=people.leave,
            token="ticket",
            takes=LeaveRequest,
            answers={204: None},
            problems=(*_TOKEN, "queue_not_found"),
        ),
        Operation(
            method="GET",
            path="/api/v1/stream",
            about="The ticket, live, as server-sent events.",
            group="people",
            fast=people.stream,
            token="ticket",
            answers={200: str, 204: None},
            media="text/event-stream",
            query=(Query("token", str, "the ticket's token, for EventSource"),),
            headers=("Last-Event-ID",),
            problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
        ),
    ]


def _sites(sites: Sites) -> list[Operation]:
    def session(name: str, about: str, handler: Any) -> Operation:
        return Operation(
            method="POST",
            path=f"/api/v1/session/{name}",
            about=about,
            group="sites",
            fast=handler,
            token="session",
            answers={200: SessionAnswer},
            problems=_SESSION,
        )

    return [
        session("start", "Begin the session, for this client alone.", sites.start),
        session("activity", "Keep the session alive.", sites.activity),
        session("complete", "Done inside: the room is free at once.", sites.complete),
        Operation(
            method="GET",
            path="/api/v1/session/verify",
            about="May this request go on? For nginx auth_request and forward-auth.",
            group="sites",
            fast=sites.verify,
            token="session",
            answers={200: None},
            query=(Query("queue", str, "the queue that guards the path"),),
            problems=_TOKEN,
        ),
    ]


def _public(public: Public) -> list[Operation]:
    def anyone(path: str, about: str, handler: Any, answers: dict[int, Any], *problems: str) -> Operation:
        return Operation(
            method="GET", path=path, about=about, group="public", slow=handler, answers=answers, problems=problems
        )

    return [
        anyone(
            "/api/v1/queues/{queue}",
            "The state of a queue, the same for everyone.",
            public.queue,
            {200: QueueAnswer},
            "queue_not_found",
        ),
        anyone("/.well-known/jwks.json", "The public keys of session tokens.", public.jwks, {200: dict[str, Any]}),
        anyone("/healthz", "This process answers.", public.healthz, {200: dict[str, str]}),
        anyone("/readyz", "The store answers, and the queues are kept.", public.readyz, {200: Any, 503: Any}),
    ]


class FullLane:
    """The ASGI application: all calls, the fast ones too."""

    def __init__(self, rows: list[Operation], cors: Cors) -> None:
        self._cors = cors
        handlers: dict[int, Any] = {404: self._missing, 405: self._missing}
        self._app = Starlette(
            routes=[
                Route(row.path, Adapter(row.fast or row.slow, cors), methods=[row.method])  # type: ignore[arg-type]
                for row in rows
            ],
            exception_handlers=handlers,
        )

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = request_of(scope)
        if scope["method"] == "OPTIONS":
            await respond(request, self._cors.preflight(request), send)
            return
        try:
            await self._app(scope, receive, send)
        except FairlineError as error:
            await respond(request, failure(request, error), send)

    async def _missing(self, request: Any, error: Exception) -> Any:
        status = error.status_code if isinstance(error, HTTPException) else 404
        found: Request = request_of(request.scope)
        if status == 405:
            code, detail = "method_not_allowed", f"{found.method} is not a method of this address. See /docs."
        else:
            code, detail = "not_found", f"There is nothing at {found.path[:200]}. See /docs for what there is."
        response = problem(code, detail, found.id)

        async def send_it(_scope: Scope, _receive: Any, send: Any) -> None:
            allow = (error.headers or {}).get("Allow") if isinstance(error, HTTPException) else None
            more = ((b"allow", allow.encode()),) if allow else ()
            await respond(found, response, send, self._cors.headers(found) + more)

        return send_it
