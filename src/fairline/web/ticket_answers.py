"""A ticket's status as the API and the pages show it: builds the TicketAnswer of a StatusAnswer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from fairline.domain.estimate import Wait
from fairline.domain.opening_steps import current_opening
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Status, Ticket, TicketStatus, Went
from fairline.domain.tokens import TicketClaims
from fairline.errors import TokenInvalid, TokenMoved
from fairline.service.answers import StatusAnswer
from fairline.service.draws import draw_id
from fairline.service.fairline import Fairline
from fairline.web.api.wire import DrawRank, TicketAnswer, TransferredTo, WaitChanged, moment
from fairline.web.redirects import redirect_url
from fairline.web.session_tokens import SessionTokens

#: While an order is drawn, a client without a stream asks again after these seconds.
FIRST_AFTER_START = 1.0


class TicketAnswers:
    """Builds the answers about tickets, with the tokens that belong in them."""

    def __init__(self, service: Fairline, sessions: SessionTokens) -> None:
        self._service = service
        self._sessions = sessions

    def ticket(self, answer: StatusAnswer, *, token: str | None = None, heartbeat: bool = False) -> TicketAnswer:
        """The status of a ticket, for its holder."""
        ticket_status, settings, wait = answer.ticket_status, answer.settings, answer.wait
        seconds = wait.rounded if wait else None
        ticket_answer = TicketAnswer(
            queue=answer.queue,
            ticket=ticket_status.number,
            label=answer.label,
            status=ticket_status.status,
            position=ticket_status.position,
            queue_length=answer.snapshot.waiting,
            estimated_wait_seconds=seconds[0] if seconds else None,
            estimated_wait_range=seconds[1:] if seconds else None,
            queue_status=settings.status,
            priority=ticket_status.priority,
            joined_at=moment(ticket_status.joined),
            held_until=held_until(ticket_status),
            heartbeat_interval_seconds=settings.heartbeat_interval_seconds,
            next_heartbeat_seconds=_next_heartbeat(answer, wait) if heartbeat else UNSET,
            token=token or UNSET,
        )
        rare = self._rare_fields(answer)
        if wait is None and ticket_status.position:
            rare |= _without_estimate(answer, ticket_status.position)
        return replace(ticket_answer, **rare) if rare else ticket_answer

    def _rare_fields(self, answer: StatusAnswer) -> dict[str, Any]:
        """The fields that few answers have. Most requests come from people who wait, and they come often."""
        ticket_status, settings = answer.ticket_status, answer.settings
        fields: dict[str, Any] = {}
        if settings.stock is not None and answer.snapshot.sold_out(settings.stock):
            fields["sold_out"] = True
        if settings.stock_unknown:
            fields["stock_unknown"] = True
        if settings.message:
            fields["message"] = settings.message
        if ticket_status.on_hold:
            fields["on_hold"] = True
        if cause := answer.wait_changed:
            fields["wait_changed"] = WaitChanged(cause=cause)
        if settings.phase:
            fields |= _of_the_opening(answer)
        if ticket_status.drawn_rank and (draw := _draw_of(answer)):
            fields["draw"] = draw
        if ticket_status.status is not Status.WAITING:
            fields |= self._fields_after_waiting(answer)
        return fields

    def _fields_after_waiting(self, answer: StatusAnswer) -> dict[str, Any]:
        """The fields of a ticket that was called or admitted, or that has ended."""
        ticket_status, settings = answer.ticket_status, answer.settings
        fields: dict[str, Any] = {"reason": ticket_status.reason, "desk": ticket_status.desk}
        if ticket_status.status is Status.ADMITTED:
            session = self._sessions.token(answer)
            fields |= {"session_token": session, "redirect_url": redirect_url(settings.target_url, session)}
            fields["claim_before"] = moment(ticket_status.deadline) if ticket_status.deadline else None
        if isinstance(ticket_status, Ticket) and ticket_status.went is not None:
            fields["transferred_to"] = self._transferred_to(settings, ticket_status, ticket_status.went)
        return {name: value for name, value in fields.items() if value is not None}

    def _transferred_to(self, settings: QueueSettings, ticket_status: Ticket, went: Went) -> TransferredTo:
        """Where a transferred person is now, with the token of their new ticket."""
        there = TicketStatus(
            number=went.number, status=Status.WAITING, priority=ticket_status.priority, joined=went.joined
        )
        token = self._service.tokens.token(QueueId(went.queue), settings, there, ticket_status.client[:6].hex())
        return TransferredTo(queue=went.queue, ticket=went.number, label=went.label, token=token)


def _of_the_opening(answer: StatusAnswer) -> dict[str, Any]:
    """What the opening in progress means for a ticket."""
    settings, ticket_status = answer.settings, answer.ticket_status
    fields: dict[str, Any] = {"phase": settings.phase}
    opening = current_opening(settings)
    if opening is not None and settings.held_back and ticket_status.status is Status.WAITING:
        fields |= {"starts_at": opening.starts_at, "now": moment(answer.snapshot.now)}
        if opening.drawn:
            fields["draws_at"] = moment(opening.closes_ms)
    return fields


def _draw_of(answer: StatusAnswer) -> DrawRank | None:
    """What was drawn for a ticket, unless its opening is no longer kept."""
    ticket_status = answer.ticket_status
    for opening in answer.settings.openings:
        if opening.id == ticket_status.drawn_in and opening.count:
            return DrawRank(id=draw_id(answer.queue, opening.id), rank=ticket_status.drawn_rank, count=opening.count)
    return None


def _without_estimate(answer: StatusAnswer, position: int) -> dict[str, Any]:
    """What can be said where there is no estimate."""
    least, pace = answer.forecast.at_least(position), answer.forecast.people_per_minute
    fields: dict[str, Any] = {} if least is None else {"estimated_wait_at_least_seconds": int(least)}
    return fields if pace is None else {**fields, "people_per_minute": round(pace, 1)}


def held_until(ticket_status: TicketStatus) -> datetime | UnsetType:
    """Until when the place of someone who waits is kept; UNSET if it has no deadline."""
    deadline = ticket_status.deadline
    return moment(deadline) if deadline and ticket_status.status is Status.WAITING else UNSET


def same_ticket(claims: TicketClaims, answer: StatusAnswer) -> StatusAnswer:
    """The answer, if it is about the ticket of the token: not about a ticket with the same number in a recreated queue,
    and not about one that has moved to another device."""
    if answer.ticket_status.joined != claims.joined:
        raise TokenInvalid("it is for a queue that no longer exists")
    if answer.ticket_status.moved != claims.moved:
        raise TokenMoved
    return answer


def _next_heartbeat(answer: StatusAnswer, wait: Wait | None) -> float:
    """Seconds until the next heartbeat: with a long wait ahead, a client may send fewer, well within the timeout."""
    settings = answer.settings
    interval, ahead = settings.heartbeat_interval_seconds, wait.seconds if wait else 0.0
    if settings.held_back:
        ahead = _until_start(answer)
        if ahead < interval:
            return max(FIRST_AFTER_START, round(ahead, 1))
    if ahead <= 60 * interval:
        return interval
    longest = settings.heartbeat_timeout_seconds / 3 or 60.0
    return max(interval, round(min(ahead / 60, longest), 1))


def _until_start(answer: StatusAnswer) -> float:
    """Seconds until a client without a stream asks what the start has brought: not all at the same moment."""
    opening = current_opening(answer.settings)
    closes = opening.closes_ms if opening else answer.snapshot.now
    return max(0, closes - answer.snapshot.now) / 1000 + 0.1 * (answer.ticket_status.number % 20)
