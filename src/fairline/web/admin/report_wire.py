"""The JSON of the report of an event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from msgspec import Struct, field

from fairline.domain.opening import Opening, OpeningState
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import Admission, QueueSettings
from fairline.service.draws import draw_id
from fairline.store import Point, Report
from fairline.web.admin.desks import DeskFiguresAnswer, DeskHourAnswer, DeskStats
from fairline.web.admin.record_wire import CountsAnswer, HourAnswer
from fairline.web.admin.report_span import MINUTE_MS, ReportSpan
from fairline.web.api.wire import moment


class OpeningReport(Struct, frozen=True, kw_only=True):
    """What an opening did."""

    id: str
    name: str
    state: OpeningState
    prequeue_at: datetime | None
    starts_at: datetime
    ends_at: datetime | None
    in_prequeue: int | None
    """How many people waited in the minute of the start; null before it, and when the minutes are no longer stored."""
    missed: bool
    """It ended without having begun, because Fairline was down in all that time."""
    drawn: int
    """How many people were drawn."""
    first_admission_at: datetime | None
    """The minute in which the first person was let in after the start."""
    last_admission_at: datetime | None
    """The minute in which the last one was, before the end."""
    draw_id: str | None

    @classmethod
    def of(cls, queue: QueueId, opening: Opening, now: int, minutes: Sequence[Point]) -> OpeningReport:
        """The report of an opening, from the points of a series."""
        start = opening.closes_ms
        ends = opening.ends_ms or now
        within = [point for point in minutes if start - MINUTE_MS < point.start < ends]
        first = within[0] if start <= now and within and within[0].start <= start else None
        let_in = [point.start for point in within if point.admitted]
        has_draw = opening.drawn and opening.state is not OpeningState.SCHEDULED and not opening.missed
        return cls(
            id=opening.id,
            name=opening.name,
            state=opening.state,
            prequeue_at=opening.prequeue_at,
            starts_at=opening.starts_at,
            ends_at=opening.ends_at,
            in_prequeue=first.peak_waiting if first and opening.prequeue_at else None,
            missed=opening.missed,
            drawn=opening.count,
            first_admission_at=moment(let_in[0]) if let_in else None,
            last_admission_at=moment(let_in[-1]) if let_in else None,
            draw_id=draw_id(queue, opening.id) if has_draw else None,
        )


class ReportAnswer(Struct, frozen=True, kw_only=True):
    """The counts of some hours, in total and for each. Without `day`, `from` and `to`, `totals` is the entire event,
    including hours that are no longer stored."""

    queue: str
    name: str
    at: datetime
    """When the report was made."""
    since: datetime | None = field(name="from")
    until: datetime | None = field(name="to")
    day: date | None
    """The day of the report, in the queue's time zone."""
    opening: OpeningReport | None
    """What the opening of the report did; null if it is not that of an opening."""
    time_zone: str
    admission: Admission
    """How people are let in now: automatically, or called by staff at a desk."""
    totals: CountsAnswer
    hours: list[HourAnswer]
    desks: list[DeskFiguresAnswer]
    """What each desk did in this time, by name. Empty if no desk called anyone."""
    desk_hours: list[DeskHourAnswer]


def report_answer(
    queue: QueueId,
    settings: QueueSettings,
    now: int,
    asked: ReportSpan,
    report: Report,
    figures: DeskStats,
    opening: OpeningReport | None = None,
) -> ReportAnswer:
    """The report of this queue and this time, made now."""
    return ReportAnswer(
        queue=queue,
        name=settings.name or queue,
        at=moment(now),
        since=None if asked.since is None else moment(asked.since),
        until=None if asked.until is None else moment(asked.until),
        day=asked.day,
        opening=opening,
        time_zone=settings.time_zone,
        admission=settings.admission,
        totals=CountsAnswer.of_totals(report.totals),
        hours=[HourAnswer.of(hour) for hour in report.hours],
        desks=figures.desks,
        desk_hours=figures.hours,
    )
