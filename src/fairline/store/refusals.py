"""Why a step refused a join, as the stores say it, turned into errors."""

from __future__ import annotations

from fairline.errors import (
    FairlineError,
    IdempotencyConflict,
    NoRoom,
    PassInvalid,
    QueueFull,
    QueueMaintenance,
    RateLimited,
)
from fairline.queue import QueueId


def refusal(queue: QueueId, why: str, detail: str | int) -> FairlineError:
    """The error for one arrival that got no ticket."""
    match why:
        case "conflict":
            return IdempotencyConflict()
        case "maintenance":
            return QueueMaintenance(queue)
        case "full":
            return QueueFull(queue, int(detail))
        case "pass":
            return PassInvalid(str(detail))
        case "no_room":
            return NoRoom(queue)
        case _:
            who, _, wait = str(detail).partition(" ")
            return RateLimited(who, float(wait) / 1000)
