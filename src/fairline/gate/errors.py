"""The errors of the gate.

    FairlineError
    └── GateError
        ├── SessionTokenRefused   this session token does not let this visitor in; `reason` says why
        └── ServerAway            the Fairline server could not be asked

They belong to the tree in `fairline.errors`. They are defined here because they are part of the gate's own interface:
of the server's modules a site loads only `fairline.errors`, and the server needs none of these.
"""

from __future__ import annotations

from enum import StrEnum

from fairline.errors import FairlineError


class Refusal(StrEnum):
    """Why a session token does not let someone in."""

    MISSING = "missing"
    INVALID = "invalid"
    EXPIRED = "expired"
    OTHER_QUEUE = "other_queue"
    TAKEN = "taken"
    """Another client started the session."""
    ENDED = "ended"
    """The session is over: completed, revoked or lapsed."""


class GateError(FairlineError):
    """The root of the errors that the gate raises."""

    code = "gate"


class SessionTokenRefused(GateError):
    """This session token does not let this visitor in."""

    code = "session_token_refused"

    def __init__(self, reason: Refusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ServerAway(GateError):
    """The Fairline server could not be asked."""

    code = "server_away"
