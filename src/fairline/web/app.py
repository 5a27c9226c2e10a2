"""Puts the web side of a worker together: all calls in one table, and the full lane on Starlette."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from fairline.errors import FairlineError
from fairline.keeper import Keeper
from fairline.web.adapter import Adapter, Scope, request_of, respond
from fairline.web.admin import admin_operations
from fairline.web.assets import Assets
from fairline.web.boards import Boards
from fairline.web.context import Context
from fairline.web.cors import Cors
from fairline.web.dashboard import DashboardPages, dashboard_operations
from fairline.web.docs import HTML, Docs
from fairline.web.figures import MEDIA, MetricsPage
from fairline.web.gate import Gate
from fairline.web.http import Request
from fairline.web.metrics import Metrics
from fairline.web.operations import Operation, Query
from fairline.web.pages import BoardPages, Door, Drawing, JoinPages, KioskPages, WaitingPages
from fairline.web.people import People
from fairline.web.problems import failure, problem
from fairline.web.public import Public
from fairline.web.sites import Sites
from fairline.web.wire import (
    BoardAnswer,
    Health,
    HeartbeatRequest,
    JoinRequest,
    KeySet,
    LeaveRequest,
    MoveAnswer,
    MovedRequest,
    PassRequest,
    QueueAnswer,
    Readiness,
    SessionAnswer,
    Strict,
    TicketAnswer,
    TurnedAway,
)

_WHICH = Query("queue", str, "which queue's cookie is meant, where a browser is in line in several")
_LANGUAGE = Query("lang", str, "the language: en, ko, es, fr, de, ja, pt or ar; otherwise the browser's")
_SIGNED = ("token_missing", "token_invalid", "token_expired")
_TOKEN = (*_SIGNED, "token_moved")
_SESSION = (*_SIGNED, "transition_refused", "session_taken", "ticket_not_found", "queue_not_found")


def operations(context: Context, keeper: Keeper | None, metrics: Metrics | None = None) -> list[Operation]:
    """Every call there is."""
    people, assets = People(context), Assets()
    boards, drawing = Boards(context, assets), Drawing(assets)
    door = Door(context, people, drawing)
    rows = [
        *_people(people),
        *_sites(Sites(context), Gate(context)),
        *_public(Public(context, keeper)),
        *admin_operations(context),
        *_boards(boards, BoardPages(context, boards, assets)),
        *_pages(WaitingPages(door)),
        *_taking_numbers(JoinPages(door), KioskPages(door)),
        *dashboard_operations(DashboardPages(context, assets)),
    ]
    if metrics is not None:
        rows += _metrics(MetricsPage(context.room, metrics))
    rows += _description(Docs(rows, assets, context.settings.public_url), assets)
    return rows


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
            sends={status: {"Set-Cookie": "The token, for browsers."} for status in (201, 200)},
            problems=(
                "queue_not_found",
                "queue_full",
                "queue_maintenance",
                "queue_closed",
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
            query=(_WHICH,),
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
            query=(_WHICH,),
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
            query=(_WHICH,),
            takes=LeaveRequest,
            answers={204: None},
            problems=(*_TOKEN, "queue_not_found"),
        ),
        Operation(
            method="POST",
            path="/api/v1/pass",
            about="Let others go first.",
            group="people",
            slow=people.let_pass,
            token="ticket",
            query=(_WHICH,),
            takes=PassRequest,
            answers={200: TicketAnswer},
            problems=(*_TOKEN, "ticket_expired", "transition_refused", "queue_not_found", "ticket_not_found"),
        ),
        Operation(
            method="POST",
            path="/api/v1/move",
            about="A link that takes the ticket to another device, once.",
            group="people",
            slow=people.move,
            token="ticket",
            query=(_WHICH,),
            takes=Strict,
            answers={200: MoveAnswer},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
        ),
        Operation(
            method="POST",
            path="/api/v1/moved",
            about="Go on with a ticket on this device, by the code of its link.",
            group="people",
            slow=people.moved,
            takes=MovedRequest,
            takes_optional=False,
            answers={200: TicketAnswer},
            sends={200: {"Set-Cookie": "The token, for browsers."}},
            problems=("token_invalid", "token_expired", "token_moved", "ticket_expired", "already_in_line"),
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
            query=(Query("token", str, "the ticket's token, for EventSource"), _WHICH),
            headers=("Last-Event-ID",),
            problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
        ),
    ]


def _sites(sites: Sites, gate: Gate) -> list[Operation]:
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
        session("leave", "Gone without it: the room is free at once, and nothing is used up.", sites.leave),
        Operation(
            method="GET",
            path="/api/v1/session/verify",
            about="May this request go on? For nginx auth_request and forward-auth.",
            group="sites",
            fast=gate.verify,
            token="session",
            answers={200: None, 302: None, 307: None, 503: TurnedAway},
            query=(
                Query("queue", str, "the queue that guards the path"),
                Query(
                    "answer",
                    str,
                    "who reads the answer: the browser, where it is no (`redirect`), or in any case (`refused`)",
                ),
            ),
            headers=("X-Original-URI", "X-Forwarded-Uri"),
            problems=_SESSION,
            refuses_with=401,
            sends={
                200: {
                    "X-Fairline-Queue": "The queue.",
                    "X-Fairline-Ticket": "The ticket's number.",
                    "X-Fairline-Bypass": "Instead of both: no pass is needed here.",
                    "Set-Cookie": "To be handed on to the browser.",
                },
                302: {"Location": "The waiting page, or the same address without a pass in it."},
                307: {"Location": "The same address, for what was sent with a POST."},
                401: {"X-Fairline-Redirect": "The same, where the queue is known.", "Set-Cookie": "To be handed on."},
                503: {"Retry-After": "Seconds."},
            },
        ),
    ]


def _public(public: Public) -> list[Operation]:
    def anyone(path: str, about: str, handler: Any, answers: dict[int, Any], *problems: str) -> Operation:
        return Operation(
            method="GET", path=path, about=about, group="public", slow=handler, answers=answers, problems=problems
        )

    def server(path: str, about: str, handler: Any, answers: dict[int, Any], group: str = "server") -> Operation:
        return Operation(method="GET", path=path, about=about, group=group, slow=handler, answers=answers, store=False)

    return [
        anyone(
            "/api/v1/queues/{queue}",
            "The state of a queue, the same for everyone.",
            public.queue,
            {200: QueueAnswer},
            "queue_not_found",
        ),
        server("/.well-known/jwks.json", "The public keys of session tokens.", public.jwks, {200: KeySet}, "public"),
        server("/healthz", "This process answers.", public.healthz, {200: Health}),
        server(
            "/readyz", "The store answers, and the queues are kept.", public.readyz, {200: Readiness, 503: Readiness}
        ),
    ]


def _boards(boards: Boards, pages: BoardPages) -> list[Operation]:
    return [
        Operation(
            method="GET",
            path="/api/v1/queues/{queue}/board",
            about="What the board of a queue shows: labels and counters, the same for everyone.",
            group="public",
            slow=boards.board,
            answers={200: BoardAnswer},
            problems=("queue_not_found",),
        ),
        Operation(
            method="GET",
            path="/api/v1/queues/{queues}/board/stream",
            about="The boards of one queue or several, live, as server-sent events.",
            group="public",
            fast=boards.stream,
            answers={200: str},
            media="text/event-stream",
            problems=("queue_not_found", "invalid_request", "rate_limited"),
        ),
        Operation(
            method="GET",
            path="/board/{queues}",
            about="The screen at the counter, of one queue or several.",
            group="pages",
            slow=pages.show,
            answers={200: str},
            media=HTML,
            query=(_LANGUAGE, Query("theme", str, "`light`, `dark` or `contrast`; otherwise the browser's")),
            problems=("queue_not_found", "invalid_request"),
        ),
    ]


def _pages(waiting: WaitingPages) -> list[Operation]:
    return [
        Operation(
            method="GET",
            path="/q/{queue}",
            about="The waiting page. At a counter, whoever has no number is sent to the form.",
            group="pages",
            slow=waiting.show,
            answers={200: str, 303: None},
            media=HTML,
            query=(_LANGUAGE, Query("move", str, "shows the code that takes the number to another device")),
            sends={303: {"Location": "The form, or the page of the queue that someone was sent on to."}},
            problems=("queue_not_found", "queue_full", "queue_maintenance", "queue_closed", "ticket_expired"),
        ),
        Operation(
            method="POST",
            path="/q/{queue}",
            about="The forms of the waiting page: `do` is `join`, `pass` or `leave`.",
            group="pages",
            slow=waiting.act,
            answers={303: None},
            media=HTML,
            query=(_LANGUAGE,),
            sends={303: {"Location": "The waiting page.", "Set-Cookie": "The token, for browsers."}},
            problems=(
                "queue_not_found",
                "queue_full",
                "queue_maintenance",
                "queue_closed",
                "already_in_line",
                "rate_limited",
            ),
        ),
    ]


def _taking_numbers(joining: JoinPages, kiosk: KioskPages) -> list[Operation]:
    closed = ("queue_not_found", "queue_full", "queue_maintenance", "queue_closed")
    ticket = {303: {"Location": "The ticket's page.", "Set-Cookie": "The token, for browsers."}}

    def page(method: str, path: str, about: str, handler: Any, answers: dict[int, Any], **more: Any) -> Operation:
        return Operation(
            method=method,
            path=f"/join/{{queue}}{path}",
            about=about,
            group="pages",
            slow=handler,
            answers=answers,
            **{"media": HTML, "query": (_LANGUAGE,)} | more,
        )

    return [
        page(
            "GET",
            "",
            "The form for taking a number.",
            joining.show,
            {200: str, 303: None},
            sends={303: {"Location": "The ticket's page."}},
            problems=closed,
        ),
        page(
            "POST",
            "",
            "The form, sent: `name`, `phone`, `party_size`, `series` and the `key` it came with.",
            joining.join,
            {303: None},
            sends=ticket,
            problems=(*closed, "invalid_request", "already_in_line", "rate_limited"),
        ),
        page(
            "GET",
            "/qr.svg",
            "The address of the form as a QR code.",
            joining.code,
            {200: str},
            media="image/svg+xml",
            query=(
                Query("size", int, "pixels a side, from 64 to 4096; 400 unless told"),
                Query("colour", str, "such as 0b6bcb, dark enough for a camera; black unless told"),
            ),
            problems=("queue_not_found", "invalid_request"),
        ),
        page(
            "GET",
            "/poster",
            "A page for the wall, to be printed: the name, the QR code and what to do.",
            joining.poster,
            {200: str},
            query=(Query("lang", str, "one or more languages, such as `de,fr`; otherwise the browser's"),),
            problems=("queue_not_found",),
        ),
        page(
            "GET",
            "/move",
            "Where the link leads that takes a number to another device.",
            joining.show_move,
            {200: str},
            problems=("queue_not_found",),
        ),
        page(
            "POST",
            "/move",
            "Take the number of a `code` to this device.",
            joining.move,
            {303: None},
            sends=ticket,
            problems=("queue_not_found", "ticket_expired", "already_in_line"),
        ),
        page(
            "GET",
            "/kiosk",
            "A page for a tablet at the door, once it is opened by its link.",
            kiosk.show,
            {200: str, 303: None},
            query=(_LANGUAGE, Query("token", str, "of the link that staff have made")),
            sends={303: {"Location": "The kiosk.", "Set-Cookie": "What opens it."}},
            problems=(*closed, "forbidden"),
        ),
        page(
            "POST",
            "/kiosk",
            "A number for whoever stands at the kiosk: `series`, `party_size` and the `key` of the press.",
            kiosk.take,
            {201: str, 200: str, 303: None},
            sends={303: {"Location": "The kiosk."}},
            problems=(*closed, "forbidden", "invalid_request", "rate_limited"),
        ),
    ]


def _metrics(page: MetricsPage) -> list[Operation]:
    return [
        Operation(
            method="GET",
            path="/metrics",
            about="Figures for Prometheus: of all queues, and of all workers of this server.",
            group="server",
            slow=page.metrics,
            answers={200: str},
            media=MEDIA,
            store=False,
        )
    ]


def _description(docs: Docs, assets: Assets) -> list[Operation]:
    def file(path: str, about: str, handler: Any, media: str, kind: Any = str) -> Operation:
        return Operation(
            method="GET",
            path=path,
            about=about,
            group="server",
            slow=handler,
            answers={200: kind},
            media=media,
            store=False,
        )

    return [
        file("/docs", "This page.", docs.page, HTML),
        file("/openapi.json", "All calls as OpenAPI 3.1.", docs.openapi, "application/json", dict[str, Any]),
        file("/static/{name}", "The files of the pages.", assets.file, "text/css"),
    ]


class FullLane:
    """The ASGI application: all calls, the fast ones too. `on_answered` hears of the method, the path and the status of
    each."""

    def __init__(
        self, rows: list[Operation], cors: Cors, on_answered: Callable[[str, str, int], None] | None = None
    ) -> None:
        self._cors = cors
        self._on_answered = on_answered
        handlers: dict[int, Any] = {404: self._missing, 405: self._missing}
        self._routes = [
            Route(row.path, Adapter(row.fast or row.slow, cors), methods=[row.method])  # type: ignore[arg-type]
            for row in rows
        ]
        self._app = Starlette(routes=self._routes, exception_handlers=handlers)
        # An address that is almost right is answered like any other that leads nowhere, not with one made of the Host.
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = request_of(scope)
        send = self._counted(scope, send)
        if scope["method"] == "OPTIONS":
            await respond(request, self._cors.preflight(request), send)
            return
        try:
            await self._app(scope, receive, send)
        except FairlineError as error:
            await respond(request, failure(request, error), send)

    def _counted(self, scope: Scope, send: Any) -> Any:
        async def counted(message: Any) -> None:
            if self._on_answered and message["type"] == "http.response.start":
                self._on_answered(scope["method"], scope["path"], message["status"])
            await send(message)

        return counted

    async def _missing(self, request: Any, error: Exception) -> Any:
        status = error.status_code if isinstance(error, HTTPException) else 404
        found: Request = request_of(request.scope)
        if status == 405:
            code, detail = "method_not_allowed", f"{found.method} is not a method of this address. See /docs."
        else:
            code, detail = "not_found", f"There is nothing at {found.path[:200]}. See /docs for what there is."
        response = problem(code, detail, found.id)

        async def send_it(_scope: Scope, _receive: Any, send: Any) -> None:
            more = ((b"allow", ", ".join(self._methods_at(found.path)).encode()),) if status == 405 else ()
            await respond(found, response, send, self._cors.headers(found) + more)

        return send_it

    def _methods_at(self, path: str) -> list[str]:
        """Every method of an address: each has a route of its own."""
        return sorted(
            {method for route in self._routes if route.path_regex.match(path) for method in route.methods or ()}
        )
