"""What can be wrong at the gate.

GateError
├── SessionTokenRefused     this pass does not let this visitor in; `reason` says why
└── ServerAway      the Fairline server could not be asked
"""

from __future__ import annotations

from enum import StrEnum

from fairline.errors import FairlineError


class Refusal(StrEnum):
    """Why a pass does not let someone in."""

    MISSING = "missing"
    INVALID = "invalid"
    EXPIRED = "expired"
    OTHER_QUEUE = "other_queue"
    TAKEN = "taken"
    """Another client began the session."""
    ENDED = "ended"
    """The server ended it: completed, revoked, lapsed."""


class GateError(FairlineError):
    """The root of what the gate raises."""

    code = "gate"


class SessionTokenRefused(GateError):
    """This pass does not let this visitor in."""

    code = "session_token_refused"

    def __init__(self, reason: Refusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ServerAway(GateError):
    """The Fairline server could not be asked."""

    code = "server_away"
