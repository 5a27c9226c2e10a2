"""The answers to people who wait: the status of their ticket and the estimated wait."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import TicketStatus, label


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
        return self.forecast.wait(self.ticket_status.position) if self.ticket_status.position else None


def printed_label(queue: QueueId, settings: QueueSettings, ticket_status: TicketStatus) -> str:
    """The label of a ticket, as it is printed, shown and called."""
    return label(settings.ticket_prefix or queue.upper(), ticket_status.number, ticket_status.serial)


class JoinAnswer(StatusAnswer, frozen=True, kw_only=True):
    """The answer to a join: a new ticket, or the existing one that the caller has proved to hold."""

    created: bool
    token: str
    """The ticket token, which proves that its owner holds the ticket."""
