"""The operations table of the API calls for people in line, for sites and for everyone, and of the server's own calls.
(The calls for operators are in `admin`, the pages in `pages` and `dashboard`.)"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from fairline.web.api.accuracy import AccuracyAnswer
from fairline.web.api.boards import Boards
from fairline.web.api.draws import DrawAnswer, DrawCalls, ReceiptAnswer
from fairline.web.api.forward_auth import ForwardAuth
from fairline.web.api.people import People
from fairline.web.api.public import Public
from fairline.web.api.sessions import Sessions
from fairline.web.api.tellings import Tellings
from fairline.web.api.wire import (
    BoardAnswer,
    GroupAnswer,
    Health,
    HeartbeatRequest,
    JoinRequest,
    KeySet,
    LeaveRequest,
    MailRequest,
    MoveAnswer,
    MovedRequest,
    PushRequest,
    QueueAnswer,
    Readiness,
    SessionAnswer,
    StepBackRequest,
    Strict,
    TicketAnswer,
    TurnedAway,
)
from fairline.web.description.page import HTML, Docs
from fairline.web.metrics.page import MEDIA, MetricsPage
from fairline.web.server.assets import Assets
from fairline.web.server.compression import Compression
from fairline.web.server.operations import (
    EVENT_STREAM,
    JOIN_REFUSALS,
    TOKEN_COOKIE,
    UNNAMED,
    Operation,
    Query,
    QueueName,
)

_ID = "must be the id of a queue"
_WHICH = Query("queue", QueueName, "which queue's cookie to use, if a browser is in line in several queues", _ID)
_SIGNED = ("token_missing", "token_invalid", "token_expired")
_TOKEN = (*_SIGNED, "token_moved")

_server = partial(Operation, group="server", answers={200: str}, store=False)


def people_operations(people: People, tellings: Tellings) -> list[Operation]:
    """The calls of people in line."""
    ticket = partial(
        Operation,
        group="people",
        token="ticket",
        query=(_WHICH,),
        answers={200: TicketAnswer},
        problems=(*_TOKEN, "ticket_expired", "queue_not_found"),
    )
    return [
        Operation(
            "POST /api/v1/queues/{queue}/join",
            "Take a place in the line, or return to the existing one.",
            group="people",
            fast=people.join,
            takes=JoinRequest,
            answers={201: TicketAnswer, 200: TicketAnswer},
            query=(Query("queue", QueueName, "the same queue as in the path: clients add it to every call", _ID),),
            headers=("Idempotency-Key",),
            sends={201: TOKEN_COOKIE, 200: TOKEN_COOKIE},
            problems=(
                *JOIN_REFUSALS,
                "already_in_line",
                "token_moved",
                "pass_invalid",
                "groups_off",
                "group_gone",
                "group_full",
                *UNNAMED,
                "idempotency_conflict",
                "rate_limited",
            ),
        ),
        ticket("POST /api/v1/heartbeat", "Send a heartbeat.", fast=people.heartbeat, takes=HeartbeatRequest),
        ticket("GET /api/v1/status", "The status of the ticket.", fast=people.status),
        ticket(
            "POST /api/v1/leave",
            "Leave for good, or tell the server that the page was closed.",
            fast=people.leave,
            takes=LeaveRequest,
            answers={204: None},
            problems=(*_TOKEN, "queue_not_found"),
        ),
        ticket(
            "POST /api/v1/step-back",
            "Let others go first.",
            slow=people.step_back,
            takes=StepBackRequest,
            problems=(
                *_TOKEN,
                "ticket_expired",
                "transition_refused",
                "queue_held_back",
                "in_group",
                "queue_not_found",
                "ticket_not_found",
            ),
        ),
        ticket(
            "POST /api/v1/push",
            "Tell this browser by Web Push when it is nearly their turn, and when it is.",
            slow=tellings.by_push,
            takes=PushRequest,
            answers={204: None},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found", "rate_limited"),
        ),
        ticket(
            "POST /api/v1/mail",
            "Tell by e-mail when it is nearly their turn, and when it is.",
            slow=tellings.by_mail,
            takes=MailRequest,
            answers={204: None},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found", "rate_limited"),
        ),
        ticket(
            "POST /api/v1/group",
            "A link with which others join the group of the ticket.",
            slow=people.group,
            takes=Strict,
            answers={200: GroupAnswer},
            problems=(*_TOKEN, "ticket_expired", "queue_not_found", "groups_off", "group_gone"),
        ),
        ticket(
            "POST /api/v1/move",
            "A link that moves the ticket to another device; it works once.",
            slow=people.move,
            takes=Strict,
            answers={200: MoveAnswer},
        ),
        Operation(
            "POST /api/v1/moved",
            "Continue with a ticket on this device, with the code of its link.",
            group="people",
            slow=people.moved,
            takes=MovedRequest,
            takes_optional=False,
            answers={200: TicketAnswer},
            sends={200: TOKEN_COOKIE},
            problems=("token_invalid", "token_expired", "token_moved", "ticket_expired", "already_in_line"),
        ),
        ticket(
            "GET /api/v1/stream",
            "The status of the ticket, live, as server-sent events.",
            fast=people.stream,
            answers={200: str, 204: None},
            media=EVENT_STREAM,
            problems=(*_TOKEN, "ticket_expired", "queue_not_found", "rate_limited"),
            query=(_WHICH, Query("last_event_id", str, "like the header, for clients that cannot send it")),
            headers=("Last-Event-ID",),
        ),
    ]


def site_operations(sites: Sessions, gate: ForwardAuth) -> list[Operation]:
    """The calls of protected sites about sessions."""
    session = partial(
        Operation,
        group="sites",
        token="session",
        takes=Strict,
        answers={200: SessionAnswer},
        problems=(*_SIGNED, "transition_refused", "session_taken", "ticket_expired"),
    )
    return [
        session(
            "POST /api/v1/session/start",
            "Start the session, for this client alone.",
            fast=sites.start,
            headers=("Idempotency-Key",),
        ),
        session("POST /api/v1/session/activity", "Keep the session alive.", fast=sites.activity),
        session(
            "POST /api/v1/session/complete", "The visitor is done: the capacity is free at once.", fast=sites.complete
        ),
        session(
            "POST /api/v1/session/leave",
            "The visitor left without completing: the capacity is free at once, and no stock is used up.",
            fast=sites.leave,
        ),
        session(
            "GET /api/v1/session/verify",
            "May this request continue? For nginx auth_request and forward-auth.",
            fast=gate.verify,
            takes=None,
            problems=(*_SIGNED, "transition_refused", "session_taken", "ticket_not_found", "queue_not_found"),
            answers={200: None, 302: None, 307: None, 503: TurnedAway},
            query=(
                Query("queue", QueueName, "the queue that guards the path", _ID),
                Query(
                    "answer",
                    Literal["redirect", "refused"],
                    "who reads the answer: the browser, if it is a refusal (`redirect`), or always (`refused`)",
                    "must be redirect or refused",
                ),
            ),
            headers=("X-Original-URI", "X-Forwarded-Uri"),
            refuses_with=401,
            sends={
                200: {
                    "X-Fairline-Queue": "The queue.",
                    "X-Fairline-Ticket": "The ticket's number.",
                    "X-Fairline-Bypass": "Instead of both: no session token is needed here.",
                    "Set-Cookie": "To be forwarded to the browser.",
                },
                302: {"Location": "The waiting page, or the same address without a session token in it."},
                307: {"Location": "The same address, to send a POST again."},
                401: {
                    "X-Fairline-Redirect": "Where to send the browser, if the queue is known.",
                    "Set-Cookie": "To be forwarded to the browser.",
                },
                503: {"Retry-After": "Seconds."},
            },
        ),
    ]


def public_operations(public: Public) -> list[Operation]:
    """The calls that need no token, and the health checks."""
    return [
        Operation(
            "GET /api/v1/queues/{queue}",
            "The state of a queue, the same for everyone.",
            group="public",
            slow=public.queue,
            answers={200: QueueAnswer},
            problems=("queue_not_found",),
        ),
        Operation(
            "GET /api/v1/queues/{queue}/stream",
            "The state of a queue, live, as server-sent events: for pages that wait for a start.",
            group="public",
            fast=public.stream,
            answers={200: str},
            media=EVENT_STREAM,
            problems=("queue_not_found", "invalid_request", "rate_limited"),
        ),
        Operation(
            "GET /api/v1/queues/{queue}/accuracy",
            "How accurate the waits were that a queue showed, the same for everyone.",
            group="public",
            slow=public.accuracy,
            answers={200: AccuracyAnswer},
            problems=("queue_not_found",),
        ),
        _server(
            "GET /.well-known/jwks.json",
            "The public keys that verify session tokens.",
            group="public",
            slow=public.jwks,
            answers={200: KeySet},
        ),
        _server("GET /healthz", "Whether this process answers.", slow=public.healthz, answers={200: Health}),
        _server(
            "GET /readyz",
            "Whether the store answers and a keeper runs.",
            slow=public.readyz,
            answers={200: Readiness, 503: Readiness},
        ),
    ]


def draw_operations(draws: DrawCalls) -> list[Operation]:
    """The calls about draws."""
    return [
        Operation(
            "GET /api/v1/draws/{draw}",
            "What is published of a draw, the same for everyone.",
            group="public",
            slow=draws.draw,
            answers={200: DrawAnswer},
            problems=("draw_not_found",),
        ),
        Operation(
            "GET /api/v1/draws/{draw}/entries",
            "Everyone in a draw in the order drawn: leaf, value and level of each; empty before it is drawn.",
            group="public",
            slow=draws.entries,
            answers={200: list[tuple[str, str, int]]},
            problems=("draw_not_found",),
        ),
        Operation(
            "GET /api/v1/draw/receipt",
            "The receipt of this ticket in its draw.",
            group="people",
            token="ticket",
            query=(_WHICH,),
            slow=draws.receipt,
            answers={200: ReceiptAnswer},
            problems=(*_TOKEN, "ticket_expired", "draw_not_found"),
        ),
    ]


def board_operations(boards: Boards) -> list[Operation]:
    """The calls of boards: the screens where people wait to be called."""
    return [
        Operation(
            "GET /api/v1/queues/{queue}/board",
            "The board of a queue: labels and desks, the same for everyone.",
            group="public",
            compression=Compression.EACH,
            slow=boards.board,
            answers={200: BoardAnswer},
            problems=("queue_not_found",),
        ),
        Operation(
            "GET /api/v1/queues/{queues}/board/stream",
            "The boards of one queue or several, live, as server-sent events.",
            group="public",
            fast=boards.stream,
            answers={200: str},
            media=EVENT_STREAM,
            problems=("queue_not_found", "invalid_request", "rate_limited"),
        ),
    ]


def metrics_operations(page: MetricsPage) -> list[Operation]:
    """The call of Prometheus."""
    about = "Metrics for Prometheus: of all queues, and of all workers of this server."
    return [_server("GET /metrics", about, slow=page.metrics, media=MEDIA, compression=Compression.EACH)]


def description_operations(docs: Docs, assets: Assets) -> list[Operation]:
    """The description of all calls, and the static files of the pages."""
    openapi = {200: dict[str, Any]}
    return [
        _server("GET /docs", "This page.", slow=docs.page, media=HTML, any_query=True, compression=Compression.ONCE),
        _server(
            "GET /openapi.json",
            "All calls as OpenAPI 3.1.",
            slow=docs.openapi,
            answers=openapi,
            compression=Compression.ONCE,
        ),
        _server("GET /static/{name}", "The files of the pages.", slow=assets.file, media="text/css", any_query=True),
    ]
