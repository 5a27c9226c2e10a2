"""The call for the report of an event, in total and by hour, as JSON, CSV or a page to print."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Meta, Struct, field

from fairline.domain.calendar import zone_named
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import Admission, QueueSettings
from fairline.domain.ticket import Reason
from fairline.errors import InvalidRequest
from fairline.service.walk_in import WalkIn
from fairline.store import DAYS_KEPT, Report, Role
from fairline.web.admin.charts import HEIGHT, WIDTH, Chart, chart
from fairline.web.admin.desks import DeskFiguresAnswer, DeskHourAnswer, DeskStats
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.record_wire import CountsAnswer, HourAnswer
from fairline.web.admin.spreadsheet import csv_of
from fairline.web.api.wire import moment
from fairline.web.server.http import NO_STORE, Headers, Response, private
from fairline.web.server.operations import Operation, Query

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
CSV, HTML = "text/csv", "text/html"
#: The minutes of a point in the charts of a page, and the most points. The finest step that fits is used.
STEPS = ((1, 60), (5, 72), (15, 96))
#: The last whole hour that a datetime can hold. Later times are cut to it.
_LATEST = int(datetime(9999, 12, 31, 23, tzinfo=UTC).timestamp()) * 1000
_POLICY = "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _left_by(reason: Reason, hour: HourAnswer) -> int:
    return hour.expired_by_reason[reason]


COLUMNS: dict[str, Callable[[HourAnswer], Any]] = {
    "joined": lambda hour: hour.joined,
    "admitted": lambda hour: hour.admitted,
    "returned": lambda hour: hour.returned,
    "completed": lambda hour: hour.completed,
    "left": lambda hour: hour.expired,
    **{f"left_{reason}": partial(_left_by, reason) for reason in Reason},
    "peak_waiting": lambda hour: hour.peak_waiting,
    "average_wait_seconds": lambda hour: hour.average_wait_seconds,
    "wait_p50_seconds": lambda hour: hour.wait_p50_seconds,
    "wait_p90_seconds": lambda hour: hour.wait_p90_seconds,
    "wait_p99_seconds": lambda hour: hour.wait_p99_seconds,
    "estimates_compared": lambda hour: hour.estimates.compared,
    "estimates_within_range": lambda hour: hour.estimates.within_range,
    "estimates_mean_error_seconds": lambda hour: hour.estimates.mean_error_seconds,
}


#: What a desk did in an hour, in the CSV by desk.
DESK_COLUMNS: dict[str, Callable[[DeskFiguresAnswer], Any]] = {
    "called": lambda desk: desk.called,
    "served": lambda desk: desk.served,
    "no_shows": lambda desk: desk.no_shows,
    "average_wait_seconds": lambda desk: desk.average_wait_seconds,
    "average_claim_seconds": lambda desk: desk.average_claim_seconds,
    "average_service_seconds": lambda desk: desk.average_service_seconds,
}


Form = Literal["json", "csv", "html"]
Line = Literal["hour", "desk"]
_Time = Annotated[str, Meta(max_length=40, extra_json_schema={"format": "date-time"})]


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


class ReportSpan(NamedTuple):
    """The time that a report covers: the hours that start at or after `since` and before `until`; None is no limit."""

    since: int | None
    until: int | None
    day: date | None = None


class Span(NamedTuple):
    """One point in the charts of a page."""

    start: int
    line: int
    joined: int
    admitted: int
    p50: float | None
    p90: float | None


class Reports(OperatorCalls):
    """The call for the report of an event."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._walk_in = WalkIn(operators.service)
        self._page = _environment().get_template("report.html")

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._operators.row(
                Role.VIEWER,
                "GET /queues/{queue}/report",
                "The report of an event, in total and by hour: as JSON, as CSV, or as a page to print.",
                self.report,
                {200: ReportAnswer},
                query=(
                    Query(
                        "day",
                        Annotated[str, Meta(pattern="^(today|yesterday|[0-9]{4}-[0-9]{2}-[0-9]{2})?$")],
                        "one of the last nine days in the queue's time zone: today, yesterday, or a date",
                    ),
                    Query("from", _Time, "start, such as 2027-01-15T18:00:00Z; rounded down to a whole hour"),
                    Query("to", _Time, "end; rounded up to a whole hour"),
                    Query("format", Form, "json, csv or html; default json", "must be json, csv or html"),
                    Query(
                        "by", Line, "with format=csv: hour for one line per hour, desk for one line per desk and hour"
                    ),
                ),
                problems=("invalid_request",),
                also=(CSV, HTML),
            )
        ]

    async def report(self, call: Call) -> Response:
        """The report in the requested format."""
        form = call.request.args.get("format", "json")
        by = call.request.args.get("by") or "hour"
        if by not in ("hour", "desk") or (by == "desk" and form != "csv"):
            raise InvalidRequest("by", f"must be hour, or desk with format=csv; got {by!r:.80}")
        snapshot, settings = await self._service.snapshot(call.queue)
        asked = _day_in_query(call, settings, snapshot.now) or _hours_in_query(call)
        report = await self._service.report(call.queue, asked.since, asked.until)
        figures = DeskStats.of(await self._walk_in.desk_tallies(call.queue, asked.since, asked.until))
        answer = _answer(call.queue, settings, snapshot.now, asked, report, figures)
        if form == "csv":
            name = "-".join(
                [call.queue, *([str(asked.day)] if asked.day else []), "desks" if by == "desk" else "report"]
            )
            return _download(f"{name}.csv", _csv_by_desk(answer) if by == "desk" else _csv(answer))
        if form == "html":
            return self._html(answer, await self._spans(call.queue, report, asked.since, asked.until))
        return private(200, answer)

    async def _spans(self, queue: QueueId, report: Report, since: int | None, until: int | None) -> list[Span]:
        """The points of the charts: the finest ones that go back far enough, else the hours."""
        for step, points in STEPS:
            found = await self._service.series(queue, step, points)
            if not report.hours or found[0].start > report.hours[0].start:
                continue
            spans = [
                Span(p.start, p.peak_waiting, p.joined, p.admitted, p.wait_p50, p.wait_p90)
                for p in found
                if (since or 0) <= p.start < (until or p.start + 1)
            ]
            return _from_first_activity(spans)
        return [
            Span(hour.start, t.peak_waiting, t.joined, t.admitted, t.wait_p50, t.wait_p90)
            for hour in report.hours
            for t in (hour.totals,)
        ]

    def _html(self, answer: ReportAnswer, spans: Sequence[Span]) -> Response:
        nonce = secrets.token_urlsafe(12)
        zone = zone_named(answer.time_zone)
        walk_in = answer.admission is Admission.MANUAL
        let_in, done = ("Called", "Served") if walk_in else ("Let in", "Completed")
        page = self._page.render(
            report=_in_local_time(answer, zone),
            charts=_charts(spans, zone, let_in.lower()),
            walk_in=walk_in,
            let_in=let_in,
            done=done,
            nonce=nonce,
            width=WIDTH,
            height=HEIGHT,
            reasons=list(Reason),
        )
        policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
        headers: Headers = (*NO_STORE, (b"referrer-policy", b"no-referrer"))
        return Response(200, page.encode(), b"text/html; charset=utf-8", (*headers, policy))


