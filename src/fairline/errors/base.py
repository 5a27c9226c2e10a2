"""The roots of the tree: what all errors have in common, and the kinds that many of them are of."""

from __future__ import annotations

from typing import ClassVar


class FairlineError(Exception):
    """The base class of all errors that Fairline raises on purpose."""

    code: ClassVar[str] = "error"
    says: ClassVar[str] = ""
    """The message, of an error that always says the same."""

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        self.message = message or self.says
        super().__init__(self.message)
        self.retry_after = retry_after


class Invalid(FairlineError):
    """A value that can never be accepted; `field` names it."""

    code = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


class InvalidRequest(Invalid):
    """A field of a call."""


class InvalidSettings(Invalid):
    """A field of a queue's or the server's settings."""

    code = "invalid_settings"


class NotFound(FairlineError):
    """Something named in a call does not exist."""

    code = "not_found"


class Refused(FairlineError):
    """A valid call that is refused in the present state, or to this caller."""

    code = "refused"
