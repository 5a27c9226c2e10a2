"""Opening hours: by the clock on the wall, through changes of summer time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairline.domain.calendar import WEEKDAYS, Calendar
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidSettings

ZONE = "Europe/Zurich"
OFFICE = {day: ["09:00-12:30", "13:30-18:00"] for day in WEEKDAYS[:5]}


def at(text: str, zone: str = ZONE) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def wall(ms: int | None, zone: str = ZONE) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("now", "is_open", "opens", "closes"),
    [
        ("2027-01-15 08:59", False, "2027-01-15 09:00", None),
        ("2027-01-15 09:00", True, "2027-01-15 13:30", "2027-01-15 12:30"),
        ("2027-01-15 12:30", False, "2027-01-15 13:30", None),
        ("2027-01-15 17:59", True, "2027-01-18 09:00", "2027-01-15 18:00"),
        ("2027-01-16 11:00", False, "2027-01-18 09:00", None),
        ("2027-12-24 18:00", False, "2027-12-28 09:00", None),
    ],
)
def test_an_office_opens_and_closes(now: str, is_open: bool, opens: str, closes: str | None) -> None:
    calendar = Calendar(ZONE, OFFICE, ["2027-12-27"])
    assert (calendar.open_span(at(now)) is not None) is is_open
    assert wall(calendar.opens_at(at(now))) == opens
    assert wall(calendar.closes_at(at(now))) == closes


@pytest.mark.parametrize("day", ["2027-03-26", "2027-03-29", "2027-10-29", "2027-11-01"])
def test_the_hours_are_those_of_the_wall_on_both_sides_of_a_change_of_summer_time(day: str) -> None:
    calendar = Calendar(ZONE, OFFICE, [])
    assert wall(calendar.opens_at(at(f"{day} 03:00"))) == f"{day} 09:00"
    assert wall(calendar.closes_at(at(f"{day} 17:00"))) == f"{day} 18:00"


def test_a_night_is_as_long_as_it_is() -> None:
    calendar = Calendar(ZONE, {day: ["22:00-04:00"] for day in WEEKDAYS}, [])
    spring, autumn = calendar.open_span(at("2027-03-27 23:00")), calendar.open_span(at("2027-10-30 23:00"))
    assert spring
    assert autumn
    assert [(end - begin) / 3_600_000 for begin, end in (spring, autumn)] == [5, 7]


def test_days_are_23_to_25_hours_long() -> None:
    calendar = Calendar(ZONE, {}, [])
    hours = []
    for day in ("2027-01-15", "2027-03-28", "2027-10-31"):
        _, today, tomorrow = calendar.days(at(f"{day} 12:00"))
        hours.append((tomorrow - today) / 3_600_000)
    assert hours == [24, 23, 25]


def test_past_midnight_it_is_still_the_day_before() -> None:
    calendar = Calendar(ZONE, {"friday": ["20:00-02:00"]}, ["2027-01-22"])
    assert wall(calendar.closes_at(at("2027-01-16 01:59"))) == "2027-01-16 02:00"
    assert calendar.open_span(at("2027-01-16 02:00")) is None
    assert wall(calendar.opens_at(at("2027-01-16 02:00"))) == "2027-01-29 20:00"
    assert wall(calendar.last_closing(at("2027-01-18 12:00"))) == "2027-01-16 02:00"


def test_spans_that_touch_are_one() -> None:
    calendar = Calendar("UTC", {"friday": ["20:00-24:00"], "saturday": ["00:00-03:00"]}, [])
    assert wall(calendar.closes_at(at("2027-01-15 21:00", "UTC")), "UTC") == "2027-01-16 03:00"


def test_without_hours_it_is_open_but_on_closed_dates() -> None:
    assert not Calendar(ZONE, {}, []).limited
    calendar = Calendar(ZONE, {}, ["2027-01-16"])
    assert calendar.limited
    assert calendar.open_span(at("2027-01-16 12:00")) is None
    assert wall(calendar.closes_at(at("2027-01-15 12:00"))) == "2027-01-16 00:00"
    assert wall(calendar.opens_at(at("2027-01-16 12:00"))) == "2027-01-17 00:00"


def test_what_never_opens_says_so() -> None:
    calendar = Calendar(ZONE, {"monday": ["00:00-24:00"]}, [f"2027-{n // 28 + 1:02}-{n % 28 + 1:02}" for n in range(9)])
    assert calendar.opens_at(at("2027-01-02 12:00")) == at("2027-01-11 00:00")
    always = Calendar(ZONE, {day: ["00:00-24:00"] for day in WEEKDAYS}, [])
    assert always.closes_at(at("2027-01-02 12:00")) is None


@given(
    minutes=st.integers(0, 60 * 24 * 365),
    zone=st.sampled_from(["UTC", ZONE, "Asia/Seoul", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"]),
)
def test_what_is_open_closes_and_what_is_closed_opens(minutes: int, zone: str) -> None:
    calendar = Calendar(zone, {**OFFICE, "saturday": ["22:00-03:00"]}, ["2027-05-01"])
    now = round((datetime(2027, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).timestamp() * 1000)
    before, today, tomorrow = calendar.days(now)
    assert before < today <= now < tomorrow
    opens, closes, last = calendar.opens_at(now), calendar.closes_at(now), calendar.last_closing(now)
    assert opens
    assert now < opens
    assert calendar.open_span(opens) is not None
    assert calendar.open_span(opens - 1) is None
    assert last
    assert last <= now
    if closes:
        assert now < closes < opens
        assert calendar.open_span(closes) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_zone", "Europe/Nowhere"),
        ("time_zone", ""),
        ("time_zone", "../etc/passwd"),
        ("opening_hours", {"mon": ["09:00-10:00"]}),
        ("opening_hours", {"monday": ["9-10"]}),
        ("opening_hours", {"monday": ["09:00-25:00"]}),
        ("opening_hours", {"monday": ["09:00-09:00"]}),
        ("opening_hours", {"monday": "09:00-10:00"}),
        ("opening_hours", {"monday": ["09:00-10:00"] * 11}),
        ("closed_dates", ["25.12.2027"]),
        ("closed_dates", ["2027-01-01"] * 401),
        ("phone_region", "Germany"),
        ("series", ["A1"]),
        ("series", ["a"]),
        ("series", ["A", "A"]),
        ("desks", [" Desk"]),
        ("desks", ["Desk\n1"]),
        ("desks", ["\u202eDesk"]),
        ("desks", ["Desk 1", " "]),
        ("desks", ["x" * 61]),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(field: str, value: object) -> None:
    with pytest.raises(InvalidSettings) as refused:
        checked({field: value})
    assert refused.value.field == field
