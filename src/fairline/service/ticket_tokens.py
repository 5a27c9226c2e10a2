"""The token of a ticket: whoever has it holds the place. How long it is good, and which client it is bound to."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fairline.domain.queue import QueueId, QueueSettings
from fairline.domain.ticket import TOKEN_SECONDS, Ticket, TicketStatus
from fairline.domain.tokens import Keyring, TicketClaims

#: How long that of a number at a counter is good at least: people go away with it, and come back the same day.
WALK_IN_TOKEN_SECONDS = 86_400.0


class TicketTokens:
    """Makes the tokens of tickets, with the keys in use."""

    def __init__(self, keyring: Keyring, seconds: float = TOKEN_SECONDS) -> None:
        self._keyring = keyring
        self._seconds = seconds

    def seconds(self, settings: QueueSettings) -> float:
        """How long a token is good: at a counter nobody keeps a page open that would renew it."""
        return max(self._seconds, WALK_IN_TOKEN_SECONDS) if settings.is_walk_in else self._seconds

    def token(self, queue: QueueId, settings: QueueSettings, ticket_status: TicketStatus, bound: str) -> str:
        """A token from now, for a client whose digest begins so; for any, where it is empty."""
        (token,) = self._tokens(queue, settings, [(ticket_status, bound)])
        return token

    def tokens(self, queue: QueueId, settings: QueueSettings, tickets: Iterable[Ticket]) -> list[str]:
        """The tokens of some tickets from now, each for the client that holds it."""
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
