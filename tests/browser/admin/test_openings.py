"""Openings on the dashboard: planned, changed, copied, cancelled and brought back, checked and rehearsed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.backends import wait_until
from tests.browser.admin.night import DESKTOP, PHONE, Come, Night, do, live
from tests.browser.axe import violations

ZURICH = ZoneInfo("Europe/Zurich")
NARROW = {"width": 320, "height": 640}


@pytest.fixture
def queue(night: Night) -> Iterator[str]:
    """A queue with a clock of its own."""
    name = f"o{secrets.token_hex(4)}"
    settings = {"id": name, "status": "maintenance", "admission_rate": 20, "time_zone": "Europe/Zurich", "stock": 90}
    night.api.post("/queues", json=settings).raise_for_status()
    yield name
    night.api.delete(f"/queues/{name}").raise_for_status()


def planned(night: Night, queue: str, **fields: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    usual = {"name": "Drop", "starts_at": (now + timedelta(days=2)).isoformat()}
    found: dict[str, Any] = night.api.post(f"/queues/{queue}/openings", json=usual | fields).raise_for_status().json()
    return found


def openings(night: Night, queue: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = night.queue("/openings", of=queue)["openings"]
    return found


def open_tab(come: Come, queue: str, **options: Any) -> Page:
    page = live(come(f"/queues/{queue}#openings", **options))
    expect(page.locator("#panel-openings .note").first).to_contain_text("Europe/Zurich")
    return page


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#opening-{name}")


def entry(page: Page, name: str) -> Locator:
    return page.locator("[data-opening]", has=page.get_by_role("heading", name=name, exact=True))


def test_an_opening_is_planned_on_the_clocks_of_the_queue(night: Night, come: Come, queue: str) -> None:
    page = open_tab(come, queue, timezone_id="Asia/Tokyo")
    expect(page.get_by_role("heading", name="No openings are planned")).to_be_visible()
    do(page, "new-opening").click()
    expect(field(page, "draw_grace_seconds")).to_be_hidden()
    field(page, "name").fill("Friday drop")
    field(page, "prequeue_at").fill("2027-01-15T19:30")
    field(page, "starts_at").fill("2027-01-15T20:00")
    notes = page.locator(".opening-form .field", has=field(page, "starts_at")).get_by_role("status")
    expect(notes).to_have_text(re.compile(r"Fri 15 Jan, 20:00 .+ · Sat 16 Jan, 04:00 your time"))
    field(page, "ends_at").fill("2027-01-15T22:00")
    field(page, "draw").select_option("random")
    field(page, "draw_grace_seconds").fill("30")
    field(page, "add_stock").fill("500")
    field(page, "recheck_inside").check()
    field(page, "after").select_option("close")
    page.locator("#opening-add-setting").select_option("admission_rate")
    do(page, "add-setting").click()
    expect(page.locator("#opening-set-admission_rate")).to_be_focused()
    page.locator("#opening-set-admission_rate").fill("2.5")
    do(page, "save-opening").click()
    made = entry(page, "Friday drop")
    expect(made).to_contain_text("Draw and start")
    expect(made).to_contain_text("20:00")
    expect(made).to_contain_text("1 setting of its own")
    (found,) = openings(night, queue)
    assert found | {"id": ""} == {
        "id": "",
        "name": "Friday drop",
        "state": "scheduled",
        "prequeue_at": "2027-01-15T18:30:00Z",
        "starts_at": "2027-01-15T19:00:00Z",
        "ends_at": "2027-01-15T21:00:00Z",
        "draw": "random",
        "draw_grace_seconds": 30,
        "settings": {"admission_rate": 2.5},
        "add_stock": 500,
        "recheck_inside": True,
        "after": "close",
        "count": 0,
        "missed": False,
        "draw_id": None,
    }
    page.goto(f"{night.server.base_url}/admin")
    card = page.locator(f'[data-queue="{queue}"]')
    expect(card).to_contain_text("Opening Sat 16 Jan, 04:00")
    page.goto(f"{night.server.base_url}/admin/queues/{queue}#history")
    expect(page.locator('[data-change="opening"]').first).to_contain_text("Opening planned: \u2068Friday drop\u2069")


def test_what_is_wrong_stands_at_its_field(night: Night, come: Come, queue: str) -> None:
    planned(night, queue, name="Other", starts_at="2027-02-01T10:00:00Z", ends_at="2027-02-01T11:00:00Z")
    page = open_tab(come, queue)
    do(page, "new-opening").click()

    def refused(name: str, text: str) -> None:
        do(page, "save-opening").click()
        expect(page.locator(f"#opening-{name}-wrong")).to_contain_text(text)
        expect(field(page, name)).to_be_focused()
        expect(page.locator(".opening-form .wrong:visible")).to_have_count(1)

    refused("starts_at", "Enter the start")
    field(page, "starts_at").fill("2020-01-01T10:00")
    refused("starts_at", "in the future")
    field(page, "starts_at").fill("2027-02-01T10:30")
    field(page, "prequeue_at").fill("2027-02-01T10:45")
    refused("prequeue_at", "before the start")
    field(page, "prequeue_at").fill("")
    field(page, "draw").select_option("random")
    refused("prequeue_at", "A draw needs a pre-queue")
    field(page, "prequeue_at").fill("2027-02-01T10:15")
    field(page, "draw_grace_seconds").fill("601")
    refused("draw_grace_seconds", "from 0 to 600")
    field(page, "draw_grace_seconds").fill("0")
    field(page, "ends_at").fill("2027-02-01T10:30")
    refused("ends_at", "after the start")
    field(page, "ends_at").fill("2027-02-01T12:30")
    field(page, "add_stock").fill("0")
    refused("add_stock", "from 1 to")
    field(page, "add_stock").fill("")
    page.locator("#opening-add-setting").select_option("max_active")
    do(page, "add-setting").click()
    page.locator("#opening-set-max_active").fill("0")
    do(page, "save-opening").click()
    expect(page.locator("#opening-set-max_active-wrong")).to_be_visible()
    page.locator("#opening-set-max_active").fill("5")
    do(page, "save-opening").click()
    expect(page.locator(".opening-form > .wrong")).to_contain_text("overlaps with the opening 'Other'")
    assert [each["name"] for each in openings(night, queue)] == ["Other"]
    page.get_by_role("button", name="Remove: Capacity inside").click()
    expect(page.locator("#opening-set-max_active")).to_have_count(0)
    page.locator("dialog").evaluate("element => element.dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    expect(field(page, "starts_at")).to_have_value("2027-02-01T10:30")  # a slip of the mouse loses nothing


def test_an_opening_is_changed_and_two_people_do_not_overwrite_each_other(night: Night, come: Come, queue: str) -> None:
    made = planned(night, queue, name="Drop", ends_at="2037-01-01T10:00:00Z", settings={"message": "Hello"})
    path = f"/queues/{queue}/openings/{made['id']}"
    page = open_tab(come, queue)
    do(entry(page, "Drop"), "edit-opening").click()
    field(page, "name").fill("Grand drop")
    night.api.patch(path, json={"after": "close"}).raise_for_status()  # another field
    do(page, "save-opening").click()
    expect(entry(page, "Grand drop")).to_contain_text("Then closed")
    found = openings(night, queue)[0]
    assert (found["name"], found["after"], found["settings"]) == ("Grand drop", "close", {"message": "Hello"})
    do(entry(page, "Grand drop"), "edit-opening").click()
    field(page, "name").fill("Mine")
    night.api.patch(path, json={"name": "Theirs"}).raise_for_status()
    do(page, "save-opening").click()
    expect(page.locator(".opening-form > .wrong")).to_be_visible()
    assert openings(night, queue)[0]["name"] == "Theirs"


def test_a_copy_is_a_week_later_at_the_same_time_on_the_clock(night: Night, come: Come, queue: str) -> None:
    begin = datetime.now(UTC) + timedelta(days=30)
    begin = begin.replace(second=0, microsecond=0)
    ends = begin + timedelta(hours=2)
    planned(night, queue, starts_at=begin.isoformat(), ends_at=ends.isoformat(), settings={"max_active": 7})
    page = open_tab(come, queue)
    do(entry(page, "Drop"), "copy-opening").click()
    local = begin.astimezone(ZURICH).replace(tzinfo=None) + timedelta(days=7)
    expect(field(page, "starts_at")).to_have_value(local.strftime("%Y-%m-%dT%H:%M"))
    field(page, "name").fill("Drop again")
    do(page, "save-opening").click()
    expect(entry(page, "Drop again")).to_be_visible()
    first, second = openings(night, queue)
    assert second["settings"] == first["settings"] == {"max_active": 7}
    assert second["id"] != first["id"]


def test_a_cancelled_opening_comes_back_by_undo(night: Night, come: Come, queue: str) -> None:
    made = planned(night, queue, settings={"max_active": 7})
    page = open_tab(come, queue)
    do(entry(page, "Drop"), "cancel-opening").click()
    expect(page.get_by_role("heading", name="No openings are planned")).to_be_visible()
    assert openings(night, queue) == []
    do(page, "undo-cancel").click()
    expect(entry(page, "Drop")).to_be_visible()
    assert openings(night, queue) == [made]


def test_a_pre_queue_is_said_on_the_page_of_the_queue(night: Night, come: Come, queue: str) -> None:
    now = datetime.now(UTC)
    times = {"prequeue_at": now + timedelta(seconds=0.5), "starts_at": now + timedelta(days=1)}
    planned(night, queue, **{name: at.isoformat() for name, at in times.items()})
    page = live(come(f"/queues/{queue}"))
    expect(page.locator('[data-banner="status"]')).to_contain_text("Pre-queue: everyone can join, and nobody is let in")
    expect(page.locator('[data-show="events"]')).to_contain_text("Pre-queue opened")


def test_one_in_progress_is_ended_only_after_a_question(night: Night, come: Come, queue: str) -> None:
    page = open_tab(come, queue)
    start = datetime.now(UTC) + timedelta(seconds=1)
    planned(night, queue, starts_at=start.isoformat(), settings={"max_active": 3})
    expect(entry(page, "Drop")).to_have_attribute("data-state", "open")  # the page follows by itself
    do(entry(page, "Drop"), "edit-opening").click()
    expect(field(page, "starts_at")).to_be_disabled()
    expect(field(page, "ends_at")).to_be_enabled()
    page.keyboard.press("Escape")
    do(entry(page, "Drop"), "cancel-opening").click()
    do(page, "keep").click()
    assert night.queue(of=queue)["max_active"] == 3
    do(entry(page, "Drop"), "cancel-opening").click()
    do(page, "confirm").click()
    expect(page.get_by_role("heading", name="No openings are planned")).to_be_visible()
    expect(do(page, "undo-cancel")).to_have_count(0)
    assert night.queue(of=queue)["max_active"] == 1000


def test_the_preview_has_what_differs_from_now(night: Night, come: Come, queue: str) -> None:
    planned(night, queue, settings={"max_active": 7, "admission": "manual"})
    page = open_tab(come, queue)
    do(entry(page, "Drop"), "preview-opening").click()
    expect(page.locator('[data-was="max_active"]')).to_have_text("1,000")
    expect(page.locator('[data-will="max_active"]')).to_have_text("7")
    rows = page.locator("dialog [data-will]")
    assert rows.evaluate_all("all => all.map((each) => each.dataset.will)") == ["status", "admission", "max_active"]


def test_the_night_is_checked_and_rehearsed(night: Night, come: Come, queue: str) -> None:
    begins = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    planned(night, queue, prequeue_at=begins, draw="random", name="The night")
    page = open_tab(come, queue)
    do(entry(page, "The night"), "check-opening").click()
    expect(page.locator('[data-check="stock"]')).to_contain_text("90 to sell")
    expect(page.locator('[data-check="rehearsal"]')).to_have_attribute("data-state", "look")
    page.get_by_label("People expected").fill("60000")
    do(page, "check-again").click()
    expect(page.locator('[data-check="line"]')).to_have_attribute("data-state", "problem")
    expect(page.locator('[data-check="line"]')).to_contain_text("60,000 people are expected")
    do(page, "rehearse").click()
    expect(do(page, "rehearse")).to_be_disabled()
    expect(page.locator('[data-show="rehearsal"]')).to_have_text("The rehearsal is running …")
    expect(page.locator('[data-show="rehearsal"]')).to_contain_text("Rehearsal passed")
    expect(page.locator("[data-step]")).to_have_count(10)
    expect(page.locator('[data-step][data-passed="false"]')).to_have_count(0)
    expect(page.locator('[data-check="rehearsal"]')).to_have_attribute("data-state", "ok")
    assert violations(page) == []


def test_a_viewer_looks_and_changes_nothing(night: Night, come: Come, queue: str) -> None:
    planned(night, queue)
    page = open_tab(come, queue, role="viewer")
    for name in ("new-opening", "edit-opening", "copy-opening", "cancel-opening"):
        expect(do(page, name)).to_be_disabled()
    do(page, "check-opening").click()
    expect(page.locator("[data-check]").first).to_be_visible()
    expect(do(page, "rehearse")).to_be_disabled()


@pytest.mark.parametrize("size", [DESKTOP, PHONE, NARROW], ids=["desktop", "phone", "narrow"])
def test_axe_finds_nothing_and_nothing_is_too_wide(night: Night, come: Come, queue: str, size: dict[str, int]) -> None:
    begins = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    planned(night, queue, prequeue_at=begins, draw="random", name="An opening with a long name", add_stock=5)
    for locale in ("en-GB", "ar"):
        page = live(come(f"/queues/{queue}#openings", viewport=size, reduced_motion="reduce", locale=locale))
        for name in ("", "edit-opening", "preview-opening", "check-opening"):
            if name:
                do(page, name).click()
                expect(page.locator("dialog[open]")).to_be_visible()
            if name == "edit-opening":
                do(page, "add-setting").click()
            if name == "check-opening":
                expect(page.locator("[data-check]").first).to_be_visible()
            if name == "preview-opening":
                expect(page.locator("[data-will]").first).to_be_visible()
            wide = "element => element.scrollWidth <= element.clientWidth"
            expect(page.locator("[data-opening]")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (locale, name)
            assert not name or page.locator("dialog[open]").evaluate(wide), (locale, name)
            assert violations(page) == [], (locale, name)
            page.keyboard.press("Escape")


def test_all_of_it_is_done_by_keys(night: Night, come: Come, queue: str) -> None:
    page = open_tab(come, queue)
    do(page, "new-opening").focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open]")).to_be_visible()
    field(page, "starts_at").fill("2027-03-01T10:00")
    field(page, "starts_at").press("Enter")
    expect(page.locator("[data-opening]")).to_have_count(1)
    wait_until(lambda: len(openings(night, queue)) == 1, "the opening is not planned")
    page.keyboard.press("4")
    expect(page.get_by_role("tab", name="Openings")).to_have_attribute("aria-selected", "true")
