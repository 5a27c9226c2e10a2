"""The next start of a queue that its visitors can wait for: by an opening, or by the setting `opens_at`."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.branding import opening_time
from fairline.domain.opening import After, Opening, OpeningState, milliseconds
from fairline.domain.opening_steps import current_opening, next_opening
from fairline.domain.queue_settings import QueueSettings, QueueStatus


class NextStart(Struct, frozen=True, kw_only=True):
    """A start that is to come. Times are in milliseconds since 1970."""

    joins_at: int
    """From when people can join."""
    starts_at: int
    """From when people are let in."""
    draws_at: int | None = None
    """When the order is drawn; None if it is not."""
    opening: Opening | None = None
    """None where the queue opens by its setting `opens_at`."""

    @property
    def has_prequeue(self) -> bool:
        """Whether people can join before it."""
        return self.joins_at < self.starts_at

    @property
    def early_hours(self) -> float:
        """How many hours before the start people can join."""
        return (self.starts_at - self.joins_at) / 3_600_000


def next_start(settings: QueueSettings) -> NextStart | None:
    """The next start of a queue: of its pre-queue, if one is in progress. None if no start is planned."""
    starts = []
    opening = next_opening(settings)
    if opening is not None:
        draws_at = opening.closes_ms if opening.drawn else None
        starts.append(
            NextStart(joins_at=opening.begins_ms, starts_at=opening.starts_ms, draws_at=draws_at, opening=opening)
        )
    if settings.opens_at and settings.status is QueueStatus.MAINTENANCE:
        opens = milliseconds(opening_time(settings.opens_at))
        starts.append(NextStart(joins_at=opens, starts_at=opens))
    return min(starts, key=lambda each: each.joins_at, default=None)


def has_ended(settings: QueueSettings) -> bool:
    """Whether the last thing that happened to a closed queue is the end of an opening that closes it."""
    if settings.status is not QueueStatus.MAINTENANCE or current_opening(settings) is not None:
        return False
    ended = [each for each in settings.openings if each.state is OpeningState.ENDED]
    last = max(ended, key=lambda each: each.ends_ms or each.starts_ms, default=None)
    return last is not None and last.after is After.CLOSE
