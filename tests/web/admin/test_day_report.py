"""The report of a venue's day: what each desk did, by its own clock, on a running server."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.web.admin.desk import Join, MakeQueue, moment

#: Half an hour off the hours that are counted.
#: Half an hour off the hours that are counted; and somewhere where the day neither begins nor ends while we look.
VENUE = next(zone for zone in ("Asia/Kolkata", "America/St_Johns") if 1 <= datetime.now(ZoneInfo(zone)).hour < 23)


@pytest.fixture
def office(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> str:
    """One was served at the first desk, one did not come to the second, one is called there."""
    queue = make_queue(
        name="Office", time_zone=VENUE, desks=["=Desk 1", "Desk 2"], heartbeat_timeout_seconds=0, admission="manual"
    )
    for _ in range(4):
        join(queue)
    for desk in ("=Desk 1", "Desk 2", "Desk 2"):
        admin.post(f"/queues/{queue}/call-next", json={"desk": desk})
    for action in ("1/start", "1/complete", "2/no-show"):
        admin.post(f"/queues/{queue}/tickets/{action}")
    return queue


def report(admin: httpx.Client, queue: str, **asked: str) -> httpx.Response:
    return admin.get(f"/queues/{queue}/report", params=asked)


def test_the_day_is_the_venues_and_has_its_desks(admin: httpx.Client, office: str) -> None:
    today = datetime.now(ZoneInfo(VENUE)).date()
    found = report(admin, office, day="today").json()
    assert (found["day"], found["time_zone"]) == (str(today), VENUE)
    begins = datetime(today.year, today.month, today.day, tzinfo=ZoneInfo(VENUE)).astimezone(UTC)
    # Each hour is of the day it begins in, so that none is counted twice.
    assert moment(found["from"]) == begins + timedelta(minutes=30)
    assert moment(found["to"]) - moment(found["from"]) == timedelta(days=1)
    assert found["totals"]["completed"] == 1
    desks = {desk["name"]: desk for desk in found["desks"]}
    names = ("called", "served", "no_shows")
    assert {name: [desk[each] for each in names] for name, desk in desks.items()} == {
        "=Desk 1": [1, 1, 0],
        "Desk 2": [2, 0, 1],
    }
    assert desks["=Desk 1"]["average_service_seconds"] is not None
    assert desks["Desk 2"]["average_service_seconds"] is None
    assert desks["Desk 2"]["average_wait_seconds"] >= 0
    assert sum(desk["called"] for hour in found["desk_hours"] for desk in hour["desks"]) == 3
    assert report(admin, office, day=str(today)).json()["desks"] == found["desks"]
    assert report(admin, office).json()["desks"] == found["desks"]


def test_another_day_has_none_of_it(admin: httpx.Client, office: str) -> None:
    found = report(admin, office, day="yesterday").json()
    assert (found["totals"]["joined"], found["desks"], found["desk_hours"]) == (0, [], [])


def test_each_of_the_last_nine_days_has_a_report(admin: httpx.Client, queue: str) -> None:
    today = datetime.now(UTC).date()
    for days in range(9):
        found = report(admin, queue, day=str(today - timedelta(days))).json()
        assert found["day"] == str(today - timedelta(days))
    refused = report(admin, queue, day="last monday").json()["detail"]
    assert f"a date from {today - timedelta(8)} to {today}" in refused


def test_the_csv_by_desk_has_a_line_for_each_desk_and_hour(admin: httpx.Client, office: str) -> None:
    answer = report(admin, office, day="today", format="csv", by="desk")
    today = datetime.now(ZoneInfo(VENUE)).date()
    assert answer.headers["content-disposition"] == f'attachment; filename="{office}-{today}-desks.csv"'
    rows = [*csv.DictReader(io.StringIO(answer.text))]
    assert {row["desk"] for row in rows} == {"'=Desk 1", "Desk 2"}
    assert [sum(int(row[name]) for row in rows) for name in ("called", "served", "no_shows")] == [3, 1, 1]
    for row in rows:
        local = moment(row["hour"]).astimezone(ZoneInfo(VENUE))
        assert row["local_hour"] == f"{local:%Y-%m-%dT%H:%M}"
        assert local.minute == 30
    hourly = [*csv.DictReader(io.StringIO(report(admin, office, day="today", format="csv").text))]
    assert {row["local_hour"] for row in rows} <= {row["local_hour"] for row in hourly}
    assert sum(int(row["joined"]) for row in hourly) > 0


def test_the_page_has_the_desks_by_the_clock_on_the_wall(admin: httpx.Client, office: str) -> None:
    page = report(admin, office, day="today", format="html").text
    assert "Desks by hour" in page
    assert "<dt>Called</dt>" in page
    assert "<dt>No-shows</dt><dd>1</dd>" in page
    assert "Let in" not in page
    assert f"All times are {VENUE}" in page
    assert f"{datetime.now(ZoneInfo(VENUE)):%A}" in page
    assert ":30–" in page


def test_where_no_desk_calls_there_is_nothing_of_desks(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue)
    assert report(admin, queue).json()["desks"] == []
    assert "Desks by hour" not in report(admin, queue, format="html").text
    assert len(report(admin, queue, format="csv", by="desk").text.splitlines()) == 1


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"day": "2020-01-01"}, "day"),
        ({"day": "tomorrow"}, "day"),
        ({"day": f"{datetime.now(UTC) - timedelta(9):%Y-%m-%d}"}, "day"),
        ({"day": "today", "from": "2027-01-01"}, "day"),
        ({"by": "desk"}, "by"),
        ({"by": "person", "format": "csv"}, "by"),
    ],
)
def test_a_day_that_cannot_be_reported_is_refused(
    admin: httpx.Client, queue: str, asked: dict[str, Any], field: str
) -> None:
    answer = report(admin, queue, **asked)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
