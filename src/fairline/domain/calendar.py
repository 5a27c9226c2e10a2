"""When a queue is open, and when its days begin, where it is.

Hours are given by the clock on the wall: "09:00-12:30" is what it says on both sides of a change of summer time. What
comes out are moments, in milliseconds since 1970, which is all that a store knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from fairline.errors import InvalidSettings

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: So many spans may a day have, and so many closed dates a queue.
MOST_SPANS, MOST_DATES = 10, 400
#: As far ahead as an opening is looked for: over a year, for what opens in a season.
LOOK_AHEAD_DAYS = 400
_LOOK_BACK_DAYS = 10
_TWO_DAYS = 2 * 86_400_000
SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))", re.ASCII)
_ALL_DAY = "00:00-24:00"

Span = tuple[int, int]


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo:
    """The time zone of this name, or ValueError."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # it is not there, is no name, or is a folder
        raise ValueError(name) from None


def check_hours(time_zone: str, opening_hours: Mapping[str, Sequence[str]], closed_dates: Sequence[str]) -> None:
    """Refuse what no calendar can be made of, naming the setting."""
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
    """The minutes of a day from which and until which; past midnight the end is above 1,440."""
    found = SPAN.fullmatch(span)
    if not found:
        raise InvalidSettings("opening_hours", f"must have spans such as 09:00-12:30; got {span!r:.80}")
    numbers = [int(number) for number in found.groups() if number is not None]
    begin, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    if begin == end:
        raise InvalidSettings("opening_hours", f"must have spans that last; got {span!r}. All day is {_ALL_DAY}")
    return begin, end if end > begin else end + 1440


class Calendar:
    """The days and the opening hours of one queue."""

    def __init__(self, time_zone: str, opening_hours: Mapping[str, Sequence[str]], closed_dates: Sequence[str]) -> None:
        self._zone = zone_named(time_zone)
        self._closed = {date.fromisoformat(text) for text in closed_dates}
        #: Without any hours it is open all day, but on closed dates.
        self.limited = any(opening_hours.values()) or bool(closed_dates)
        hours = opening_hours if any(opening_hours.values()) else {day: [_ALL_DAY] for day in WEEKDAYS}
        self._hours = [sorted(_parsed(span) for span in hours.get(day, ())) for day in WEEKDAYS]

    def days(self, now: int) -> tuple[int, int, int]:
        """When yesterday, today and tomorrow begin."""
        today = self._date(now)
        before, here, after = (self._moment(today + timedelta(days), 0) for days in (-1, 0, 1))
        return before, here, after

    def today(self, now: int) -> date:
        """The date on the wall."""
        return self._date(now)

    def day(self, day: date) -> Span:
        """When a day begins, and when the next one does."""
        return self._moment(day, 0), self._moment(day + timedelta(1), 0)

    def around(self, now: int) -> tuple[Span, ...]:
        """When it is open, from some days before now to some days after."""
        return tuple(self._spans(self._date(now) - timedelta(2), 5))

    def open_span(self, now: int) -> Span | None:
        """The span in which it is open now."""
        return next((span for span in self.around(now) if span[0] <= now < span[1]), None)

    def closes_at(self, now: int) -> int | None:
        """When it closes, if it is open now and does not stay so for days."""
        span = self.open_span(now)
        return span[1] if span and span[1] - now < _TWO_DAYS else None

    def opens_at(self, now: int) -> int | None:
        """When it opens next, after now; None where it does not within a year."""
        spans = self._spans(self._date(now) - timedelta(2), LOOK_AHEAD_DAYS)
        return next((begin for begin, _ in spans if begin > now), None)

    def last_closing(self, now: int) -> int | None:
        """When it last closed, within some days."""
        spans = self._spans(self._date(now) - timedelta(_LOOK_BACK_DAYS), _LOOK_BACK_DAYS + 1)
        return max((end for _, end in spans if end <= now), default=None)

    def _spans(self, first: date, days: int) -> Iterator[Span]:
        """The spans that begin on so many days; those that touch or overlap are one."""
        last: Span | None = None
        for begin, end in self._each(first, days):
            if last is not None and begin <= last[1]:
                last = (last[0], max(last[1], end))
            else:
                if last is not None:
                    yield last
                last = (begin, end)
        if last is not None:
            yield last

    def _each(self, first: date, days: int) -> Iterator[Span]:
        for offset in range(days):
            day = first + timedelta(offset)
            if day in self._closed:
                continue
            for begin, end in self._hours[day.weekday()]:
                # What is said twice in the night of the change back begins with the first and ends with the second.
                span = self._moment(day, begin), self._moment(day, end, fold=1)
                if span[0] < span[1]:
                    yield span

    def _date(self, now: int) -> date:
        return datetime.fromtimestamp(now / 1000, self._zone).date()

    def _moment(self, day: date, minutes: int, fold: int = 0) -> int:
        """When the clock on the wall shows so many minutes after midnight."""
        more, minute = divmod(minutes, 1440)
        wall = time(minute // 60, minute % 60, fold=fold, tzinfo=self._zone)
        return round(datetime.combine(day + timedelta(more), wall).timestamp() * 1000)
