"""Errors that concern the ticket of a person, and the session that it leads to."""

from __future__ import annotations

from fairline.errors.base import NotFound, Refused


class TicketNotFound(NotFound):
    """No ticket has this number, or its record has been purged."""

    code = "ticket_not_found"

    def __init__(self, queue: str, number: int) -> None:
        super().__init__(f"Queue {queue!r} has no ticket {number}: it never existed, or its record has been purged.")
        self.queue = queue
        self.number = number


class AlreadyInLine(Refused):
    """The person has a ticket, and the caller has not proved to be this person."""

    code = "already_in_line"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Someone with these details is already in queue {queue!r}. "
            "Use the same browser or client_id to come back to that place."
        )


class HolderInLine(AlreadyInLine):
    """The person who holds or would get this ticket already has another one in the same queue."""

    def __init__(self, queue: str) -> None:
        Refused.__init__(self, f"They already have another place in queue {queue!r}. Use that one, or end it first.")


class TransitionRefused(Refused):
    """The state of the ticket does not allow this action."""

    code = "transition_refused"

    def __init__(self, action: str, found: str, reason: str | None = None) -> None:
        why = f" ({reason.replace('_', ' ')})" if reason else ""
        super().__init__(f"Cannot {action.replace('_', ' ')} a ticket that is {found.replace('_', ' ')}{why}.")
        self.action = action
        self.found = found


class TicketExpired(Refused):
    """The place is gone for good."""

    code = "ticket_expired"

    def __init__(self, reason: str) -> None:
        super().__init__(f"This place is gone ({reason.replace('_', ' ')}). Join again to get a new one.")
        self.reason = reason


class SessionTaken(Refused):
    """The session was started by another client."""

    code = "session_taken"
    says = "This session is in use by another browser. Continue in that browser, or join again."
