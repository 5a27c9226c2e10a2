"""A queue over time, and ahead of time: its figures by the minute, and what a change of settings would do."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from fairline.domain.preview import Outlook, Why
from fairline.domain.queue import QueueId, QueueSettings
from fairline.errors import InvalidRequest
from fairline.service.recent_reads import RecentReads
from fairline.store import Point, Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.wire import rounded, when
from fairline.web.api.wire import moment
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query

#: However many look at a chart, it is read once in so many seconds.
FRESH_SECONDS = 2.0


class Range(StrEnum):
    """How far back a series goes."""

    HOUR = "hour"
    SIX_HOURS = "six_hours"
    DAY = "day"


#: The minutes of a point, and how many points there are.
STEPS = {Range.HOUR: (1, 60), Range.SIX_HOURS: (5, 72), Range.DAY: (15, 96)}

#: The settings that a preview may change, each with a word on it.
PREVIEWED = {
    "admission_rate": "people a second",
    "max_active": "room inside",
    "burst": "most let in at once",
    "stock": "how much there is to sell in all",
    "status": "active, paused or maintenance",
    "admission": "auto or manual",
}
_KINDS = get_type_hints(QueueSettings, include_extras=True)


class PointAnswer(Struct, frozen=True, kw_only=True):
    """Some minutes of a queue, from `at` on. Waits are those of the people admitted in them."""

    at: datetime
    waiting: int
    """At the end of them, as is `inside`."""
    inside: int
    joined: int
    admitted: int
    completed: int
    expired: int
    peak_waiting: int
    wait_p50_seconds: float | None
    wait_p90_seconds: float | None

    @classmethod
    def of(cls, point: Point) -> PointAnswer:
        """The figures by their names on the wire."""
        return cls(
            at=moment(point.start),
            waiting=point.waiting,
            inside=point.inside,
            joined=point.joined,
            admitted=point.admitted,
            completed=point.completed,
            expired=point.expired,
            peak_waiting=point.peak_waiting,
            wait_p50_seconds=rounded(point.wait_p50),
            wait_p90_seconds=rounded(point.wait_p90),
        )


class SeriesAnswer(Struct, frozen=True):
    """A queue over time: points without a hole, oldest first; the last one is the present."""

    step_seconds: int
    points: list[PointAnswer]


class OutlookAnswer(Struct, frozen=True, kw_only=True):
    """How the line will drain: the wait of whoever stands last, or why nothing honest can be said of it."""

    admission_rate: float
    max_active: int
    last_wait_seconds: int | None
    last_wait_range: tuple[int, int] | None
    clears_at: datetime | None
    """When whoever stands last now is let in."""
    why: Why | None

    @classmethod
    def of(cls, found: Outlook) -> OutlookAnswer:
        """The outlook by its names on the wire."""
        seconds, low, high = found.wait.rounded if found.wait else (None, None, None)
        return cls(
            admission_rate=found.settings.admission_rate,
            max_active=found.settings.max_active,
            last_wait_seconds=seconds,
            last_wait_range=None if low is None or high is None else (low, high),
            clears_at=when(found.clears),
            why=found.why,
        )


class PreviewAnswer(Struct, frozen=True):
    """What a change would do to the line: as it is set now, and as it would be then."""

    waiting: int
    now: OutlookAnswer
    then: OutlookAnswer


class Series(OperatorCalls):
    """What operators see in charts, and before they change something."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._series = {
            span: RecentReads(operators.service, partial(self._read, span), FRESH_SECONDS) for span in Range
        }

    def rows(self) -> list[Operation]:
        """Its calls."""
        row = self._operators.row
        return [
            row(
                Role.VIEWER,
                "GET /queues/{queue}/stats/series",
                "The queue in figures over the last hour by the minute, over six hours or over a day.",
                self.series,
                {200: SeriesAnswer},
                query=(Query("range", Range, "how far back: 60 points of a minute, 72 of five, 96 of a quarter hour"),),
            ),
            row(
                Role.VIEWER,
                "GET /queues/{queue}/preview",
                "What a change of settings would do to the line, without making it.",
                self.preview,
                {200: PreviewAnswer},
                query=tuple(Query(name, _KINDS[name], about) for name, about in PREVIEWED.items()),
                problems=("invalid_settings",),
            ),
        ]

    async def series(self, call: Call) -> Response:
        """The points of a range."""
        text = call.request.args.get("range") or Range.HOUR
        if text not in STEPS:
            raise InvalidRequest("range", f"must be one of {', '.join(Range)}; got {text!r:.80}")
        return private(200, await self._series[Range(text)].get(call.queue))

    async def _read(self, span: Range, queue: QueueId) -> SeriesAnswer:
        step, points = STEPS[span]
        return SeriesAnswer(60 * step, [*map(PointAnswer.of, await self._service.series(queue, step, points))])

    async def preview(self, call: Call) -> Response:
        """The wait of the last one, now and then."""
        given = ((name, call.request.args.get(name)) for name in PREVIEWED)
        changes = {name: _value(text) for name, text in given if text}
        snapshot, now, then = await self._service.preview(call.queue, changes)
        return private(200, PreviewAnswer(snapshot.waiting, OutlookAnswer.of(now), OutlookAnswer.of(then)))


def _value(text: str) -> Any:
    """A number or null where it is one, else the text: the settings say what they allow."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
