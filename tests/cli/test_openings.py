"""Openings from the command line: planned in the time zone of the queue, changed, previewed and deleted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fairline.cli.times import moment
from fairline.errors import InvalidRequest
from tests.cli.typed import Here, fairline
from tests.web.running import RunningServer


def planned(here: Here, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(here("opening", *words, "--json")[0])
    return found


def test_an_opening_is_planned_changed_previewed_and_deleted(here: Here) -> None:
    here("queue", "create", "night", "time_zone=Europe/Zurich", "admission_rate=10", "stock=5")
    said, _ = here(
        *("opening", "plan", "night", "--name", "Night", "--prequeue", "2036-01-15 09:30"),
        *("--starts", "2036-01-15 10:00", "--ends", "2036-01-15T12:00:00+00:00", "--draw", "random", "--grace", "1m"),
        *("--setting", "admission_rate=40", "--setting", "message=Good luck", "--add-stock", "500"),
        *("--recheck-inside", "--after", "close"),
    )
    assert "Opening Night of night is planned: pre-queue 2036-01-15 09:30:00, starts 2036-01-15 10:00:00" in said
    assert "ends 2036-01-15 13:00:00 (Europe/Zurich)" in said
    opening = planned(here, "show", "night", "Night")
    assert f"Its draw will be night.{opening['id']}." in said
    expected = {
        "name": "Night",
        "state": "scheduled",
        "prequeue_at": "2036-01-15T08:30:00Z",
        "starts_at": "2036-01-15T09:00:00Z",
        "ends_at": "2036-01-15T12:00:00Z",
        "draw": "random",
        "draw_grace_seconds": 60,
        "settings": {"admission_rate": 40, "message": "Good luck"},
        "add_stock": 500,
        "recheck_inside": True,
        "after": "close",
    }
    assert {name: opening[name] for name in expected} == expected
    listed, _ = here("opening", "list", "night")
    for word in ("Night", "scheduled", "2036-01-15 09:30:00", "random", opening["id"], "Europe/Zurich"):
        assert word in listed
    told, _ = here("opening", "preview", "night", "Night")
    assert "10 → 40" in told.replace("  ", " ")
    assert planned(here, "preview", "night", opening["id"])["message"] == "Good luck"
    words = ("--ends", "none", "--setting", "message=", "--setting", "burst=3", "--no-recheck-inside", "--grace", "0")
    changed = planned(here, "change", "night", "Night", *words)
    expected |= {"ends_at": None, "settings": {"admission_rate": 40, "burst": 3}, "recheck_inside": False}
    assert {name: changed[name] for name in expected} == expected | {"draw_grace_seconds": 0}
    here("opening", "delete", "night", "Night", "--yes")
    said, _ = here("opening", "list", "night")
    assert "No opening is planned." in said


def test_what_cannot_be_is_refused_with_what_to_do(here: Here) -> None:
    here("queue", "create", "wrong")
    first = planned(here, "plan", "wrong", "--starts", "2036-01-15 10:00", "--ends", "2036-01-15 11:00", "--name", "A")
    planned(here, "plan", "wrong", "--starts", "2036-01-16 10:00", "--ends", "2036-01-16 11:00", "--name", "A")
    for words, problem in (
        (("plan", "wrong", "--starts", "tomorrow"), "--starts: must be a time such as 2027-01-15T09:00:00Z"),
        (("plan", "wrong", "--starts", "2036-01-15 10:30"), "It overlaps with the opening 'A'"),
        (("plan", "wrong", "--starts", "2036-01-17 10:00", "--draw", "random"), "prequeue_at: is needed with a draw"),
        (("plan", "wrong", "--starts", "2036-01-17 10:00", "--setting", "burst"), "must have the form name=value"),
        (("plan", "wrong", "--starts", "2036-01-17 10:00", "--setting", "brust=1"), "brust"),
        (("change", "wrong", first["id"]), "Name what to change"),
        (("show", "wrong", "A"), "2 openings have this name: give the id"),
        (("show", "wrong", "B"), "no opening has this id or name"),
    ):
        _, error = here("opening", *words)
        assert problem in error, words


def test_an_opening_is_checked_and_rehearsed(here: Here, server: RunningServer) -> None:
    here("queue", "create", "checked", "status=maintenance", "admission_rate=20", "stock=70")
    times = ("--prequeue", "2036-01-15 09:30", "--starts", "2036-01-15 10:00")
    here("opening", "plan", "checked", "--name", "Night", *times, "--draw", "random")
    said, _ = here("opening", "check", "checked", "Night")
    assert "ok       Stock: 70 to sell." in said
    assert "look     End: It has no end." in said
    environ = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data)}
    mended = fairline("opening", "check", "checked", "Night", "--people", "60000", **environ)
    assert mended.returncode == 1
    assert "problem  Capacity in line: 60,000 people are expected, but only 50,000 can wait." in mended.stdout
    said, _ = here("opening", "rehearse", "checked", "Night")
    assert "ok      Receipts of the draw: All 50 receipts prove their rank." in said
    assert "failed" not in said
    assert json.loads(here("opening", "check", "checked", "Night", "--json")[0])["checks"][-1]["state"] == "ok"


def test_a_time_that_the_clocks_skip_or_repeat_is_refused_with_what_to_write() -> None:
    zurich = ZoneInfo("Europe/Zurich")
    for text, found in (
        ("2027-03-28 01:59", "2027-03-28T00:59:00Z"),
        ("2027-03-28 03:00", "2027-03-28T01:00:00Z"),
        ("2027-10-31T03:00", "2027-10-31T02:00:00Z"),
        ("2027-10-31T02:30+02:00", "2027-10-31T00:30:00Z"),
        ("2027-10-31T02:30:00+01:00", "2027-10-31T01:30:00Z"),
        ("2027-12-31 00:00", "2027-12-30T23:00:00Z"),
    ):
        assert moment("starts", text, zurich) == found
    for text, ahead in (("now", 0), ("+10m", 600), ("+1.5h", 5400)):
        then = datetime.fromisoformat(moment("starts", text, zurich))
        assert abs((then - datetime.now(UTC)).total_seconds() - ahead) < 30
    with pytest.raises(InvalidRequest, match=r"must be a time such as .* or \+10m; got '\+soon'"):
        moment("starts", "+soon", zurich)
    for text in ("9999-12-31T23:59:59-12:00", "0001-01-01 00:00"):
        with pytest.raises(InvalidRequest, match="must be a time such as"):
            moment("starts", text, zurich)
    for text, problem in (
        (
            "2027-03-28 02:30",
            r"is not there in Europe/Zurich.*2027-03-28T02:30:00\+01:00 or 2027-03-28T02:30:00\+02:00",
        ),
        ("2027-10-31 02:30", r"is there twice in Europe/Zurich.*2027-10-31T02:30:00\+02:00 or 2027-10-31T02:30:00\+01"),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            moment("starts", text, zurich)
