"""What someone is told: where they stand, and how long it will take."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueId, QueueSettings, QueueSnapshot
from fairline.domain.ticket import TicketStatus, label


class StatusAnswer(Struct, frozen=True, kw_only=True):
    """What someone is told: where they stand, in a queue as it was at that moment."""

    queue: QueueId
    ticket_status: TicketStatus
    snapshot: QueueSnapshot
    settings: QueueSettings
    forecast: Forecast

    @property
    def label(self) -> str:
        """The ticket's number as a counter prints it."""
        return printed_label(self.queue, self.settings, self.ticket_status)

    @property
    def wait(self) -> Wait | None:
        """How long it will take; None once in, or where nothing honest can be said."""
        return self.forecast.wait(self.ticket_status.position) if self.ticket_status.position else None


def printed_label(queue: QueueId, settings: QueueSettings, ticket_status: TicketStatus) -> str:
    """A ticket's label: what is on its paper, and called out."""
    return label(settings.ticket_prefix or queue.upper(), ticket_status.number, ticket_status.serial)


class JoinAnswer(StatusAnswer, frozen=True, kw_only=True):
    """The answer to a join: a new ticket, or the one the caller has proved to hold."""

    created: bool
    token: str
    """Proves to hold it."""
