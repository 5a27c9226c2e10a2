"""Who may do what on the dashboard, and how anyone can use it: cut off, by keys alone, by ear, on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.admin.night import DESKTOP, PHONE, Come, Night, do, live, seen_soon, shown, sign_in
from tests.browser.axe import violations
from tests.browser.evening import SALE

# Who may


def test_a_viewer_sees_everything_and_can_do_nothing(night: Night, come: Come) -> None:
    page = live(come(role="viewer"))
    for name in ("pause", "maintenance", "send-message", "set-stock"):
        expect(do(page, name)).to_be_disabled()
        expect(do(page, name)).to_have_attribute("title", re.compile("needs the role operator"))
    expect(page.locator('[data-slide="rate"]')).to_be_disabled()
    page.get_by_role("tab", name="People").click()
    expect(do(page, "call-next")).to_be_disabled()
    page.locator("button.open").first.click()
    expect(page.locator("dialog.side [data-act]").first).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Settings").click()
    expect(page.get_by_label("Name", exact=True)).to_be_disabled()
    refused = page.evaluate(
        """async (queue) => (await fetch(`/api/v1/admin/queues/${queue}`, {method: "PATCH", body: '{"status":"paused"}',
        headers: {"X-Fairline-Admin": "1"}})).status""",
        SALE,
    )
    assert refused == 403
    assert night.queue()["status"] == "active"
    page.goto(f"{night.server.base_url}/admin/keys")
    expect(page.get_by_text("This page needs the role admin")).to_be_visible()


def test_keys_are_made_and_taken_away_which_signs_out(night: Night, come: Come) -> None:
    page = come("/keys")
    do(page, "create-key").click()
    page.get_by_label("Who or what it is for").fill("Night shift")
    do(page, "confirm").click()
    key = shown(page, "secret").text_content() or ""
    page.get_by_role("button", name="Done").click()
    other = come(role="")
    sign_in(other, key)
    live(other)
    row = page.locator("tr", has_text="Night shift")
    row.get_by_role("button", name="Revoke").click()
    do(page, "confirm").click()
    expect(row).to_have_count(0)
    other.get_by_role("tab", name="People").click()
    expect(other.get_by_text("You are signed out").first).to_be_visible()


def test_a_wrong_key_is_slowed_down_and_told_so(night: Night, come: Come) -> None:
    page = come(role="")
    for _ in range(10):
        sign_in(page, "fl_wrong")
        expect(page.get_by_role("alert")).to_have_text("This key is not valid.")
    sign_in(page, night.keys["admin"])
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"Try again in \d+ seconds"))
    expect(page.get_by_role("button", name="Sign in")).to_be_disabled()


def test_a_link_to_a_tab_opens_it_after_signing_in_also_after_a_wrong_key(night: Night, come: Come) -> None:
    page = come(f"/queues/{SALE}#people", role="")
    sign_in(page, "fl_wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, night.keys["viewer"])
    expect(page.get_by_role("tab", name="People")).to_have_attribute("aria-selected", "true")


# What can happen


def test_a_lost_connection_is_said_and_mended(come: Come) -> None:
    page = live(come())
    page.context.set_offline(True)
    expect(shown(page, "link")).to_contain_text("Disconnected since")
    expect(page.locator("body")).to_have_class(re.compile("stale"))
    page.context.set_offline(False)
    live(page)
    expect(page.locator("body")).not_to_have_class(re.compile("stale"))


def test_a_queue_is_made_and_everyone_viewing_it_sees_its_removal(night: Night, come: Come) -> None:
    page = live(come(""))
    expect(page.locator(f'[data-queue="{SALE}"]')).to_contain_text("Waiting")
    do(page, "create").click()
    page.get_by_label("ID, used in addresses").fill("late-show")
    page.get_by_label("Display name").fill("Late show")
    do(page, "confirm").click()
    expect(page).to_have_url(re.compile("/admin/queues/late-show$"))
    seen_soon(shown(live(page), "name"), "Late show")
    night.api.delete("/queues/late-show")
    expect(page.get_by_role("heading", name="This queue was removed")).to_be_visible()
    page.goto(f"{night.server.base_url}/admin/queues/late-show")
    expect(page.get_by_role("heading", name="No such queue")).to_be_visible()


def test_everything_is_reached_by_keys(come: Come) -> None:
    page = live(come())
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator('[data-slide="rate"]')).to_be_focused()
    page.keyboard.press("2")
    expect(page.get_by_role("tab", name="People")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="People").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Settings")).to_be_focused()
    page.keyboard.press("p")
    expect(do(page, "confirm")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page).to_have_url(re.compile("/admin$"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(night: Night, come: Come, size: dict[str, int]) -> None:
    page = live(come(viewport=size, reduced_motion="reduce"))
    expect(shown(page, "preview")).not_to_have_text("–")
    expect(page.locator(".chart path.curve").first).to_be_attached()
    _clean(page, "now")
    for tab in ("history", "settings", "people"):  # by id: a group of settings has a tab "People" too
        page.locator(f"#tab-{tab}").click()
        expect(page.locator(f"#panel-{tab}")).to_be_visible()
        _clean(page, tab)
    page.locator("button.open").first.click()
    expect(page.locator("dialog.side dl")).to_be_visible()
    _clean(page, "one person")
    for path in ("", "/keys", "/webhooks", "/audit"):
        page.goto(f"{night.server.base_url}/admin{path}")
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        _clean(page, path or "queues")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide"
    page.context.clear_cookies()
    page.goto(f"{night.server.base_url}/admin")
    _clean(page, "sign in")


def _clean(page: Page, what: str) -> None:
    """Nothing keeps anyone from using it; in the dark only the colours are others."""
    for scheme, only in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert violations(page, **only) == [], f"{what}, {scheme}"
