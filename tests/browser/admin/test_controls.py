"""The dashboard on the night of a sale: what it shows, and what an operator does with it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.admin.night import PEOPLE, Come, Night, do, figure, live, seen_soon, shown, soon
from tests.browser.evening import SALE

# What is shown


def test_the_large_numbers_are_those_of_the_queue_and_follow_it(night: Night, come: Come) -> None:
    page = live(come())
    stats = night.queue("/stats")
    assert stats["joined_total"] >= PEOPLE * 0.9
    seen_soon(shown(page, "done"), f"{stats['completed']:,}")
    before = figure(page, "waiting")
    night.join()
    soon(lambda: figure(page, "waiting") != before, "the figure follows")


def test_the_charts_show_what_the_evening_did(night: Night, come: Come) -> None:
    page = live(come())
    chart = page.locator('[data-chart="People a minute"]')
    chart.get_by_text("As a table").click()
    rows = chart.locator("tbody tr")
    expect(rows).to_have_count(60)
    joined = [int(text.replace(",", "")) for text in chart.locator("tbody tr td:nth-of-type(1)").all_text_contents()]
    points = night.queue("/stats/series?range=hour")["points"]
    assert sum(joined) == pytest.approx(night.queue("/stats")["joined_total"], abs=5)
    assert max(joined) == pytest.approx(max(point["joined"] for point in points), abs=5)
    line = page.locator('[data-chart="In line and inside"]')
    line.get_by_text("As a table").click()
    expect(line.locator("tbody tr")).to_have_count(60)
    shown_line = [int(t.replace(",", "")) for t in line.locator("tbody tr td:nth-of-type(1)").all_text_contents()]
    assert max(shown_line) == pytest.approx(max(point["waiting"] for point in points), rel=0.02, abs=5)
    assert page.locator('[data-chart="Wait"] path.curve').count() == 2
    page.get_by_role("radio", name="24 h").click()
    expect(rows).to_have_count(96)
    # The crosshair can be moved by keys, and reads out what it stands on.
    line.locator("svg").focus()
    page.keyboard.press("ArrowLeft")
    expect(line.locator(".hair")).to_have_count(1)
    expect(line.locator('[role="status"]')).to_contain_text("Waiting")


def test_events_come_as_they_happen_and_can_be_filtered(night: Night, come: Come) -> None:
    page = live(come())
    joined = night.join()
    mine = shown(page, "events").locator("li", has_text=joined["label"])
    expect(mine).to_contain_text("joined the line")
    shown(page, "event-filter").select_option("Done and left")
    expect(mine).to_have_count(0)
    night.api.post(f"/queues/{SALE}/tickets/{joined['ticket']}/cancel")
    expect(mine).to_contain_text("left: removed by staff")


def test_health_names_the_workers_and_the_store(come: Come) -> None:
    facts = shown(live(come()), "health-facts")
    expect(facts).to_contain_text("2 workers")
    expect(facts).to_contain_text("Valkey")


# What is done


def test_pause_resume_and_maintenance_take_effect_at_once(night: Night, come: Come) -> None:
    page = live(come(role="operator"))
    someone = night.join()
    do(page, "pause").click()
    do(page, "confirm").click()
    soon(lambda: night.told(someone)["queue_status"] == "paused", "people are told that it is paused")
    seen_soon(shown(page, "status"), "Paused")
    admitted = night.queue("/stats")["admitted_total"]
    expect(page.get_by_text("Paused: people can join, but nobody is let in.")).to_be_visible()
    do(page, "maintenance").click()
    page.keyboard.press("Escape")  # thought better of it
    assert night.queue()["status"] == "paused"
    do(page, "maintenance").click()
    do(page, "confirm").click()
    soon(lambda: night.queue()["status"] == "maintenance", "closed")
    assert night.public.post(f"/queues/{SALE}/join").json()["code"] == "queue_maintenance"
    assert night.queue("/stats")["admitted_total"] == admitted
    seen_soon(do(page, "pause"), "Open")
    do(page, "pause").click()
    do(page, "confirm").click()
    soon(lambda: night.told(someone)["queue_status"] == "active", "open again")
    seen_soon(shown(page, "status"), "Open")


def test_no_single_key_changes_who_gets_in(night: Night, come: Come) -> None:
    page = live(come(role="operator"))
    for now, button, title, then, shown_as in (
        ("maintenance", "Open", "Open the queue?", "active", "Open"),
        ("active", "Pause", "Pause the queue?", "paused", "Paused"),
        ("paused", "Resume", "Resume?", "active", "Open"),
    ):
        night.api.patch(f"/queues/{SALE}", json={"status": now}).raise_for_status()
        seen_soon(do(page, "pause"), button)
        asked = page.get_by_role("dialog", name=title)
        page.keyboard.press("p")
        expect(asked).to_contain_text(re.compile(r"[\d,]+ (person|people) in line"))
        expect(do(page, "confirm")).to_have_text(button)
        page.keyboard.press("Escape")  # thought better of it
        expect(asked).to_have_count(0)
        assert night.queue()["status"] == now
        page.keyboard.press("p")
        page.keyboard.press("Enter")
        seen_soon(shown(page, "status"), shown_as)
        assert night.queue()["status"] == then


def test_rate_and_capacity_are_previewed_then_applied(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"admission_rate": 1, "max_active": 1000})
    page = live(come(role="operator"))
    rate = page.locator('[data-exact="rate"]')
    expect(rate).to_have_value("60")
    expect(shown(page, "preview")).to_contain_text("At 60 a minute the last person waits about")
    rate.fill("1200")
    preview = night.queue("/preview?admission_rate=20")
    minutes = round(preview["now"]["last_wait_seconds"] / 60)
    expect(shown(page, "preview")).to_contain_text(re.compile(rf"At 1,200 a minute .*, now {minutes} minutes?\."))
    assert night.queue()["admission_rate"] == 1  # nothing is done yet
    do(page, "cancel-flow").click()
    expect(rate).to_have_value("60")
    expect(do(page, "apply-flow")).to_be_hidden()
    slider = page.locator('[data-slide="rate"]')
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(do(page, "apply-flow")).to_be_visible()
    rate.fill("1800")
    before = night.queue("/stats")["admitted_total"]
    do(page, "apply-flow").click()
    soon(lambda: night.queue()["admission_rate"] == 30, "the rate is set")
    soon(lambda: night.queue("/stats")["admitted_total"] > before + 20, "more people are let in")
    page.locator('[data-exact="capacity"]').fill("1")
    do(page, "apply-flow").click()
    soon(lambda: night.queue()["max_active"] == 1, "the capacity is set")
    admitted = night.queue("/stats")["admitted_total"]
    night.ticks(2)  # in which nobody is let in
    assert night.queue("/stats")["admitted_total"] == admitted


def test_a_message_reaches_everyone_who_waits(night: Night, come: Come) -> None:
    someone = night.join()
    page = live(come(role="operator"))
    page.get_by_label("New message").fill("All sizes are still there.")
    do(page, "send-message").click()
    soon(lambda: night.told(someone).get("message") == "All sizes are still there.", "people are told")
    seen_soon(shown(page, "message-now"), "All sizes are still there.")
    do(page, "clear-message").click()
    soon(lambda: not night.told(someone).get("message"), "it is gone")


def test_stock_is_recalibrated(night: Night, come: Come) -> None:
    page = live(come(role="operator"))
    page.locator("#stock-total").fill("5000")
    do(page, "set-stock").click()
    soon(lambda: night.queue()["stock"] == 5000, "the stock is set")
    expect(shown(page, "stock-now")).to_contain_text("5,000")
    do(page, "set-stock").click()
    do(page, "confirm").click()
    soon(lambda: night.queue()["stock"] is None, "without end again")


def test_what_is_typed_after_a_shortcut_goes_where_it_leads(night: Night, come: Come) -> None:
    page = live(come(f"/queues/{SALE}#settings", role="operator"))
    night.join(name="Nina Simone")
    search, message = page.get_by_label("Search for a person"), page.get_by_label("New message")
    for key, field, text in (("/", search, "nina prm"), ("m", message, "no mnp/1")):
        page.keyboard.type(f"{key}{text}")
        expect(field).to_be_focused()
        expect(field).to_have_value(text)
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("3")
    expect(page.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("r")
    expect(page.locator('[data-slide="rate"]')).to_be_focused()


def test_someone_is_found_and_acted_on(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"max_active": 5000, "admission_rate": 0})
    joined = night.join(name="Ada Lovelace", phone="+44 20 7946 0958")
    page = live(come(role="operator"))
    page.keyboard.press("/")
    page.keyboard.type("lovelace")
    page.get_by_role("button", name=joined["label"]).click()
    side = page.locator("dialog.side")
    expect(side).to_contain_text("Ada Lovelace")

    def act(name: str) -> None:
        side.locator(f'[data-act="{name}"]').click()

    def state() -> str:
        found: str = night.queue(f"/tickets/{joined['ticket']}")["status"]
        return found

    assert side.locator("[data-act]").evaluate_all("all => all.map(each => each.dataset.act)") == [
        "call",
        "hold",
        "prioritise",
        "cancel",
        "revoke",
    ]
    act("hold")
    expect(side.locator(".badge")).to_have_text("On hold")
    expect(side.locator('[data-act="call"]')).to_have_count(0)
    act("release")
    expect(side.locator(".badge")).to_have_text("Waiting")
    act("cancel")
    do(page, "confirm").click()
    soon(lambda: state() == "expired", "removed")
    do(page, "undo").last.click()
    soon(lambda: state() == "waiting", "the removal is undone")
    expect(side.locator(".badge")).to_have_text("Waiting")
    act("prioritise")
    page.get_by_label("Level", exact=True).select_option("Level 3")
    do(page, "confirm").click()
    soon(lambda: night.queue(f"/tickets/{joined['ticket']}")["position"] == 1, "moved up")
    act("call")
    page.get_by_label("Desk, for example").fill("Desk 2")
    do(page, "confirm").click()
    soon(lambda: state() == "admitted", "called")
    act("no_show")
    do(page, "confirm").click()
    soon(lambda: state() == "expired", "did not show up")
    act("reinstate")
    soon(lambda: state() == "admitted", "came after all")
    act("return")
    soon(lambda: state() == "waiting", "back in line")
    act("call")
    do(page, "confirm").click()
    soon(lambda: state() == "admitted", "called once more")
    act("start")
    soon(lambda: state() == "active", "inside")
    act("complete")
    page.keyboard.press("Escape")
    assert state() == "active"
    act("complete")
    do(page, "confirm").click()
    soon(lambda: state() == "completed", "done")
    expect(side).to_contain_text("The visit is over")


def test_the_next_are_called_and_someone_is_put_in_line(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"max_active": 5000, "admission_rate": 0})
    page = live(come("/queues/" + SALE + "#people", role="operator"))
    before = night.queue("/stats")
    do(page, "call-next").click()
    page.get_by_label("How many", exact=True).fill("3")
    do(page, "confirm").click()
    soon(lambda: night.queue("/stats")["admitted_total"] == before["admitted_total"] + 3, "three are called")
    do(page, "join").click()
    page.get_by_role("textbox", name="Name").fill("Grace Hopper")
    do(page, "confirm").click()
    soon(lambda: night.queue("/stats")["joined_total"] == before["joined_total"] + 1, "in line")


def test_settings_are_saved_and_a_conflict_shows_what_changed_meanwhile(night: Night, come: Come) -> None:
    page = live(come("/queues/" + SALE + "#settings", role="operator"))
    name = page.get_by_label("Name", exact=True)
    expect(name).to_have_value("Winter Sale")
    name.fill("Winter Sale 2027")
    page.route("**/live", lambda route: route.abort())
    night.api.patch(f"/queues/{SALE}", json={"grace_seconds": 45})
    expect(page.get_by_text("Changed by someone else meanwhile.")).to_be_visible()
    expect(page.locator(".banner .change")).to_contain_text("Extra grace")
    assert night.queue()["name"] == "Winter Sale"
    do(page, "save-settings").click()
    soon(lambda: night.queue()["name"] == "Winter Sale 2027", "saved")
    assert night.queue()["grace_seconds"] == 45
    seen_soon(shown(page, "name"), "Winter Sale 2027")
    page.get_by_role("tab", name="Presence").click()
    page.get_by_label("Longest session").fill("1")
    do(page, "save-settings").click()
    expect(page.locator("#group-presence .wrong:visible")).to_contain_text("Must be at least “Session ends without")
    page.get_by_role("button", name="Discard").click()
    # And the way back.
    page.get_by_role("tab", name="History").click()
    expect(page.locator("#panel-history tbody tr").first).to_contain_text("Winter Sale 2027")
    do(page, "undo").click()
    do(page, "confirm").click()
    soon(lambda: night.queue()["name"] == "Winter Sale", "undone")


def test_a_priority_pass_is_issued_used_and_withdrawn(night: Night, come: Come) -> None:
    page = live(come("/queues/" + SALE + "#passes", role="operator"))
    do(page, "issue").click()
    do(page, "confirm").click()
    text = shown(page, "secret").text_content() or ""
    assert night.join(priority_pass=text)["priority"] == 2
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Withdraw").click()
    do(page, "confirm").click()
    expect(page.get_by_text("There are no valid passes.")).to_be_visible()
