"""What is logged of people's own calls: how each began and how long it took, and nothing of who they are.

A line called by hand is logged person by person, as its staff's calls are. An automatic one is not: in a rush that
would be thousands of lines a second, and its events are the record. Whoever comes too often is logged in both. What a
stranger could have written without end is written once a minute, with how often it happened: see repeats.
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

#: How often it is looked whether a minute is over.
LOOK_SECONDS = 1.0
_repeats = Repeats()


def joined(request: Request, answer: JoinAnswer, *, keyed: bool = False) -> None:
    """Someone took a place; or sent the same idempotency key again, and has the place it had."""
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
    """A call was refused for coming too often; `who` says by what it was known: an address, a phone number."""
    fields: dict[str, str | None] = {"queue": request.params["queue"][:64]} if "queue" in request.params else {}
    fields["who"] = getattr(error, "who", None)
    if _repeats.is_first("rate_limit.hit", **fields):
        _note("rate_limit.hit", request, **fields)


def store_trouble(request: Request, error: FairlineError, code: str) -> None:
    """A call that the store did not answer: where the store is, and what it said, is for the log alone."""
    if _repeats.is_first("http.store_trouble", code=code):
        log.warning("http.store_trouble", code=code, error=error.message, request_id=request.id)


def template_broken(queue: str, error: str) -> None:
    """People are shown the built-in page, since the operator's own template cannot be drawn."""
    if _repeats.is_first("page.template_broken", queue=queue):
        log.warning("page.template_broken", queue=queue, error=error)


def template_not_drawn(queue: str, error: str) -> None:
    """The same, for no fault of the template."""
    if _repeats.is_first("page.template_not_drawn", queue=queue):
        log.warning("page.template_not_drawn", queue=queue, error=error or "no answer in time")


async def write_repeats() -> None:
    """Write how often things happened again, until cancelled; then what is left."""
    try:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            _repeats.write()
    finally:
        _repeats.write(everything=True)


def _note(event: str, request: Request, **fields: Any) -> None:
    took = round((time.monotonic() - request.began) * 1000, 1)
    log.info(event, **fields, duration_ms=took, request_id=request.id)
