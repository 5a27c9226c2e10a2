"""The list of queues when there are many, and the language of the dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Request, expect

from tests.browser.admin.night import Come, Night, do, live, shown
from tests.browser.axe import violations
from tests.browser.evening import SALE


@pytest.fixture
def counters(night: Night) -> Iterator[list[str]]:
    """Eight more queues; two people wait in one of them, one in another."""
    names = [f"counter-{n}" for n in range(8)]
    for n, name in enumerate(names):
        settings = {"id": name, "name": f"Counter {8 - n}", "admission": "manual", "heartbeat_timeout_seconds": 0}
        night.api.post("/queues", json=settings).raise_for_status()
    for name in ("counter-3", "counter-3", "counter-5"):
        night.api.post(f"/queues/{name}/join", json={}).raise_for_status()
    yield names
    for name in names:
        night.api.delete(f"/queues/{name}").raise_for_status()


def test_a_queue_is_found_among_many_and_the_busiest_come_first(night: Night, come: Come, counters: list[str]) -> None:
    page = come("", bypass_csp=True)  # for axe alone
    rows = live(page).locator("[data-queue]")
    expect(rows).to_have_count(len(counters) + 1)  # by then it has asked for the lines
    asked: list[str] = []
    page.on("request", lambda request: asked.append(_path(request)))
    page.reload()
    expect(live(page).locator("[data-queue]")).to_have_count(len(counters) + 1)
    order = rows.evaluate_all("all => all.map(each => each.dataset.queue)")
    assert order.index("counter-3") < order.index("counter-5") < order.index("counter-7") < order.index("counter-0")
    shown(page, "sort").select_option("name")
    expect(rows.nth(0)).to_have_attribute("data-queue", "counter-7")
    shown(page, "search").fill("ounter 5")
    expect(rows).to_have_count(1)
    expect(shown(page, "found")).to_have_text("1 queue")
    assert violations(page) == []
    shown(page, "search").fill("nothing")
    expect(shown(page, "found")).to_have_text("0 queues")
    page.reload()
    expect(rows.nth(0)).to_have_attribute("data-queue", "counter-7")  # the order is remembered
    assert asked.count("/api/v1/admin/stats/waiting") == 2
    assert not [path for path in asked if path.endswith("/stats/series")], "one call for the lines of all"


def _path(request: Request) -> str:
    return re.sub(r"^https?://[^/]+|\?.*", "", request.url)


def test_the_language_is_chosen_in_the_menu_and_kept(night: Night, come: Come) -> None:
    page = live(come(f"/queues/{SALE}#people", role="viewer", bypass_csp=True))
    page.locator(".me summary").click()
    page.get_by_role("button", name="Deutsch").click()
    expect(page.get_by_role("tab", name="Personen")).to_have_attribute("aria-selected", "true")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.get_by_label("Person suchen")).to_be_visible()
    assert violations(live(page)) == []
    page.goto(f"{night.server.base_url}/admin")
    expect(page.get_by_role("link", name="Protokoll")).to_have_count(0)  # a viewer may not read it
    expect(page.get_by_role("link", name="Schlüssel")).to_have_count(0)
    expect(page.get_by_role("link", name="Webhooks")).to_be_visible()


def test_the_focus_stays_on_an_event_and_on_a_person_while_others_come(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"admission_rate": 0}).raise_for_status()
    page = live(come())
    joined = night.join()
    line = shown(page, "events").get_by_role("button", name=joined["label"])
    line.first.focus()
    later = night.join()
    expect(shown(page, "events")).to_contain_text(later["label"])
    expect(line.first).to_be_focused()
    page.get_by_role("tab", name="People").click()
    page.get_by_label("Search for a person").fill("Emmy")
    found = page.locator("#panel-people tbody tr")
    someone = page.get_by_role("button", name=night.join(name="Emmy Noether")["label"])
    expect(found).to_have_count(1)
    someone.focus()
    night.join(name="Emmy Noether")
    expect(found).to_have_count(2)
    expect(someone).to_be_focused()


def test_someone_put_on_hold_is_put_back_from_the_message(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"admission_rate": 0}).raise_for_status()
    joined = night.join(name="Rosalind Franklin")
    page = live(come(f"/queues/{SALE}#people", role="operator"))
    page.get_by_label("Search for a person").fill("rosalind")
    page.get_by_role("button", name=joined["label"]).click()
    side = page.locator("dialog.side")
    side.locator('[data-act="hold"]').click()
    expect(side.locator(".badge")).to_have_text("On hold")
    do(page, "undo").click()
    expect(side.locator(".badge")).to_have_text("Waiting")
