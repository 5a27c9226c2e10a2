"""The dashboard on the night of a sale: two workers, 2,000 visitors, and an operator with a browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.backends import wait_until
from tests.browser.axe import axe_source
from tests.browser.evening import SALE, after_an_evening, visitors
from tests.browser.venue import Site, Venue, person

PEOPLE = 2000
#: How soon a control must have its effect on the line.
SOON_SECONDS = 2.0
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Night:
    """The server after an evening, as its operator's programs see it."""

    def __init__(self, venue: Venue) -> None:
        self.venue = venue
        self.server = server = venue.server
        self.address = 0
        admin = {"Authorization": f"Bearer {server.admin_key}"}
        self.api = httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=admin, timeout=20)
        self.public = venue.http
        made = {role: self.api.post("/keys", json={"role": role, "name": f"Desk {role}"}).json() for role in _ROLES}
        self.keys = {role: key["key"] for role, key in made.items()}
        self.cookies: dict[str, list[Any]] = {}

    def queue(self, rest: str = "", of: str = SALE) -> Any:
        return self.api.get(f"/queues/{of}{rest}").raise_for_status().json()

    def join(self, queue: str = SALE, **body: Any) -> dict[str, Any]:
        answer = self.public.post(f"/queues/{queue}/join", json=body)
        self.public.cookies.clear()
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def told(self, ticket: dict[str, Any]) -> dict[str, Any]:
        """What someone in line is told."""
        answer = self.public.get("/status", headers={"Authorization": f"Bearer {ticket['token']}"})
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def new_address(self) -> dict[str, str]:
        self.address += 1
        return {"X-Forwarded-For": f"10.0.0.{self.address}"}


_ROLES = ("viewer", "operator", "admin")


