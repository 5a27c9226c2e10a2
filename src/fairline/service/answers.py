"""The answers to people who wait: the status of their ticket and the estimated wait."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import TicketStatus, label
from fairline.domain.waits import Cause, cause_of


class StatusAnswer(Struct, frozen=True, kw_only=True):
    """The status of a ticket, with the queue at the same moment."""

    queue: QueueId
    ticket_status: TicketStatus
    snapshot: QueueSnapshot
    settings: QueueSettings
    forecast: Forecast

    @property
    def label(self) -> str:
        """The label of the ticket."""
        return printed_label(self.queue, self.settings, self.ticket_status)

    @property
    def wait(self) -> Wait | None:
        """The estimated wait; None if the ticket does not wait, or if there is no estimate."""
        ticket_status = self.ticket_status
        return self.forecast.wait(ticket_status.position, ticket_status.joined) if ticket_status.position else None

    @property
    def wait_changed(self) -> Cause | None:
        """Why the wait is longer than this person was told before, if it is."""
        ticket_status = self.ticket_status
        if not ticket_status.position:
            return None
        return cause_of(self.settings, self.snapshot, ticket_status.position, ticket_status.joined)


def without_position(ticket_status: TicketStatus) -> TicketStatus:
    """The status of a ticket as its holder is shown it before an opening has started: nobody has a position."""
    return replace(ticket_status, position=None)


def printed_label(queue: QueueId, settings: QueueSettings, ticket_status: TicketStatus) -> str:
    """The label of a ticket, as it is printed, shown and called."""
    return label(settings.ticket_prefix or queue.upper(), ticket_status.number, ticket_status.serial)


class JoinAnswer(StatusAnswer, frozen=True, kw_only=True):
    """The answer to a join: a new ticket, or the existing one that the caller has proved to hold."""

    created: bool
    token: str
    """The ticket token, which proves that its owner holds the ticket."""
