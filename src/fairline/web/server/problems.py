"""Turns errors into HTTP answers: problem+json (RFC 9457) from one table of codes."""

from __future__ import annotations

import math

import structlog

from fairline.errors import (
    FairlineError,
    Invalid,
    InvalidRequest,
    QueueClosed,
    SettingsChanged,
    StoreError,
    TicketExpired,
    TransitionRefused,
)
from fairline.web.api.wire import moment
from fairline.web.server import request_log
from fairline.web.server.http import NO_STORE, PROBLEM, Headers, Request, Response, encode

log = structlog.get_logger()

#: The HTTP status and the title of every error code. The detail is the error's own message.
PROBLEMS: dict[str, tuple[int, str]] = {
    "invalid_request": (422, "The request is not valid"),
    "invalid_settings": (422, "The settings are not valid"),
    "not_found": (404, "Not found"),
    "queue_not_found": (404, "No such queue"),
    "ticket_not_found": (404, "No such ticket"),
    "pass_not_found": (404, "No such pass"),
    "revision_not_found": (404, "No such version of the settings"),
    "opening_not_found": (404, "No such opening"),
    "opening_overlaps": (409, "Two openings at the same time"),
    "too_many_openings": (409, "Too many openings"),
    "rehearsal_running": (409, "Another rehearsal is running"),
    "draw_not_found": (404, "No such draw"),
    "draw_under_way": (409, "The order is being drawn"),
    "key_not_found": (404, "No such key"),
    "webhook_not_found": (404, "No such webhook"),
    "delivery_not_found": (404, "No such dead letter"),
    "too_many_webhooks": (409, "Too many webhooks"),
    "mail_not_set_up": (409, "Mail is not set up"),
    "last_admin_key": (409, "The last admin key"),
    "queue_exists": (409, "The queue exists already"),
    "queue_full": (503, "The queue is full"),
    "queue_maintenance": (503, "The queue is in maintenance"),
    "queue_closed": (503, "The queue is closed"),
    "queue_paused": (409, "The queue is paused"),
    "queue_held_back": (409, "The opening has not started"),
    "groups_off": (409, "No groups in this queue"),
    "group_gone": (409, "The group takes nobody else"),
    "group_full": (409, "The group is full"),
    "in_group": (409, "Waits together with others"),
    "at_capacity": (409, "No capacity inside"),
    "already_in_line": (409, "Already in line"),
    "pass_invalid": (403, "The priority pass is not valid"),
    "user_token_missing": (403, "A user token is needed"),
    "user_token_invalid": (403, "The user token is not valid"),
    "user_token_expired": (403, "The user token has expired"),
    "idempotency_conflict": (409, "The idempotency key was used for something else"),
    "transition_refused": (409, "Not possible in this state"),
    "ticket_expired": (410, "The place is gone"),
    "session_taken": (409, "The session belongs to another client"),
    "settings_changed": (412, "The settings have changed"),
    "rate_limited": (429, "Too many requests"),
    "token_missing": (401, "A token is needed"),
    "token_invalid": (401, "The token is not valid"),
    "token_expired": (401, "The token has expired"),
    "token_moved": (401, "The place was moved to another device"),
    "key_missing": (401, "An admin key is needed"),
    "key_invalid": (401, "The admin key is not valid"),
    "signed_out": (401, "Signed out"),
    "cross_site": (403, "Not from the dashboard"),
    "forbidden": (403, "Not allowed with this key"),
    "method_not_allowed": (405, "Method not allowed"),
    "body_too_large": (413, "The body is too large"),
    "headers_too_large": (431, "The headers are too large"),
    "request_timeout": (408, "The request took too long"),
    "expectation_failed": (417, "What the request expects cannot be met"),
    "bad_request": (400, "Not a valid HTTP request"),
    "store_error": (500, "The store refused a call"),
    "store_unavailable": (503, "The store is unavailable"),
    "store_overloaded": (503, "The store is overloaded"),
    "store_not_supported": (500, "The store cannot be used"),
    "internal_error": (500, "Internal error"),
}


def problem(
    code: str,
    detail: str,
    request_id: str,
    *,
    retry_after: float | None = None,
    status: int | None = None,
    **more: object,
) -> Response:
    """The answer for a code of the table, with the table's status unless one is given."""
    usual, title = PROBLEMS[code]
    status = status or usual
    body = {
        "type": f"urn:fairline:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "request_id": request_id,
    }
    headers: Headers = NO_STORE
    if retry_after is not None:
        headers += ((b"retry-after", str(max(1, math.ceil(retry_after))).encode()),)
    if status == 401:
        headers += ((b"www-authenticate", b'Bearer realm="fairline"'),)
    return Response(status, encode(body | more), PROBLEM, headers)


def failure(request: Request, error: BaseException, *, status: int | None = None) -> Response:
    """The answer for any error that a call ended with, with its usual status unless one is given. An unexpected error
    is logged, and its answer reveals nothing about the server."""
    if isinstance(error, RecursionError):
        error = InvalidRequest("", "The body is nested too deeply.")
    if isinstance(error, FairlineError):
        more: dict[str, object] = {}
        if isinstance(error, Invalid) and error.field:
            more["field"] = error.field
        if isinstance(error, TicketExpired):
            more["reason"] = error.reason
        if isinstance(error, TransitionRefused):
            more["found"] = error.found
        if isinstance(error, SettingsChanged):
            more["version"] = error.found
        if isinstance(error, QueueClosed):
            more |= {"early": error.early} | ({"opens_at": moment(error.opens_at)} if error.opens_at else {})
        if error.code == "rate_limited":
            request_log.limited(request, error)
        code = error.code if error.code in PROBLEMS else "internal_error"
        detail = error.message
        if isinstance(error, StoreError):
            request_log.store_trouble(request, error, code)
            detail = "The server cannot answer now. Try again: with the same client_id or idempotency key that is safe."
        return problem(code, detail, request.id, retry_after=error.retry_after, status=status, **more)
    log.error("http.failed", path=request.path, request_id=request.id, exc_info=error)
    detail = "The error has been logged. Try again; if it happens again, report the request id."
    return problem("internal_error", detail, request.id)
