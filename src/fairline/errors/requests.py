"""What can be wrong with calls of any kind: too many of them, or one that was sent before."""

from __future__ import annotations

from fairline.errors.base import Refused


class IdempotencyConflict(Refused):
    """The same idempotency key was sent with another body."""

    code = "idempotency_conflict"
    says = (
        "This idempotency key was used before with another body. Use a new key for a new request, "
        "or send the same body again."
    )


class RateLimited(Refused):
    """Too many calls of one kind from one address, phone, e-mail address, user or token."""

    code = "rate_limited"

    def __init__(self, who: str, retry_after: float) -> None:
        named = "e-mail address" if who == "email" else who
        super().__init__(
            f"Too many tries from this {named}. Try again in {retry_after:.0f} s.", retry_after=retry_after
        )
        self.who = who


class TooManyStreams(RateLimited):
    """The ticket, the address or the server has the largest allowed number of open streams."""

    def __init__(self, who: str, most: int, retry_after: float = 30) -> None:
        Refused.__init__(
            self,
            f"This {who} has {most:,} open streams already, which is the limit. Close one, or use no stream: send "
            f"heartbeats, or read the board every few seconds. Try a stream again in {retry_after:g} s.",
            retry_after=retry_after,
        )
        self.who = who
