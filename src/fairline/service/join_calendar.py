"""The calendar for a join: opening hours and line length, computed from a queue's settings for the present moment."""

from __future__ import annotations

from fairline.domain.estimate import Forecast
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import QueueClosed
from fairline.store import JoinCalendar


def join_calendar_at(settings: QueueSettings, snapshot: QueueSnapshot) -> JoinCalendar:
    """The days and opening spans around now, and how long the line may become so that everyone is served today."""
    calendar, now = settings.calendar, snapshot.now
    closes = calendar.closes_at(now) if calendar.limited and settings.close_early else None
    longest = None
    if closes is not None:
        longest = Forecast(settings, snapshot).last_within((closes - now) / 1000, settings.max_queue_size)
    return JoinCalendar(
        snapshot.version, calendar.days(now), calendar.around(now) if calendar.limited else None, longest
    )


def closed_until(queue: QueueId, refused: QueueClosed, settings: QueueSettings, now: int) -> QueueClosed:
    """Add to a refusal when the queue opens again."""
    opens = settings.calendar.opens_at(now)
    wait = 3600.0 if opens is None else (opens - now) / 1000
    return QueueClosed(queue, early=refused.early, opens_at=opens, retry_after=wait)


def refused_now(queue: QueueId, settings: QueueSettings, snapshot: QueueSnapshot) -> QueueClosed | None:
    """The refusal that a join would get now because of the opening hours; None if it would be accepted."""
    if not settings.needs_calendar:
        return None
    calendar, now = join_calendar_at(settings, snapshot), snapshot.now
    early = calendar.longest is not None and snapshot.waiting >= calendar.longest
    if not early and (calendar.open is None or any(begins <= now < ends for begins, ends in calendar.open)):
        return None
    return closed_until(queue, QueueClosed(queue, early=early), settings, now)
