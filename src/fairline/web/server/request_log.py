"""Writes the log lines about calls that people make themselves: what happened and how long it took, never who they are.

In a queue that staff call by hand, each join and each leave is logged, as the calls of its staff are. In an automatic
queue they are not: in a rush that would be thousands of lines a second, and the queue's events record them anyway.
Calls over a rate limit are logged in both. Lines that strangers can cause without end are written once a minute, with
how often they happened: see log_repeats.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import structlog

from fairline.errors import FairlineError
from fairline.service.answers import JoinAnswer, StatusAnswer
from fairline.web.server.http import Request
from fairline.web.server.log_repeats import Repeats

log = structlog.get_logger()

#: Seconds between checks whether a minute of counted lines is over.
CHECK_SECONDS = 1.0
_repeats = Repeats()


def joined(request: Request, answer: JoinAnswer, *, keyed: bool = False) -> None:
    """Someone joined; or sent the same idempotency key again and received the existing place."""
    if answer.created and answer.settings.by_hand:
        ticket = answer.ticket_status
        _note(
            "queue.created",
            request,
            queue=answer.queue,
            ticket=ticket.number,
            label=answer.label,
            position=ticket.position,
            priority=ticket.priority,
        )
    elif keyed and not answer.created and _repeats.is_first("queue.idempotency_reuse", queue=answer.queue):
        _note("queue.idempotency_reuse", request, queue=answer.queue, ticket=answer.ticket_status.number)


def left(request: Request, answer: StatusAnswer) -> None:
    """Someone left for good."""
    if answer.settings.by_hand:
        ticket = answer.ticket_status
        _note(
            "queue.status_changed",
            request,
            queue=answer.queue,
            ticket=ticket.number,
            action="leave",
            status=ticket.status.value,
            reason=ticket.reason,
        )


def limited(request: Request, error: FairlineError) -> None:
    """A call was refused by a rate limit; `who` says what was counted: an address, a phone number."""
    fields: dict[str, str | None] = {"queue": request.params["queue"][:64]} if "queue" in request.params else {}
    fields["who"] = getattr(error, "who", None)
    if _repeats.is_first("rate_limit.hit", **fields):
        _note("rate_limit.hit", request, **fields)


def store_trouble(request: Request, error: FairlineError, code: str) -> None:
    """The store did not answer a call: only the log says where the store is and what its error was."""
    if _repeats.is_first("http.store_trouble", code=code):
        log.warning("http.store_trouble", code=code, error=error.message, request_id=request.id)


def template_broken(queue: str, error: str) -> None:
    """People see the built-in page because the operator's own template has an error."""
    if _repeats.is_first("page.template_broken", queue=queue):
        log.warning("page.template_broken", queue=queue, error=error)


def template_not_drawn(queue: str, error: str) -> None:
    """People see the built-in page because the template could not be drawn for a reason other than its content."""
    if _repeats.is_first("page.template_not_drawn", queue=queue):
        log.warning("page.template_not_drawn", queue=queue, error=error or "no answer in time")


async def write_repeats() -> None:
    """Write the counts of repeated lines every minute until cancelled; then the remaining counts."""
    try:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            _repeats.write()
    finally:
        _repeats.write(everything=True)


def _note(event: str, request: Request, **fields: Any) -> None:
    took = round((time.monotonic() - request.began) * 1000, 1)
    log.info(event, **fields, duration_ms=took, request_id=request.id)
