"""What the calls take and answer, as types: they decode the requests and make the OpenAPI page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from fairline.arrival import JoinRequest
from fairline.queue import QueueStatus
from fairline.ticket import Reason, Status


def moment(ms: int) -> datetime:
    """Milliseconds since 1970 as a time."""
    return datetime.fromtimestamp(ms / 1000, UTC)


class Strict(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """A request body: unknown fields are refused."""


class HeartbeatRequest(Strict, frozen=True):
    """A sign of life. Both fields may be left out."""

    timestamp: float | None = None
    client_id: Annotated[str, Meta(max_length=200)] | None = None


class LeaveRequest(Strict, frozen=True):
    """Leaving: for good, or by closing the page, which starts a short grace. The token may be here for a beacon."""

    final: bool = False
    token: Annotated[str, Meta(max_length=4096)] | None = None


class TicketAnswer(Struct, kw_only=True, frozen=True):
    """Where a ticket stands."""

    queue: str
    ticket: int
    label: str
    token: str | UnsetType = UNSET
    status: Status
    reason: Reason | UnsetType = UNSET
    position: int | None
    queue_length: int
    estimated_wait_seconds: int | None
    estimated_wait_range: tuple[int, int] | None
    priority: int
    joined_at: datetime
    heartbeat_interval_seconds: float
    next_heartbeat_seconds: float | UnsetType = UNSET
    stream_url: str = "/api/v1/stream"
    redirect_url: str | UnsetType = UNSET
    session_token: str | UnsetType = UNSET
    claim_before: datetime | UnsetType = UNSET
    message: str | UnsetType = UNSET


class QueueAnswer(Struct, kw_only=True, frozen=True):
    """A queue as everyone may see it."""

    id: str
    name: str
    status: QueueStatus
    queue_length: int
    admission_rate: float
    now_serving: int
    """People inside, or let in and on their way."""
    estimated_wait_seconds: int | None
    message: str


class SessionAnswer(Struct, kw_only=True, frozen=True):
    """A stay inside."""

    status: Status
    queue: str
    ticket: int
    expires_at: datetime | None


class Problem(Struct, kw_only=True, frozen=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    field: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    found: str | UnsetType = UNSET
    version: int | UnsetType = UNSET


__all__ = [
    "HeartbeatRequest",
    "JoinRequest",
    "LeaveRequest",
    "Problem",
    "QueueAnswer",
    "SessionAnswer",
    "Strict",
    "TicketAnswer",
    "moment",
]
