"""A queue over time, a forecast, and the report of an evening, on a running server."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import httpx
import pytest

from tests.web.admin.desk import Join, MakeQueue, moment


def busy(admin: httpx.Client, queue: str, join: Join, people: int = 6) -> None:
    """Some who come, two who are done, one who does not show up."""
    for _ in range(people):
        join(queue)
    admin.post(f"/queues/{queue}/call-next", json={"count": 3})
    for path in ("1/start", "1/complete", "2/start", "2/complete", "3/no-show"):
        assert admin.post(f"/queues/{queue}/tickets/{path}").status_code == 200


# Over time


@pytest.mark.parametrize(("span", "seconds", "points"), [("hour", 60, 60), ("six_hours", 300, 72), ("day", 900, 96)])
def test_a_series_has_no_holes_and_ends_now(
    admin: httpx.Client, queue: str, join: Join, span: str, seconds: int, points: int
) -> None:
    busy(admin, queue, join)
    found = admin.get(f"/queues/{queue}/stats/series", params={"range": span}).json()
    assert (found["step_seconds"], len(found["points"])) == (seconds, points)
    times = [moment(point["at"]) for point in found["points"]]
    assert [later - earlier for earlier, later in pairwise(times)] == [timedelta(seconds=seconds)] * (points - 1)
    assert timedelta(0) <= datetime.now(UTC) - times[-1] < timedelta(seconds=seconds + 5)
    sums = {name: sum(point[name] for point in found["points"]) for name in ("joined", "admitted", "completed")}
    assert sums == {"joined": 6, "admitted": 3, "completed": 2}
    present = found["points"][-1]
    assert (present["waiting"], present["inside"]) == (3, 0)
    assert max(point["peak_waiting"] for point in found["points"]) == 6
    assert found["points"][0] | {"at": ""} == {
        **dict.fromkeys(("waiting", "inside", "joined", "admitted", "completed", "expired", "peak_waiting"), 0),
        "at": "",
        "wait_p50_seconds": None,
        "wait_p90_seconds": None,
    }


def test_the_lines_of_all_queues_come_with_one_call(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    busy_one, quiet = make_queue(), make_queue()
    for _ in range(2):
        join(busy_one)
    found = admin.get("/stats/waiting").json()
    assert found["step_seconds"] == 60
    assert [len(line) for line in found["queues"].values()] == [60] * len(found["queues"])
    assert (found["queues"][busy_one][-1], found["queues"][quiet][-1]) == (2, 0)


def test_an_unknown_range_is_refused(admin: httpx.Client, queue: str) -> None:
    answer = admin.get(f"/queues/{queue}/stats/series", params={"range": "week"})
    assert (answer.status_code, answer.json()["field"]) == (422, "range")
    assert "hour, six_hours, day" in answer.json()["detail"]
    assert admin.get("/queues/nowhere/stats/series").status_code == 404


# Ahead


def test_a_preview_says_what_a_change_would_do_and_changes_nothing(
    admin: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(admission="manual", admission_rate=1)
    for _ in range(10):
        join(queue)
    before = admin.get(f"/queues/{queue}").json()
    asked = {"admission": "auto", "admission_rate": "0.5", "max_active": "20"}
    found = admin.get(f"/queues/{queue}/preview", params=asked).json()
    assert found["waiting"] == 10
    assert found["now"] | {"max_active": 0} == {
        "admission_rate": 1,
        "max_active": 0,
        "last_wait_seconds": None,
        "last_wait_range": None,
        "clears_at": None,
        "why": "not_called_yet",
    }
    then = found["then"]
    assert (then["admission_rate"], then["max_active"], then["why"]) == (0.5, 20, None)
    assert then["last_wait_seconds"] == 18  # the bucket has one token already
    low, high = then["last_wait_range"]
    assert low <= 18 < high
    assert timedelta(seconds=10) < moment(then["clears_at"]) - datetime.now(UTC) < timedelta(seconds=21)
    assert admin.get(f"/queues/{queue}").json() == before
    short = admin.get(f"/queues/{queue}/preview", params={**asked, "stock": 9}).json()
    assert (short["then"]["last_wait_seconds"], short["then"]["why"]) == (None, "stock_short")


@pytest.mark.parametrize(
    ("field", "value"),
    [("admission_rate", "fast"), ("admission_rate", "-1"), ("max_active", "1.5"), ("stock", "[]"), ("status", "open")],
)
def test_a_preview_of_what_cannot_be_set_is_refused(admin: httpx.Client, queue: str, field: str, value: str) -> None:
    answer = admin.get(f"/queues/{queue}/preview", params={field: value})
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "invalid_settings", field)


def test_an_empty_line_has_no_last_one(admin: httpx.Client, queue: str) -> None:
    assert admin.get(f"/queues/{queue}/preview").json()["then"]["why"] == "nobody_waits"


# The report


def test_a_report_has_the_event_and_its_hours(admin: httpx.Client, queue: str, join: Join) -> None:
    busy(admin, queue, join)
    found = admin.get(f"/queues/{queue}/report").json()
    assert (found["queue"], found["from"], found["to"]) == (queue, None, None)
    totals = found["totals"]
    assert (totals["joined"], totals["admitted"], totals["completed"], totals["expired"]) == (6, 3, 2, 1)
    assert totals["expired_by_reason"]["no_show"] == 1
    assert totals["peak_waiting"] == 6
    assert sum(hour["joined"] for hour in found["hours"]) == 6
    assert {name: totals["estimates"][name] for name in ("compared", "within_range", "share_within")} == {
        "compared": 0,
        "within_range": 0,
        "share_within": None,
    }


def test_a_report_of_some_hours_has_only_those(admin: httpx.Client, queue: str, join: Join) -> None:
    busy(admin, queue, join)
    now = datetime.now(UTC)
    around = {"from": (now - timedelta(hours=1)).isoformat(), "to": (now + timedelta(hours=1)).isoformat()}
    found = admin.get(f"/queues/{queue}/report", params=around).json()
    assert (found["totals"]["joined"], found["totals"]["peak_waiting"]) == (6, 6)
    assert moment(found["from"]).minute == moment(found["to"]).minute == 0
    past = {"from": "2020-01-01T10:30:00+01:00", "to": "2020-01-01T11:00:00Z"}
    found = admin.get(f"/queues/{queue}/report", params=past).json()
    assert (found["from"], found["to"]) == ("2020-01-01T09:00:00Z", "2020-01-01T11:00:00Z")
    assert (found["totals"]["joined"], found["totals"]["average_wait_seconds"], found["hours"]) == (0, None, [])


@pytest.mark.parametrize("form", ["json", "csv", "html"])
def test_a_report_up_to_the_end_of_all_time_is_made(admin: httpx.Client, queue: str, form: str) -> None:
    ever = {"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z", "format": form}
    assert admin.get(f"/queues/{queue}/report", params=ever).status_code == 200


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "2027-13-01"}, "to"),
        ({"from": "2027-01-02", "to": "2027-01-01"}, "to"),
        ({"format": "pdf"}, "format"),
    ],
)
def test_a_report_that_cannot_be_made_is_refused(
    admin: httpx.Client, queue: str, asked: dict[str, str], field: str
) -> None:
    answer = admin.get(f"/queues/{queue}/report", params=asked)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_the_csv_has_a_line_an_hour_and_starts_no_formula(
    admin: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(admission="manual", name='=HYPERLINK("http://evil.example")')
    busy(admin, queue, join)
    answer = admin.get(f"/queues/{queue}/report", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{queue}-report.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert sum(int(row["joined"]) for row in rows) == 6
    assert sum(int(row["left_no_show"]) for row in rows) == 1
    assert [row["name"] for row in rows] == ['\'=HYPERLINK("http://evil.example")'] * len(rows)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_the_page_runs_nothing_and_says_what_the_json_says(
    admin: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(admission="manual", name="<script>alert(1)</script>")
    empty = admin.get(f"/queues/{queue}/report", params={"format": "html"})
    assert "Nobody was in line" in empty.text
    busy(admin, queue, join)
    answer = admin.get(f"/queues/{queue}/report", params={"format": "html"})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "<script" not in answer.text
    assert " style=" not in answer.text
    assert "No-show" in answer.text
    assert answer.text.count("<svg") == 3
