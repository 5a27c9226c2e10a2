"""Errors that concern what a person shows: the token of a ticket or session, a user token, a priority pass."""

from __future__ import annotations

from fairline.errors.base import FairlineError, NotFound, Refused


class TokenError(FairlineError):
    """A token that does not give access to what was asked for."""

    code = "token_invalid"


class TokenMissing(TokenError):
    """The call has no token."""

    code = "token_missing"
    says = "This call needs a token. Send the token of your ticket as 'Authorization: Bearer …'."


class TokenInvalid(TokenError):
    """A token that is malformed, forged, of another kind or for another place."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The token cannot be used: {problem}. Join again to get a new one.")


class TokenMoved(TokenError):
    """The ticket has moved to another device, so the token of this device is not valid any more."""

    code = "token_moved"
    says = "This place was moved to another device. Use it there, or move it back from there."


class TokenExpired(TokenError):
    """The token has expired; the place may still exist."""

    code = "token_expired"
    says = "The token has expired. Join again to get a new one; if your place still exists, you keep it."


class UserTokenMissing(Refused):
    """The queue requires a user token, and the join has none."""

    code = "user_token_missing"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Queue {queue!r} only accepts people with a signed 'user_token' of the site. Use the link on the site, "
            "which sends one."
        )


class UserTokenInvalid(Refused):
    """A user token that is forged, damaged or for another queue, or for another user than the join says."""

    code = "user_token_invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The user_token cannot be used: {problem}. Have the site sign another one.")


class UserTokenExpired(Refused):
    """A user token past its time."""

    code = "user_token_expired"
    says = "The user_token has expired. Have the site sign another one."


class PriorityPassNotFound(NotFound):
    """No priority pass has this id."""

    code = "pass_not_found"

    def __init__(self, queue: str, pass_id: str) -> None:
        super().__init__(f"Queue {queue!r} has no priority pass {pass_id!r}: it was never issued, or it has ended.")


class PassInvalid(Refused):
    """A priority pass that is forged, ended, used up, withdrawn, or for another queue."""

    code = "pass_invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The priority pass cannot be used: {problem}. Join without it, or ask for a new one.")
