"""The report of an event as a page to print."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from fairline.domain.calendar import zone_named
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import Admission
from fairline.domain.ticket import Reason
from fairline.service.fairline import Fairline
from fairline.store import Report
from fairline.web.admin.charts import HEIGHT, WIDTH, Chart, chart
from fairline.web.admin.report_span import HOUR_MS, MINUTE_MS, ReportSpan
from fairline.web.admin.report_wire import OpeningReport, ReportAnswer
from fairline.web.admin.spans import span_in_words
from fairline.web.api.wire import moment
from fairline.web.pages.languages import Language
from fairline.web.server.http import NO_STORE, Headers, Response

#: The minutes of a point in the charts of a page, and the most points. The finest step that fits is used.
STEPS = ((1, 60), (5, 72), (15, 96))
HTML = "text/html"
_POLICY = "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class ChartPoint(NamedTuple):
    """One point in the charts of a page."""

    start: int
    line: int
    joined: int
    admitted: int
    p50: float | None
    p90: float | None


class ReportPage:
    """Draws the page, with charts of the time that the report covers."""

    def __init__(self, service: Fairline) -> None:
        self._service = service
        self._template = _environment().get_template("report.html")

    async def draw(self, t: Language, answer: ReportAnswer, report: Report, asked: ReportSpan) -> Response:
        """The page of this report, which `answer` has as JSON."""
        points = await self._points(QueueId(answer.queue), report, asked)
        nonce = secrets.token_urlsafe(12)
        zone = zone_named(answer.time_zone)
        walk_in = answer.admission is Admission.MANUAL
        let_in, done = ("called", "report_served") if walk_in else ("let_in", "report_completed")
        page = self._template.render(
            report=_in_local_time(answer, zone),
            charts=_charts(t, points, zone, t(let_in)),
            t=t,
            walk_in=walk_in,
            let_in=t(let_in),
            done=t(done),
            nonce=nonce,
            width=WIDTH,
            height=HEIGHT,
            reasons=list(Reason),
        )
        policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
        headers: Headers = (*NO_STORE, (b"referrer-policy", b"no-referrer"))
        return Response(200, page.encode(), b"text/html; charset=utf-8", (*headers, policy))

    async def _points(self, queue: QueueId, report: Report, asked: ReportSpan) -> list[ChartPoint]:
        """The points of the charts: the finest ones that go back far enough, else the hours."""
        for step, most in STEPS:
            found = await self._service.series(queue, step, most)
            if not report.hours or found[0].start > report.hours[0].start:
                continue
            points = [
                ChartPoint(p.start, p.peak_waiting, p.joined, p.admitted, p.wait_p50, p.wait_p90)
                for p in found
                if (asked.since or 0) <= p.start < (asked.until or p.start + 1)
            ]
            return _from_first_activity(points)
        return [
            ChartPoint(hour.start, t.peak_waiting, t.joined, t.admitted, t.wait_p50, t.wait_p90)
            for hour in report.hours
            for t in (hour.totals,)
        ]


def _from_first_activity(points: list[ChartPoint]) -> list[ChartPoint]:
    """Leave out the points before the first activity."""
    first = next((i for i, point in enumerate(points) if any(point[1:])), 0)
    return points[max(0, first - 1) :]


def _in_local_time(answer: ReportAnswer, zone: ZoneInfo) -> ReportAnswer:
    """The report with local times."""

    def local(at: datetime | None) -> datetime | None:
        return at.astimezone(zone) if at else None

    replace = msgspec.structs.replace
    return replace(
        answer,
        at=local(answer.at),
        since=local(answer.since),
        until=local(answer.until),
        hours=[replace(hour, start=local(hour.start)) for hour in answer.hours],
        opening=_opening_in_local_time(answer.opening, zone) if answer.opening else None,
        desk_hours=[replace(hour, start=local(hour.start)) for hour in answer.desk_hours],
    )


def _opening_in_local_time(opening: OpeningReport, zone: ZoneInfo) -> OpeningReport:
    times = ("prequeue_at", "starts_at", "ends_at", "first_admission_at", "last_admission_at")
    found = {name: at.astimezone(zone) for name in times if (at := getattr(opening, name))}
    return msgspec.structs.replace(opening, **found)


def _charts(t: Language, points: Sequence[ChartPoint], zone: ZoneInfo, let_in: str) -> list[Chart]:
    if not points:
        return []
    far = points[-1].start - points[0].start > 24 * HOUR_MS
    labels = [f"{moment(point.start).astimezone(zone):{'%d.%m. %H:%M' if far else '%H:%M'}}" for point in points]
    step = (points[1].start - points[0].start) // MINUTE_MS if len(points) > 1 else 60
    each = {1: "report_people_a_minute", 60: "report_people_an_hour"}.get(step)
    counts: list[tuple[str, str, list[float | None]]] = [
        (t("column_joined"), "first", [point.joined for point in points]),
        (let_in, "second", [point.admitted for point in points]),
    ]
    waits: list[tuple[str, str, list[float | None]]] = [
        (t("median"), "first", [_minutes(point.p50) for point in points]),
        (t("percentile_90"), "second", [_minutes(point.p90) for point in points]),
    ]
    line: list[float | None] = [point.line for point in points]
    unit = t(each) if each else t.count("report_people_every", step)
    return [
        chart(t("the_line"), t("report_unit_people"), [(t("figure_waiting"), "first", line)], labels),
        chart(t("report_moved", let_in=let_in[:1].lower() + let_in[1:]), unit, counts, labels),
        chart(t("report_waits"), t("report_unit_minutes"), waits, labels),
    ]


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fairline.web.pages", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        count=_count,
        span=_span,
        day=_date,
        weekday=_weekday,
        day_and_time=_day_and_time,
        clock=_clock,
        share=_share,
        first_upper=lambda text: text[:1].upper() + text[1:],
    )
    return environment


def _language(context: Context) -> Language:
    found: Language = context["t"]
    return found


@pass_context
def _count(context: Context, number: int) -> str:
    return _language(context).number(number)


@pass_context
def _span(context: Context, seconds: float | None) -> str:
    """A duration for people: 45 s, 12 min, 1 h 05 min."""
    return "–" if seconds is None else span_in_words(_language(context), seconds)


@pass_context
def _share(context: Context, part: float | None) -> str:
    return "–" if part is None else _language(context)("percent", n=f"{part * 100:.0f}")


@pass_context
def _date(context: Context, at: date) -> str:
    t = _language(context)
    return t("date_long", day=at.day, month=t("months").split(", ")[at.month - 1], year=at.year)


@pass_context
def _weekday(context: Context, at: date) -> str:
    return _language(context)("weekdays").split(", ")[at.weekday()]


@pass_context
def _day_and_time(context: Context, at: datetime) -> str:
    return _language(context)("date_time", date=_date(context, at), time=_clock(at))


def _clock(at: datetime, hours: int = 0) -> str:
    return f"{at + timedelta(hours=hours):%H:%M}"