def _answer(
    queue: QueueId, settings: QueueSettings, now: int, asked: ReportSpan, report: Report, figures: DeskStats
) -> ReportAnswer:
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


def _day_in_query(call: Call, settings: QueueSettings, now: int) -> ReportSpan | None:
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


def days_kept(settings: QueueSettings, now: int) -> list[date]:
    """The days for which there can be a report, newest first."""
    today = settings.calendar.today(now)
    return [today - timedelta(days) for days in range(DAYS_KEPT + 1)]


def _hours_in_query(call: Call) -> ReportSpan:
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


def _csv(answer: ReportAnswer) -> str:
    """The report as CSV with one line per hour."""
    zone = zone_named(answer.time_zone)
    rows: list[list[Any]] = [["queue", "name", "hour", "local_hour", *COLUMNS]]
    for hour in answer.hours:
        figures = (read(hour) for read in COLUMNS.values())
        rows.append([answer.queue, answer.name, *_times(hour.start, zone), *figures])
    return csv_of(rows)


def _csv_by_desk(answer: ReportAnswer) -> str:
    """The report as CSV with one line per desk and hour in which the desk did something."""
    zone = zone_named(answer.time_zone)
    rows: list[list[Any]] = [["queue", "name", "hour", "local_hour", "desk", *DESK_COLUMNS]]
    for hour in answer.desk_hours:
        times = _times(hour.start, zone)
        for desk in hour.desks:
            figures = (read(desk) for read in DESK_COLUMNS.values())
            rows.append([answer.queue, answer.name, *times, desk.name, *figures])
    return csv_of(rows)


def _times(start: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """The start of an hour: in UTC for programs, and in local time."""
    return f"{start:%Y-%m-%dT%H:%M:%SZ}", f"{start.astimezone(zone):%Y-%m-%dT%H:%M}"


def _download(name: str, text: str) -> Response:
    attached = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    return Response(200, text.encode(), b"text/csv; charset=utf-8", (*NO_STORE, attached))


def _from_first_activity(spans: list[Span]) -> list[Span]:
    """Leave out the points before the first activity."""
    first = next((i for i, span in enumerate(spans) if any(span[1:])), 0)
    return spans[max(0, first - 1) :]


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
        desk_hours=[replace(hour, start=local(hour.start)) for hour in answer.desk_hours],
    )


def _charts(spans: Sequence[Span], zone: ZoneInfo, let_in: str) -> list[Chart]:
    if not spans:
        return []
    far = spans[-1].start - spans[0].start > 24 * HOUR_MS
    labels = [f"{moment(span.start).astimezone(zone):{'%d %b %H:%M' if far else '%H:%M'}}" for span in spans]
    step = (spans[1].start - spans[0].start) // MINUTE_MS if len(spans) > 1 else 60
    each = {1: "a minute", 60: "an hour"}.get(step, f"every {step} minutes")
    counts: list[tuple[str, str, list[float | None]]] = [
        ("joined", "first", [span.joined for span in spans]),
        (let_in, "second", [span.admitted for span in spans]),
    ]
    waits: list[tuple[str, str, list[float | None]]] = [
        ("median", "first", [_minutes(span.p50) for span in spans]),
        ("90th percentile", "second", [_minutes(span.p90) for span in spans]),
    ]
    return [
        chart("The line", "people, highest number", [("waiting", "first", [span.line for span in spans])], labels),
        chart(f"Joined and {let_in}", f"people {each}", counts, labels),
        chart("Waits", "minutes, of those let in", waits, labels),
    ]


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


# How the page formats values


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fairline.web.pages", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        count=lambda number: f"{number:,}",
        span=_span,
        day=_date,
        weekday=lambda day: f"{day:%A}",
        clock=_clock,
        share=_share,
    )
    return environment


def _span(seconds: float | None) -> str:
    """A duration for people: 45 s, 12 min, 1 h 05 min."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


def _share(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"


def _date(at: date) -> str:
    return f"{at:%d %B %Y}".lstrip("0")


def _clock(at: datetime, hours: int = 0) -> str:
    return f"{at + timedelta(hours=hours):%H:%M}"