@pytest.fixture(scope="module")
def night(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    with after_an_evening(tmp_path_factory.mktemp("night"), visitors(PEOPLE, 200, admission_rate=3.0), 240) as server:
        site = Site()
        found = Night(Venue(server, site, browser))
        yield found
        found.api.close()
        found.public.close()
        site.close()


Come = Callable[..., Page]


@pytest.fixture
def come(night: Night) -> Iterator[Come]:
    """Someone comes to a page, signed in with a key of a role. Nothing may go wrong in their browser."""
    with ExitStack() as stack:
        yield partial(_come, night, stack)


def _come(night: Night, stack: ExitStack, path: str = f"/queues/{SALE}", role: str = "admin", **options: Any) -> Page:
    usual = {"viewport": DESKTOP, "extra_http_headers": night.new_address()}
    someone = stack.enter_context(person(night.venue, **usual | options))
    if role in night.cookies:
        someone.context.add_cookies(night.cookies[role])
    page = someone.tab(f"{night.server.base_url}/admin{path}")
    if role and role not in night.cookies:
        sign_in(page, night.keys[role])
        night.cookies[role] = someone.context.cookies()
    return page


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Admin key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def shown(page: Page, name: str) -> Locator:
    return page.locator(f'[data-show="{name}"]')


def live(page: Page) -> Page:
    expect(shown(page, "link")).to_have_attribute("data-state", "live")
    return page


def do(page: Page, name: str) -> Locator:
    return page.locator(f'[data-do="{name}"]')


def soon(holds: Callable[[], bool], what: str) -> None:
    wait_until(holds, f"not within {SOON_SECONDS} s: {what}", SOON_SECONDS)


def figure(page: Page, name: str) -> int:
    return int((shown(page, name).text_content() or "").replace(",", "") or -1)


def seen_soon(locator: Locator, text: str | re.Pattern[str]) -> None:
    expect(locator).to_have_text(text, timeout=SOON_SECONDS * 1000)


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
    expect(mine).to_contain_text("joined the line", timeout=SOON_SECONDS * 1000)
    shown(page, "event-filter").select_option("Done and gone")
    expect(mine).to_have_count(0)
    night.api.post(f"/queues/{SALE}/tickets/{joined['ticket']}/cancel")
    expect(mine).to_contain_text("is gone: cancelled", timeout=SOON_SECONDS * 1000)


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
    expect(page.get_by_text("Paused: people can join, and nobody is let in.")).to_be_visible()
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
    soon(lambda: night.told(someone)["queue_status"] == "active", "open again")
    seen_soon(shown(page, "status"), "Open")


def test_rate_and_room_are_previewed_then_applied(night: Night, come: Come) -> None:
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
    page.locator('[data-exact="room"]').fill("1")
    do(page, "apply-flow").click()
    soon(lambda: night.queue()["max_active"] == 1, "the room is set")
    held = night.queue("/stats")["admitted_total"]
    time.sleep(0.5)  # two ticks in which nobody is let in
    assert night.queue("/stats")["admitted_total"] == held


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
    expect(shown(page, "stock-now")).to_contain_text("5,000", timeout=SOON_SECONDS * 1000)
    do(page, "set-stock").click()
    do(page, "confirm").click()
    soon(lambda: night.queue()["stock"] is None, "without end again")


def test_someone_is_found_and_acted_on(night: Night, come: Come) -> None:
    night.api.patch(f"/queues/{SALE}", json={"max_active": 5000, "admission_rate": 0})
    joined = night.join(name="Ada Lovelace", phone="+44 20 7946 0958")
    page = live(come(role="operator"))
    page.keyboard.press("/")
    page.get_by_label("Search for a person").fill("lovelace")
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
    expect(side.locator(".badge")).to_have_text("Put aside")
    expect(side.locator('[data-act="call"]')).to_have_count(0)
    act("release")
    expect(side.locator(".badge")).to_have_text("Waiting")
    act("prioritise")
    page.get_by_label("Level", exact=True).select_option("Level 3")
    do(page, "confirm").click()
    soon(lambda: night.queue(f"/tickets/{joined['ticket']}")["position"] == 1, "moved up")
    act("call")
    page.get_by_label("Where to").fill("Desk 2")
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
    expect(side).to_contain_text("The stay is over")


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
    expect(page.locator(".banner .change")).to_contain_text("grace_seconds")
    assert night.queue()["name"] == "Winter Sale"
    do(page, "save-settings").click()
    soon(lambda: night.queue()["name"] == "Winter Sale 2027", "saved")
    assert night.queue()["grace_seconds"] == 45
    seen_soon(shown(page, "name"), "Winter Sale 2027")
    page.get_by_label("Session at most").fill("1")
    do(page, "save-settings").click()
    expect(page.locator("#group-inside .wrong:visible")).to_contain_text("must be at least session_seconds")
    page.get_by_role("button", name="Discard").click()
    # And the way back.
    page.get_by_role("tab", name="History").click()
    expect(page.locator("#panel-history tbody tr").first).to_contain_text("Winter Sale 2027")
    do(page, "undo").click()
    do(page, "confirm").click()
    soon(lambda: night.queue()["name"] == "Winter Sale", "undone")


def test_a_pass_is_issued_used_and_withdrawn(night: Night, come: Come) -> None:
    page = live(come("/queues/" + SALE + "#passes", role="operator"))
    do(page, "issue").click()
    do(page, "confirm").click()
    text = shown(page, "secret").text_content() or ""
    assert night.join(priority_pass=text)["priority"] == 2
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Withdraw").click()
    do(page, "confirm").click()
    expect(page.get_by_text("No pass is good at the moment.")).to_be_visible()


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
    row.get_by_role("button", name="Take away").click()
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


# What can happen


def test_a_lost_connection_is_said_and_mended(come: Come) -> None:
    page = live(come())
    page.context.set_offline(True)
    expect(shown(page, "link")).to_contain_text("Disconnected since")
    expect(page.locator("body")).to_have_class(re.compile("stale"))
    page.context.set_offline(False)
    live(page)
    expect(page.locator("body")).not_to_have_class(re.compile("stale"))


def test_a_queue_is_made_and_its_removal_is_told_to_whoever_looks_at_it(night: Night, come: Come) -> None:
    page = live(come(""))
    expect(page.locator(f'[data-queue="{SALE}"]')).to_contain_text("Waiting")
    do(page, "create").click()
    page.get_by_label("Id, as in addresses").fill("late-show")
    page.get_by_label("Name people read").fill("Late show")
    do(page, "confirm").click()
    expect(page).to_have_url(re.compile("/admin/queues/late-show$"))
    seen_soon(shown(live(page), "name"), "Late show")
    night.api.delete("/queues/late-show")
    expect(page.get_by_role("heading", name="This queue is no more")).to_be_visible(timeout=SOON_SECONDS * 1000)
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
    for tab in ("History", "Settings", "People"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
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
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(axe_source())
    for scheme, only in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        options = {"resultTypes": ["violations"]} | only
        found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
        told = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]
        assert told == [], f"{what}, {scheme}"
