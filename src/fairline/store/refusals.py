"""Turns the reasons for which the stores refuse a join or an action into errors."""

from __future__ import annotations

from collections.abc import Sequence

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, TicketStatus
from fairline.errors import (
    AtCapacity,
    FairlineError,
    GroupFull,
    GroupGone,
    GroupsOff,
    HolderInLine,
    IdempotencyConflict,
    InGroup,
    InvalidRequest,
    PassInvalid,
    QueueClosed,
    QueueFull,
    QueueHeldBack,
    QueueMaintenance,
    RateLimited,
    SessionTaken,
    TokenInvalid,
    TokenMoved,
    TransitionRefused,
)
from fairline.store.constants import MOST_DESKS


def not_a_desk(names: Sequence[str], field: str = "desk") -> FairlineError:
    """The error for a name that is not one of the queue's desks."""
    return InvalidRequest(field, f"must be one of the desks of this queue: {', '.join(names)}")


def too_many_desks() -> FairlineError:
    """The error for one more desk if the queue names none and has MOST_DESKS already."""
    return InvalidRequest("name", f"There are {MOST_DESKS} desks already. Name the ones there are in 'desks'.")


def refusal(queue: QueueId, why: str, detail: str | int) -> FairlineError:
    """The error for an arrival that got no ticket."""
    match why:
        case "conflict":
            return IdempotencyConflict()
        case "maintenance":
            return QueueMaintenance(queue)
        case "full":
            return QueueFull(queue, int(detail))
        case "pass":
            return PassInvalid(str(detail))
        case "at_capacity":
            return AtCapacity(queue)
        case "closed":
            return QueueClosed(queue)
        case "group_off":
            return GroupsOff(queue)
        case "group_gone":
            return GroupGone()
        case "group_full":
            return GroupFull()
        case "closing":
            return QueueClosed(queue, early=True)
        case "series":
            names = f"one of {detail}" if detail else "left out: this queue has no series"
            return InvalidRequest("series", f"must be {names}")
        case "missing":
            return InvalidRequest(str(detail), "is missing: this queue takes nobody without it")
        case _:
            who, _, wait = str(detail).partition(" ")
            return RateLimited(who, float(wait) / 1000)


def refused(queue: QueueId, action: Action, why: str, ticket_status: TicketStatus) -> FairlineError:
    """The error for an action that was not done to a ticket."""
    match why:
        case "taken":
            return SessionTaken()
        case "moved":
            return TokenMoved()
        case "another":
            return TokenInvalid("it is for a queue that is no more")
        case "holder_in_line":
            return HolderInLine(queue)
        case "at_capacity":
            return AtCapacity(queue)
        case "held_back":
            return QueueHeldBack(queue)
        case "in_group":
            return InGroup()
        case _:
            return TransitionRefused(action, ticket_status.found, ticket_status.reason)
