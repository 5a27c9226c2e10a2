"""The JSON of the report of an event."""

from __future__ import annotations

from datetime import date, datetime

from msgspec import Struct, field

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import Admission, QueueSettings
from fairline.store import Report
from fairline.web.admin.desks import DeskFiguresAnswer, DeskHourAnswer, DeskStats
from fairline.web.admin.record_wire import CountsAnswer, HourAnswer
from fairline.web.admin.report_span import ReportSpan
from fairline.web.api.wire import moment


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
    time_zone: str
    admission: Admission
    """How people are let in now: automatically, or called by staff at a desk."""
    totals: CountsAnswer
    hours: list[HourAnswer]
    desks: list[DeskFiguresAnswer]
    """What each desk did in this time, by name. Empty if no desk called anyone."""
    desk_hours: list[DeskHourAnswer]


def report_answer(
    queue: QueueId, settings: QueueSettings, now: int, asked: ReportSpan, report: Report, figures: DeskStats
) -> ReportAnswer:
    """The report of this queue and this time, made now."""
    return ReportAnswer(
        queue=queue,
        name=settings.name or queue,
        at=moment(now),
        since=None if asked.since is None else moment(asked.since),
        until=None if asked.until is None else moment(asked.until),
        day=asked.day,
        time_zone=settings.time_zone,
        admission=settings.admission,
        totals=CountsAnswer.of_totals(report.totals),
        hours=[HourAnswer.of(hour) for hour in report.hours],
        desks=figures.desks,
        desk_hours=figures.hours,
    )
