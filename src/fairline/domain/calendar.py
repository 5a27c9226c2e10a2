"""The calendar of a queue: its opening hours and the start of its days, in its time zone.

Opening hours are local time: "09:00-12:30" means the same clock times before and after a change to or from summer
time. Results are moments in milliseconds since 1970, the only times a store knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from fairline.errors import InvalidSettings

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Limits: spans in a day, and closed dates of a queue.
MOST_SPANS, MOST_DATES = 10, 400
#: How far ahead the next opening is searched: over a year, for seasonal businesses.
LOOK_AHEAD_DAYS = 400
_LOOK_BACK_DAYS = 10
_TWO_DAYS = 2 * 86_400_000
SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))", re.ASCII)
_ALL_DAY = "00:00-24:00"

Span = tuple[int, int]


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo:
    """The time zone with this name, or ValueError."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a valid name, or the name of a folder
        raise ValueError(name) from None


def check_hours(time_zone: str, opening_hours: Mapping[str, Sequence[str]], closed_dates: Sequence[str]) -> None:
    """Raise InvalidSettings, with the name of the setting, where no calendar can be built from these values."""
    try:
        zone_named(time_zone)
    except ValueError:
        raise InvalidSettings(
            "time_zone", f"must be the name of a time zone, such as Europe/Zurich or UTC; got {time_zone!r:.80}"
        ) from None
    for day, spans in opening_hours.items():
        if day not in WEEKDAYS:
            raise InvalidSettings("opening_hours", f"must have days from {', '.join(WEEKDAYS)}; got {day!r:.80}")
        if len(spans) > MOST_SPANS:
            raise InvalidSettings("opening_hours", f"must have at most {MOST_SPANS} spans a day; got {len(spans)}")
        for span in spans:
            _parsed(span)
    if len(closed_dates) > MOST_DATES:
        raise InvalidSettings("closed_dates", f"must have at most {MOST_DATES} dates; got {len(closed_dates)}")
    for text in closed_dates:
        try:
            date.fromisoformat(text)
        except ValueError:
            raise InvalidSettings("closed_dates", f"must have dates such as 2027-12-25; got {text!r:.80}") from None


def _parsed(span: str) -> tuple[int, int]:
    """The first and the last minute of a span. An end after midnight is above 1,440."""
    found = SPAN.fullmatch(span)
    if not found:
        raise InvalidSettings("opening_hours", f"must have spans such as 09:00-12:30; got {span!r:.80}")
    numbers = [int(number) for number in found.groups() if number is not None]
    begin, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    if begin == end:
        raise InvalidSettings("opening_hours", f"must not have empty spans; got {span!r}. All day is {_ALL_DAY}")
    return begin, end if end > begin else end + 1440


class Calendar:
    """The days and the opening hours of one queue."""

    def __init__(self, time_zone: str, opening_hours: Mapping[str, Sequence[str]], closed_dates: Sequence[str]) -> None:
        self._zone = zone_named(time_zone)
        self._closed = {date.fromisoformat(text) for text in closed_dates}
        #: Without opening hours, the queue is open all day except on closed dates.
        self.limited = any(opening_hours.values()) or bool(closed_dates)
        hours = opening_hours if any(opening_hours.values()) else {day: [_ALL_DAY] for day in WEEKDAYS}
        self._hours = [sorted(_parsed(span) for span in hours.get(day, ())) for day in WEEKDAYS]

    def days(self, now: int) -> tuple[int, int, int]:
        """The moments at which yesterday, today and tomorrow begin."""
        date_now = self._date(now)
        yesterday, today, tomorrow = (self._moment(date_now + timedelta(days), 0) for days in (-1, 0, 1))
        return yesterday, today, tomorrow

    def today(self, now: int) -> date:
        """The local date."""
        return self._date(now)

    def day(self, day: date) -> Span:
        """The moments at which this day and the next one begin."""
        return self._moment(day, 0), self._moment(day + timedelta(1), 0)

    def around(self, now: int) -> tuple[Span, ...]:
        """The opening spans from two days before now to two days after."""
        return tuple(self._spans(self._date(now) - timedelta(2), 5))

    def open_span(self, now: int) -> Span | None:
        """The opening span that contains now; None while the queue is closed."""
        return next((span for span in self.around(now) if span[0] <= now < span[1]), None)

    def closes_at(self, now: int) -> int | None:
        """When the queue closes; None if it is closed now or stays open for two days or more."""
        span = self.open_span(now)
        return span[1] if span and span[1] - now < _TWO_DAYS else None

    def opens_at(self, now: int) -> int | None:
        """When the queue opens next after now; None if that is not within a year."""
        spans = self._spans(self._date(now) - timedelta(2), LOOK_AHEAD_DAYS)
        return next((begin for begin, _ in spans if begin > now), None)

    def last_closing(self, now: int) -> int | None:
        """When the queue last closed; None if that was more than ten days ago."""
        spans = self._spans(self._date(now) - timedelta(_LOOK_BACK_DAYS), _LOOK_BACK_DAYS + 1)
        return max((end for _, end in spans if end <= now), default=None)

    def _spans(self, first: date, days: int) -> Iterator[Span]:
        """The spans that begin within this many days. Spans that touch or overlap are joined into one."""
        last: Span | None = None
        for begin, end in self._configured_spans(first, days):
            if last is not None and begin <= last[1]:
                last = (last[0], max(last[1], end))
            else:
                if last is not None:
                    yield last
                last = (begin, end)
        if last is not None:
            yield last

    def _configured_spans(self, first: date, days: int) -> Iterator[Span]:
        for offset in range(days):
            day = first + timedelta(offset)
            if day in self._closed:
                continue
            for begin, end in self._hours[day.weekday()]:
                # When clocks go back, an hour occurs twice: a span begins with the first and ends with the second.
                span = self._moment(day, begin), self._moment(day, end, fold=1)
                if span[0] < span[1]:
                    yield span

    def _date(self, now: int) -> date:
        return datetime.fromtimestamp(now / 1000, self._zone).date()

    def _moment(self, day: date, minutes: int, fold: int = 0) -> int:
        """The moment at which local time is this many minutes after midnight."""
        extra_days, minute = divmod(minutes, 1440)
        local_time = time(minute // 60, minute % 60, fold=fold, tzinfo=self._zone)
        return round(datetime.combine(day + timedelta(extra_days), local_time).timestamp() * 1000)
