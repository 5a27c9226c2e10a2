"""The calls behind the charts and the preview: statistics over time, and what a change of settings would do."""

from __future__ import annotations

import asyncio
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from fairline.domain.preview import Outlook, Why
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import InvalidRequest, QueueNotFound
from fairline.service.recent_reads import RecentReads
from fairline.store import Point, Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.wire import rounded, when
from fairline.web.api.wire import moment
from fairline.web.server.compression import Compression
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query

#: However many clients show a chart, its data is read once in this many seconds.
FRESH_SECONDS = 2.0


class Range(StrEnum):
    """How far back a series goes."""

    HOUR = "hour"
    SIX_HOURS = "six_hours"
    DAY = "day"


#: The minutes of a point, and the number of points.
STEPS = {Range.HOUR: (1, 60), Range.SIX_HOURS: (5, 72), Range.DAY: (15, 96)}

#: The settings that a preview may change, each with a description.
PREVIEWED = {
    "admission_rate": "people per second",
    "max_active": "capacity inside",
    "burst": "the most people let in at once",
    "stock": "how much there is to sell in total",
    "status": "active, paused or maintenance",
    "admission": "auto or manual",
}
_KINDS = get_type_hints(QueueSettings, include_extras=True)


class PointAnswer(Struct, frozen=True, kw_only=True):
    """Some minutes of a queue, starting at `at`. Waits are those of the people admitted in them."""

    at: datetime
    waiting: int
    """The number at the end of these minutes, as is `inside`."""
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
        """A point of the store as an answer."""
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
    """A queue over time: points without gaps, oldest first. The last one is the present."""

    step_seconds: int
    points: list[PointAnswer]


class WaitingAnswer(Struct, frozen=True):
    """How many people waited in each queue at the end of every minute of the last hour, by the queue's id."""

    step_seconds: int
    queues: dict[QueueId, list[int]]


class OutlookAnswer(Struct, frozen=True, kw_only=True):
    """How the line will clear: the wait of the last person in it, or why that cannot be estimated."""

    admission_rate: float
    max_active: int
    last_wait_seconds: int | None
    last_wait_range: tuple[int, int] | None
    clears_at: datetime | None
    """When the person who is last now will be let in."""
    why: Why | None

    @classmethod
    def of(cls, found: Outlook) -> OutlookAnswer:
        """An outlook as an answer."""
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
    """What a change of settings would do to the line: the outlook without it and with it."""

    waiting: int
    now: OutlookAnswer
    then: OutlookAnswer


class Series(OperatorCalls):
    """The calls behind the charts and the preview."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._series = {
            span: RecentReads(operators.service, partial(self._read, span), FRESH_SECONDS) for span in Range
        }

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/stats/series",
                "The statistics of a queue over the last hour, six hours or day.",
                self.series,
                {200: SeriesAnswer},
                compression=Compression.EACH,
                query=(
                    Query(
                        "range", Range, "how far back: 60 points of one minute, 72 of five minutes, or 96 of fifteen"
                    ),
                ),
            ),
            self._row(
                Role.VIEWER,
                "GET /stats/waiting",
                "How many people waited in each queue, minute by minute over the last hour.",
                self.waiting,
                {200: WaitingAnswer},
                compression=Compression.EACH,
            ),
            self._row(
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

    async def waiting(self, _call: Call) -> Response:
        """The line of every queue: what a list of queues draws beside each of them."""
        queues = await self._service.queues()
        found = await asyncio.gather(*map(self._waiting, queues))
        answers = {queue: line for queue, line in zip(queues, found, strict=True) if line is not None}
        return private(200, WaitingAnswer(60 * STEPS[Range.HOUR][0], answers))

    async def _waiting(self, queue: QueueId) -> list[int] | None:
        try:
            series = await self._series[Range.HOUR].get(queue)
        except QueueNotFound:
            return None  # deleted since the names were read
        return [point.waiting for point in series.points]

    async def preview(self, call: Call) -> Response:
        """The wait of the last person in line, with the current and with the changed settings."""
        given = ((name, call.request.args.get(name)) for name in PREVIEWED)
        changes = {name: _value(text) for name, text in given if text}
        snapshot, now, then = await self._service.preview(call.queue, changes)
        return private(200, PreviewAnswer(snapshot.waiting, OutlookAnswer.of(now), OutlookAnswer.of(then)))


def _value(text: str) -> Any:
    """The value as JSON if it is JSON, else as text. The settings check it."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
