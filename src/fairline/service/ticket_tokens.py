"""Issues ticket tokens. A client with the token holds the ticket; each token has a lifetime and may be bound to a
client."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import TOKEN_SECONDS, Ticket, TicketStatus
from fairline.domain.tokens import Keyring, TicketClaims

#: The shortest lifetime in a walk-in line: people go away with their number and come back the same day.
WALK_IN_TOKEN_SECONDS = 86_400.0


class TicketTokens:
    """Issues ticket tokens with the keys in use."""

    def __init__(self, keyring: Keyring, seconds: float = TOKEN_SECONDS) -> None:
        self._keyring = keyring
        self._seconds = seconds

    def seconds(self, settings: QueueSettings) -> float:
        """The lifetime of a token. It is longer in a walk-in line, where nobody keeps a page open that renews it."""
        return max(self._seconds, WALK_IN_TOKEN_SECONDS) if settings.is_walk_in else self._seconds

    def token(self, queue: QueueId, settings: QueueSettings, ticket_status: TicketStatus, bound: str) -> str:
        """Issue a token for the client whose digest begins with `bound`; '' is any client."""
        (token,) = self._tokens(queue, settings, [(ticket_status, bound)])
        return token

    def tokens(self, queue: QueueId, settings: QueueSettings, tickets: Iterable[Ticket]) -> list[str]:
        """Issue tokens for some tickets, each for the client that holds the ticket."""
        return self._tokens(queue, settings, [(ticket, ticket.client[:6].hex()) for ticket in tickets])

    def _tokens(self, queue: QueueId, settings: QueueSettings, tickets: list[tuple[TicketStatus, str]]) -> list[str]:
        sign, issued = self._keyring.tickets.sign, int(time.time())
        expires = issued + int(self.seconds(settings))
        return [
            sign(
                TicketClaims(
                    queue=queue,
                    number=ticket_status.number,
                    joined=ticket_status.joined,
                    issued=issued,
                    expires=expires,
                    client=bound,
                    moved=ticket_status.moved,
                )
            )
            for ticket_status, bound in tickets
        ]
