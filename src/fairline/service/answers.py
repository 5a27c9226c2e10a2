"""What someone is told: where they stand, and how long it will take."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.estimate import Forecast, Wait
from fairline.domain.queue import QueueId, QueueSettings, QueueView
from fairline.domain.ticket import Standing, label


class Answer(Struct, frozen=True, kw_only=True):
    """What someone is told: where they stand, in a queue as it was at that moment."""

    queue: QueueId
    standing: Standing
    view: QueueView
    settings: QueueSettings
    forecast: Forecast

    @property
    def label(self) -> str:
        """The ticket's number as a counter prints it."""
        return printed(self.queue, self.settings, self.standing)

    @property
    def wait(self) -> Wait | None:
        """How long it will take; None once in, or where nothing honest can be said."""
        return self.forecast.wait(self.standing.position) if self.standing.position else None


def printed(queue: QueueId, settings: QueueSettings, standing: Standing) -> str:
    """A ticket's label: what is on its paper, and called out."""
    return label(settings.ticket_prefix or queue.upper(), standing.number, standing.serial)


class Welcome(Answer, frozen=True, kw_only=True):
    """The answer to a join: a new ticket, or the one the caller has proved to hold."""

    created: bool
    token: str
    """Proves to hold it."""
