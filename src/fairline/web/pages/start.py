"""What a page says of a start that is to come: when it is, from when people can join, and how their order is decided.

The script of the page says the same from the same catalogue (`waiting-start.js`), and a test compares the two.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

from markupsafe import Markup, escape

from fairline.domain.next_start import NextStart
from fairline.web.pages.languages import Language

_HOUR, _DAY = 3600, 86_400
#: Where people can join longer before the start, the page says on which day.
_OTHER_DAY_HOURS = 8


class Start:
    """A start, in words."""

    def __init__(self, queue: str, words: Language, start: NextStart, now: int | None) -> None:
        self._words = words
        self._start = start
        self._now = now if now is not None else round(time.time() * 1000)
        self.starts_at = start.starts_at
        self.draws = start.draws_at is not None
        """Whether the order is drawn."""
        self.opening = start.opening is not None
        """Whether it is of an opening."""
        self.calendar_url = f"/q/{queue}/opening.ics" if start.starts_at > self._now else ""
        """The address of the file for calendars; empty once it has started."""

    @property
    def orders_at(self) -> datetime:
        """When the order is decided: at the draw, or at the start."""
        return _moment(self._start.draws_at or self._start.starts_at)

    @property
    def starts(self) -> Markup:
        """When it starts, in words."""
        name = "starts" if self._start.has_prequeue or self.draws else "opens"
        return with_time(self._words(name), _moment(self.starts_at))

    @property
    def text(self) -> Markup | str:
        """How one takes part."""
        if not self._start.has_prequeue:
            return self._words("not_open_text")
        joins = with_time(
            self._words("not_open_joins"), _moment(self._start.joins_at), day=self._start.early_hours > _OTHER_DAY_HOURS
        )
        how = self._words("not_open_draw" if self.draws else "not_open_first")
        return joins + " " + escape(how) + " " + escape(self._words("not_open_text"))

    @property
    def countdown(self) -> str:
        """How long it takes until the start, and after it until the draw."""
        until = self.starts_at if self._now < self.starts_at else self._start.draws_at or self.starts_at
        return countdown(self._words, (until - self._now) / 1000)

    def check_after(self, longest: float) -> float:
        """After how many seconds a page should check again: when people can join."""
        return min(max((self._start.joins_at - self._now) / 1000, 1.0), longest)

    def refresh_after(self, usual: float) -> int:
        """After how many seconds a page in line without scripts loads itself again: more often near the start."""
        left = (self._start.draws_at or self.starts_at) - self._now
        return max(2, min(round(usual), math.ceil(left / 1000) + 1 + self._now % 3))


def countdown(words: Language, seconds: float) -> str:
    """A time that is left, in words or as digits."""
    left = math.ceil(seconds)
    if left <= 0:
        return words("starts_soon")
    if left >= 2 * _DAY:
        return words.count("in_days", left // _DAY)
    if left >= 2 * _HOUR:
        return words.count("in_hours", left // _HOUR)
    minutes, rest = divmod(left, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def with_time(text: str, moment: datetime, *, day: bool = False) -> Markup:
    """A text with a time in it, which the script replaces with the reader's local time; with its day, if `day`."""
    moment = moment.astimezone(UTC)
    shown = Markup('<time datetime="{}"{}>{}</time>').format(
        moment.isoformat(), Markup(" data-day" if day else ""), moment.strftime("%Y-%m-%d %H:%M UTC")
    )
    return Markup(str(escape(text)).replace("{time}", str(shown)))


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
