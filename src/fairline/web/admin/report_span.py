"""The time that a report covers, as the call asks for it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from fairline.domain.opening import Opening
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import InvalidRequest, OpeningNotFound
from fairline.store import DAYS_KEPT
from fairline.web.admin.operator_call import Call

HOUR_MS, MINUTE_MS = 3_600_000, 60_000

#: The last whole hour that a datetime can hold. Later times are cut to it.
_LATEST = int(datetime(9999, 12, 31, 23, tzinfo=UTC).timestamp()) * 1000


class ReportSpan(NamedTuple):
    """The time that a report covers: the hours that start at or after `since` and before `until`; None is no limit."""

    since: int | None
    until: int | None
    day: date | None = None
    opening: Opening | None = None


def day_in_query(call: Call, settings: QueueSettings, now: int) -> ReportSpan | None:
    """The day in the query. In a time zone with half hours, an hour belongs to the day in which it starts."""
    text = call.request.args.get("day")
    if not text:
        return None
    if call.request.args.get("from") or call.request.args.get("to"):
        raise InvalidRequest("day", "must not be combined with 'from' or 'to'")
    kept = days_kept(settings, now)
    today, yesterday, *_, first = kept
    day = {"today": today, "yesterday": yesterday, **{str(each): each for each in kept}}.get(text)
    if day is None:
        raise InvalidRequest(
            "day",
            f"must be today, yesterday, or a date from {first} to {today} in the queue's time zone, "
            f"{settings.time_zone}. Older hours are not stored; got {text!r:.80}",
        )
    begins, ends = settings.calendar.day(day)
    return ReportSpan(-(-begins // HOUR_MS) * HOUR_MS, -(-ends // HOUR_MS) * HOUR_MS, day)


def opening_in_query(call: Call, settings: QueueSettings, now: int) -> ReportSpan | None:
    """The hours of the opening in the query: to its end, or as far as it is."""
    name = call.request.args.get("opening")
    if not name:
        return None
    if any(call.request.args.get(other) for other in ("day", "from", "to")):
        raise InvalidRequest("opening", "must not be combined with 'day', 'from' or 'to'")
    opening = next((each for each in settings.openings if each.id == name), None)
    if opening is None:
        raise OpeningNotFound(call.queue, name[:80])
    ends = now if opening.ends_ms is None else min(now, opening.ends_ms)
    first = opening.begins_ms // HOUR_MS * HOUR_MS
    return ReportSpan(first, max(first + HOUR_MS, -(-ends // HOUR_MS) * HOUR_MS), opening=opening)


def days_kept(settings: QueueSettings, now: int) -> list[date]:
    """The days for which there can be a report, newest first."""
    today = settings.calendar.today(now)
    return [today - timedelta(days) for days in range(DAYS_KEPT + 1)]


def hours_in_query(call: Call) -> ReportSpan:
    """The whole hours from `from` up to `to`."""
    since, until = _time_in_query(call, "from"), _time_in_query(call, "to")
    if since is not None and until is not None and until <= since:
        raise InvalidRequest("to", "must be later than 'from'")
    first = None if since is None else since // HOUR_MS * HOUR_MS
    return ReportSpan(first, None if until is None else -(-until // HOUR_MS) * HOUR_MS)


def _time_in_query(call: Call, name: str) -> int | None:
    """A time in the query, in milliseconds."""
    text = call.request.args.get(name)
    if not text:
        return None
    try:
        # If the query was not encoded, the plus before the zone has become a space.
        found = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return min(_LATEST, max(0, round(found.timestamp() * 1000)))
    except (ValueError, OverflowError):
        raise InvalidRequest(name, f"must be a time such as 2027-01-15T18:00:00Z; got {text!r:.80}") from None
