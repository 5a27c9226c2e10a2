"""The report of an event as CSV, for a spreadsheet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from fairline.domain.calendar import zone_named
from fairline.domain.ticket import Reason
from fairline.web.admin.desks import DeskFiguresAnswer
from fairline.web.admin.record_wire import HourAnswer
from fairline.web.admin.report_wire import ReportAnswer
from fairline.web.admin.spreadsheet import csv_of
from fairline.web.server.http import NO_STORE, Response

CSV = "text/csv"


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


def csv_by_hour(answer: ReportAnswer) -> str:
    """The report as CSV with one line per hour."""
    zone = zone_named(answer.time_zone)
    rows: list[list[Any]] = [["queue", "name", "hour", "local_hour", *COLUMNS]]
    for hour in answer.hours:
        figures = (read(hour) for read in COLUMNS.values())
        rows.append([answer.queue, answer.name, *_times(hour.start, zone), *figures])
    return csv_of(rows)


def csv_by_desk(answer: ReportAnswer) -> str:
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


def download(name: str, text: str) -> Response:
    """A CSV file, which a browser saves under this name."""
    attached = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    return Response(200, text.encode(), b"text/csv; charset=utf-8", (*NO_STORE, attached))
