"""The settings of a queue: what is refused is refused by name, with what is allowed."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairline.domain.queue import QueueSnapshot, queue_id
from fairline.domain.queue_settings import SETTINGS, QueueSettings
from fairline.domain.settings_checks import allowed, checked
from fairline.domain.settings_groups import GROUPS, grouped_settings, setting_types
from fairline.domain.storable_text import check_text
from fairline.errors import InvalidRequest, InvalidSettings

#: For each setting, what it says it allows, values at the edges of that, and values just outside of it.
RANGES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "name": ("text of at most 200 characters", ["", "é" * 200], ["x" * 201, 5, None, b"x"]),
    "target_url": (
        "an http:// or https:// address of at most 2,000 characters",
        ["", "https://x.example/" + "a" * 1982, "http://[::1]:8080/?a=[b]#c", "https://bücher.example:443"],
        ["https://" + "a" * 1993],
    ),
    "status": ("one of active, paused, maintenance", ["active", "paused", "maintenance"], ["open", "", None, 1]),
    "retain_seconds": ("a number from 0 to 604,800", [0, 604_800], [-1, 604_801]),
    "admission": ("one of auto, manual", ["auto", "manual"], ["Auto", None]),
    "admission_rate": ("a number from 0 to 100,000", [0, 0.001, 100_000], [-0.001, 100_000.1, math.nan, math.inf, "9"]),
    "burst": ("a number from 1 to 100,000 or null", [None, 1, 100_000], [0.999, 100_001, math.nan]),
    "max_active": ("a whole number from 1 to 10,000,000", [1, 10_000_000], [0, 10_000_001, 2.5, True, None, 10**400]),
    "max_queue_size": ("a whole number from 1 to 10,000,000", [1, 10_000_000], [0, 10_000_001]),
    "stock": ("a whole number from 0 to 1,000,000,000 or null", [None, 0, 1_000_000_000], [-1, 1_000_000_001, 0.5]),
    "stock_url": (
        "an http:// or https:// address of at most 2,000 characters or null",
        [None, "HTTP://x/"],
        ["https://" + "a" * 1993],
    ),
    "heartbeat_interval_seconds": ("a number from 1 to 3,600", [1, 60], [0.9, 3601]),
    "heartbeat_timeout_seconds": ("a number from 0 to 86,400", [0, 86_400], [-1, 86_401]),
    "grace_seconds": ("a number from 0 to 3,600", [0, 3600], [-0.1, 3601]),
    "closed_page_seconds": ("a number from 0 to 86,400", [0, 86_400], [-1, 86_401]),
    "claim_seconds": ("a number from 1 to 86,400", [1, 86_400], [0, 86_401]),
    "session_seconds": ("a number from 1 to 604,800", [1, 14_400], [0.5, 604_801]),
    "session_max_seconds": ("a number from 1 to 2,592,000", [3600, 2_592_000], [0, 2_592_001]),
    "one_per": ("one of client, user, phone, ip, none", ["client", "user", "phone", "ip", "none"], ["device"]),
    "require_user_token": ("true or false", [True, False], ["yes", None, 1]),
    "join_limit_per_ip": ("a whole number from 0 to 100,000", [0, 100_000], [-1, 100_001]),
    "join_limit_per_phone": ("a whole number from 0 to 1,000", [0, 1000], [-1, 1001]),
    "join_limit_per_email": ("a whole number from 0 to 1,000", [0, 1000], [-1, 1001]),
    "ipv6_prefix": ("a whole number from 32 to 128", [32, 64, 128], [31, 129]),
    "phone_region": ("a country in two capital letters", ["", "KR"], ["K" * 201]),
    "max_party_size": ("a whole number from 1 to 1,000", [1, 1000], [0, 1001]),
    "group_size": ("a whole number from 0 to 20", [0, 20], [-1, 21]),
    "ask_name": ("one of no, optional, required", ["no", "optional", "required"], [None, "yes", True]),
    "ask_phone": ("one of no, optional, required", ["no", "required"], [None, "maybe"]),
    "ask_email": ("one of no, optional, required", ["no", "optional", "required"], [None, "yes"]),
    "ask_party_size": ("one of no, optional, required", ["no", "required"], [None, 2]),
    "priority_policy": ("one of skip, strict", ["skip", "strict"], ["lanes"]),
    "priority_skip": (
        "a list of 4 numbers from 0 to 1",
        [(0, 0, 0, 0), [0, 0.5, 0.5, 1]],
        [[0, 0.5, 1], [0, 0.1, 0.2, 0.3, 0.4], [0, 0.1, 0.5, 1.1], [0, "x", 1, 1], [0, math.nan, 1, 1], "0111", None],
    ),
    "ticket_prefix": ("at most 12 capital letters or digits", ["", "A1", "A" * 12], ["A" * 13]),
    "series": (
        "a list of at most 20 names of 1 to 4 capital letters or digits, the last a letter",
        [[], ["A", "B2C"]],
        [None, "A", [1], ["A"] * 21],
    ),
    "label_restart": ("one of never, daily", ["never", "daily"], ["weekly", None]),
    "time_zone": ("the name of a time zone", ["UTC", "Asia/Seoul"], ["x" * 201, None]),
    "opening_hours": (
        "an object with lists of at most 10 spans by weekday",
        [{}, {"monday": ("09:00-12:30",)}],
        [None, [], {"monday": "09:00-12:30"}, {"monday": [9]}],
    ),
    "closed_dates": ("a list of at most 400 dates", [[], ["2027-12-25"]], [None, [20271225]]),
    "close_early": ("true or false", [True, False], [None, 1]),
    "clear_after_minutes": ("a whole number from 0 to 1,440 or null", [None, 0, 1440], [-1, 1441, 0.5]),
    "desks": ("a list of at most 200 names of 1 to 60 visible characters", [[], ["Desk 1"]], [None, ["A"] * 201]),
    "desk_idle_seconds": ("a number from 60 to 86,400", [60, 86_400], [59, 86_401]),
    "wait_sample": ("a whole number from 3 to 200", [3, 200], [2, 201]),
    "usual_service_minutes": ("a number from 0 to 1,440", [0, 7.5, 1440], [-1, 1441, None]),
    "message": ("text of at most 2,000 characters", ["", "x" * 2000], ["x" * 2001]),
    "closed_message": ("text of at most 2,000 characters", ["", "x" * 2000], ["x" * 2001]),
    "opens_at": ("a time with its offset", ["", "2027-01-15T09:00:00Z"], ["2027-01-15T09:00:00" + "0" * 22]),
    "logo": (
        "a PNG, JPEG, WebP, GIF or SVG image as a data: address of at most 10,000 characters",
        ["", "data:image/png;base64," + "A" * 9976],
        ["A" * 10_001],
    ),
    "accent_colour": ("a colour, as # and six hexadecimal digits", ["", "#0b6bCB"], ["#" * 201]),
    "background_colour": ("a colour, as # and six hexadecimal digits", ["", "#ffffff"], ["#" * 201]),
    "texts": (
        "an object with at most 50 texts by name, of at most 2,000 characters each",
        [{}, {"waiting_title": "Nearly there", "footer.de": "x" * 2000}],
        [None, 1, [], {"waiting_title": 1}, {"footer": "x" * 2001}],
    ),
    "page_template": ("text of at most 10,000 characters", ["", "x" * 10_000], ["x" * 10_001]),
    "passthrough": ("true or false", [True, False], ["yes", 1, None]),
    "bypass_paths": ("a list of at most 50 patterns", [[], ["/static/*", "*.css"]], [None, "x", [1], ["/" * 201]]),
    "bypass_agents": (
        "a list of at most 50 parts of names, of 3 letters or more",
        [[], ["Googlebot"]],
        [None, "x", [1], ["G" * 201]],
    ),
    "bypass_addresses": (
        "a list of at most 50 addresses or networks",
        [[], ["10.0.0.0/8", "::1"]],
        [None, "x", [1], ["1" * 201]],
    ),
    "notices": (
        "a list with any of joined, nearly, called, returned, transferred, opening_started",
        [[], ["joined", "nearly", "called", "returned", "transferred"]],
        [None, "called", ["calls"], [1]],
    ),
    "notice_place": ("a whole number from 1 to 100", [1, 100], [0, 101, 2.5]),
}


def refused(changes: dict[str, Any], base: QueueSettings | None = None) -> InvalidSettings:
    try:
        checked(changes, base)
    except InvalidSettings as error:
        return error
    pytest.fail(f"{changes!r:.200} is taken")


def test_every_setting_has_its_range_here() -> None:
    assert list(RANGES) == list(SETTINGS)


def test_the_edges_of_a_range_are_inside() -> None:
    for name, (_, good, _) in RANGES.items():
        for value in good:
            kept = getattr(checked({name: value}), name)
            assert kept == (tuple(value) if isinstance(value, list) else value), name


def test_a_bad_value_is_refused_by_name_and_range() -> None:
    for name, (words, _, bad) in RANGES.items():
        for value in bad:
            error = refused({name: value})
            assert error.field == name, value
            assert error.problem.startswith(f"must be {words}; got "), (name, error.problem)
            assert len(str(error)) < 300, name


def test_what_a_setting_allows_can_be_said() -> None:
    assert {name: allowed(name) for name in SETTINGS} == {name: f"must be {RANGES[name][0]}" for name in SETTINGS}


def test_each_setting_is_in_exactly_one_group() -> None:
    groups = grouped_settings()
    assert [name for names in groups.values() for name in names] == list(SETTINGS)
    assert all(groups.values())
    assert [names[0] for names in groups.values()] == list(GROUPS.values())


def test_a_setting_that_can_be_unset_is_unset_by_default() -> None:
    """So that a store need not tell an unset setting from one that a queue is older than."""
    assert {name for name, (_, optional) in setting_types().items() if optional} == {
        name for name in SETTINGS if getattr(QueueSettings(), name) is None
    }


def test_text_that_no_store_can_keep_is_refused() -> None:
    for name, (text, words) in product(
        SETTINGS, {"a\x00b": "NUL", "a\ud800": "surrogate", "\udfff\ud800": "surrogate"}.items()
    ):
        error = refused({name: text})
        assert error.field == name, text
        assert words in error.problem, (name, text)


def test_check_text_raises_the_error_it_is_told_to() -> None:
    with pytest.raises(InvalidRequest, match=r"^reason: must not contain a NUL"):
        check_text("reason", "\x00", InvalidRequest)
    check_text("reason", "𝄞 é\n", InvalidRequest)


def test_an_unknown_setting_is_refused_with_the_nearest_there_is() -> None:
    error = refused({"max_actve": 5})
    assert error.field == "max_actve"
    assert error.problem.endswith("Did you mean max_active?")
    assert "fairline queue set --help" in refused({"zzz": 5}).problem
    assert len(refused({"x" * 500: 1}).field) <= 80


def test_settings_at_odds_with_each_other_are_refused() -> None:
    odd: list[tuple[dict[str, Any], str]] = [
        ({"priority_skip": [0.1, 0.2, 0.3, 0.4]}, "priority_skip"),
        ({"priority_skip": [0, 0.5, 0.2, 1]}, "priority_skip"),
        ({"heartbeat_timeout_seconds": 9.9}, "heartbeat_timeout_seconds"),
        ({"heartbeat_interval_seconds": 61}, "heartbeat_timeout_seconds"),
        ({"session_seconds": 14_401}, "session_max_seconds"),
        ({"session_max_seconds": 3599}, "session_max_seconds"),
        ({"target_url": "ftp://x.example/"}, "target_url"),
        ({"target_url": "javascript:alert(1)"}, "target_url"),
        ({"target_url": "x.example"}, "target_url"),
        ({"target_url": "https://"}, "target_url"),
        ({"target_url": "https://x.example/a b"}, "target_url"),
        ({"target_url": "http://[foo/"}, "target_url"),
        ({"target_url": "http://[::1]foo/"}, "target_url"),
        ({"target_url": "http://a:99999999/"}, "target_url"),
        ({"target_url": "http://a:x/"}, "target_url"),
        ({"target_url": "http://:80/"}, "target_url"),
        ({"stock_url": "file:///etc/passwd"}, "stock_url"),
        ({"stock_url": "http://[foo/"}, "stock_url"),
        ({"stock_url": "http://a:0/"}, "stock_url"),
        ({"ticket_prefix": "demo"}, "ticket_prefix"),
        ({"ticket_prefix": "A-B"}, "ticket_prefix"),
        ({"ticket_prefix": "A\n"}, "ticket_prefix"),
        ({"opens_at": "tomorrow"}, "opens_at"),
        ({"opens_at": "2027-01-15T09:00:00"}, "opens_at"),
        ({"logo": "https://shop.example/logo.png"}, "logo"),
        ({"logo": "data:text/html,<script>"}, "logo"),
        ({"logo": "data:image/svg+xml,<svg onload='x y'>"}, "logo"),
        ({"accent_colour": "red"}, "accent_colour"),
        ({"background_colour": "#fff; }"}, "background_colour"),
        ({"texts": {"waiting": "x"}}, "texts"),
        ({"texts": {"waiting_title.xx": "x"}}, "texts"),
        ({"texts": {"waiting_title.": "x"}}, "texts"),
    ]
    for changes, field in odd:
        assert refused(changes).field == field, changes


def test_settings_are_checked_together_with_what_was_set_before() -> None:
    base = checked({"session_seconds": 100, "session_max_seconds": 200})
    assert refused({"session_seconds": 201}, base).field == "session_max_seconds"
    assert checked({"session_seconds": 200}, base).session_max_seconds == 200


def test_no_need_to_stay_in_touch_goes_with_any_interval() -> None:
    settings = checked({"heartbeat_timeout_seconds": 0, "heartbeat_interval_seconds": 3600})
    assert settings.heartbeat_timeout_seconds == 0


def test_what_is_not_changed_stays() -> None:
    base = checked({"admission_rate": 3, "stock": 5, "name": "Sale"})
    changed = checked({"stock": None}, base)
    assert (changed.admission_rate, changed.stock, changed.name) == (3, None, "Sale")
    assert base.stock == 5


def test_the_bucket_is_the_burst_or_the_rate_and_holds_a_whole_token() -> None:
    for rate, burst, bucket in ((10, None, 10), (0.3, None, 1), (0, None, 1), (10, 2, 2), (2, 50, 50)):
        assert checked({"admission_rate": rate, "burst": burst}).bucket == bucket, (rate, burst)


def test_a_queue_id_is_kept_as_it_is() -> None:
    for text in ("a", "A", "0", "demo", "Sale_2026.spring-1", "a" * 64):
        assert queue_id(text) == text


BAD_IDS = ["", "a" * 65, "-a", ".a", "_a", "a b", "é", "a\n", "\na", "{a}", "a/b", "a:b", "a\x00", "..", "٣", "a%20"]


def test_an_id_that_could_break_a_key_or_an_address_is_refused() -> None:
    for text in BAD_IDS:
        with pytest.raises(InvalidSettings, match="must be 1 to 64 letters") as caught:
            pytest.fail(f"{queue_id(text)!r} is taken")
        assert caught.value.field == "id", text


@given(st.dictionaries(st.sampled_from(SETTINGS), st.none() | st.booleans() | st.integers() | st.floats() | st.text()))
def test_whatever_comes_is_either_kept_or_refused_by_name(changes: dict[str, Any]) -> None:
    refused_field: str | None = None
    try:
        settings = checked(changes)
    except InvalidSettings as error:
        refused_field = error.field
    else:
        assert checked({}, settings) == settings
    assert refused_field is None or refused_field in SETTINGS


def test_stock_left_is_derived_from_states() -> None:
    snapshot = QueueSnapshot(
        0, 0, 1, waiting=9, admitted=2, active=3, completed=4, stay_seconds=0, leave_rate=0, call_rate=0
    )
    assert snapshot.inside == 5
    assert snapshot.stock_left(None) is None
    assert snapshot.stock_left(10) == 1
    assert snapshot.stock_left(5) == -4
