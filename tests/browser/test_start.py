"""Before a start and at it: the countdown, the page that is in line in time, and what was drawn."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from fairline.domain.branding import LANGUAGES
from fairline.web.pages.languages import Language
from fairline.web.pages.start import countdown
from tests.browser.conftest import NewPerson
from tests.browser.openings import (
    SOON_SECONDS,
    draw_page,
    drawn_page,
    in_prequeue,
    in_seconds,
    not_open_draw,
    plan,
    until_phase,
)
from tests.browser.test_light import STILL, WATCH_SHIFTS, shifted
from tests.browser.venue import Queue, Venue, eventually, shows

#: How far a countdown may be off, with what it takes to read it: less than the seconds it shows.
OFF_SECONDS = 1.5
#: A page joins within a second of the moment in which the queue takes people; on a busy machine this is enough.
IN_LINE_SECONDS = 3.0
#: The clock of the device is ahead by an hour, or behind.
_SHIFTED_CLOCK = """
const own = Date;
globalThis.Date = class extends own {
  constructor(...given) { super(...(given.length ? given : [own.now() + (HOURS) * 3600000])); }
  static now() { return own.now() + (HOURS) * 3600000; }
};
"""


def left_on(page: Page) -> float:
    """The seconds that a page shows."""
    text = page.locator("[data-show=countdown]:visible").inner_text()
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


def until(moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()


def joined_after(queue: Queue) -> float:
    """Seconds between the last change of the settings and the join of the newest ticket, by the store's clock."""
    events = queue.admin("GET", "/events")["events"]
    changed = [each["at"] for each in events if each["type"] == "settings_changed"][-1]
    joined = datetime.fromisoformat(queue.newest()["joined_at"])
    return (joined - datetime.fromisoformat(changed)).total_seconds()


@pytest.mark.parametrize("hours", [1, -1])
def test_the_countdown_is_right_whatever_the_clock_of_the_device_says(
    venue: Venue, come: NewPerson, hours: int
) -> None:
    someone = come()
    someone.context.add_init_script(_SHIFTED_CLOCK.replace("HOURS", str(hours)))
    queue = venue.queue(status="maintenance")
    opening = plan(queue, 1000, 900)
    page = someone.tab(queue.url)
    assert abs(left_on(page) - until(opening["starts_at"])) <= OFF_SECONDS
    waiting = in_prequeue(venue, 100)
    (opening,) = waiting.admin("GET", "/openings")["openings"]
    page = someone.tab(waiting.url)
    shows(page, "heard").to_have_text("Up to date")
    shows(page, "title").to_have_text("Waiting for the draw")
    for _ in range(3):
        left = left_on(page)
        assert abs(left - until(opening["starts_at"])) <= OFF_SECONDS
        shows(page, "countdown").not_to_have_text(f"{int(left // 60)}:{int(left % 60):02}")  # it goes on


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_script_counts_down_in_the_words_of_the_server(venue: Venue, come: NewPerson, lang: str) -> None:
    page = not_open_draw(venue, come(), lang)
    hours = [h * 3600 for h in (1, 1.5, 2, 3, 11, 26, 47, 48, 72, 24 * 11, 24 * 100)]
    spans = [-5, 0, 0.4, 1, 9, 10, 59.2, 60, 61, 599, 3599, 3600, 3601, 7199, *hours]
    said = page.evaluate(
        "async ([url, spans]) => spans.map((await import(url)).countdown)",
        [json.loads(page.locator("#fairline").inner_text())["start"], spans],
    )
    assert said == [countdown(Language(lang), span) for span in spans]


def test_a_page_is_in_line_as_soon_as_the_queue_opens_early(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance", opens_at=in_seconds(4000))
    page = come().tab(queue.url)
    expect(page.get_by_role("heading", name="Not open yet")).to_be_visible()
    page.wait_for_timeout(500)  # the stream is open by then, and if it is not, the page asks
    queue.set(status="active")
    shows(page, "position").to_have_text("1")
    assert joined_after(queue) < IN_LINE_SECONDS


def test_a_page_follows_a_start_that_is_moved_and_is_in_line_when_it_comes(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    opening = plan(queue, 3000)
    page = come().tab(queue.url)
    shows(page, "countdown").to_contain_text(re.compile(r"^\d+:\d\d$"))
    queue.admin("PATCH", f"/openings/{opening['id']}", json={"starts_at": in_seconds(90_000)})
    shows(page, "countdown").to_have_text("in 25 hours")
    assert queue.waiting() == 0
    queue.admin("PATCH", f"/openings/{opening['id']}", json={"starts_at": in_seconds(SOON_SECONDS)})
    shows(page, "position").to_have_text("1")
    (opening,) = queue.admin("GET", "/openings")["openings"]
    joined = datetime.fromisoformat(queue.newest()["joined_at"])
    late = (joined - datetime.fromisoformat(opening["starts_at"])).total_seconds()
    assert 0 <= late < IN_LINE_SECONDS


def test_where_no_stream_comes_through_the_page_asks_and_is_in_line_too(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    plan(queue, SOON_SECONDS)
    someone = come()
    someone.context.route("**/queues/*/stream", lambda route: route.fulfill(status=503))
    page = someone.tab(queue.url)
    expect(page.get_by_role("heading", name="Not open yet")).to_be_visible()
    shows(page, "position").to_have_text("1")
    (opening,) = queue.admin("GET", "/openings")["openings"]
    joined = datetime.fromisoformat(queue.newest()["joined_at"])
    assert (joined - datetime.fromisoformat(opening["starts_at"])).total_seconds() < 3 * IN_LINE_SECONDS


def test_two_tabs_before_a_start_are_one_person_with_one_place(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    plan(queue, SOON_SECONDS + 4, SOON_SECONDS - 2)
    someone = come()
    tabs = [someone.tab(queue.url) for _ in range(2)]
    for tab in tabs:
        tab.wait_for_selector("html[data-state=prequeue]")
        shows(tab, "label").to_have_text(re.compile("-000001$"))
    for tab in tabs:
        shows(tab, "position").to_have_text("1")
        shows(tab, "drawn").to_have_text("Place 1 of 1 in the draw")
    assert queue.waiting() == 1


def test_who_reloads_loses_the_network_or_sleeps_over_the_start_keeps_the_place(venue: Venue, come: NewPerson) -> None:
    queue = in_prequeue(venue, 2 * SOON_SECONDS, 4)
    asleep, away, reloads = (come() for _ in range(3))
    pages = [someone.tab(queue.url) for someone in (asleep, away, reloads)]
    labels = []
    for page in pages:
        shows(page, "heard").to_have_text("Up to date")
        labels.append(page.locator("[data-show=label]").inner_text())
    sleeps = asleep.context.new_cdp_session(pages[0])
    sleeps.send("Page.setWebLifecycleState", {"state": "frozen"})
    away.context.set_offline(True)
    pages[2].reload()
    pages[2].wait_for_selector("html[data-state=prequeue]")
    until_phase(queue, "open")
    sleeps.send("Page.setWebLifecycleState", {"state": "active"})
    away.context.set_offline(False)
    for page, label in zip(pages, labels, strict=True):
        shows(page, "drawn").to_have_text(re.compile(r"Place \d of 7 in the draw"))
        shows(page, "position").to_be_visible()
        assert page.locator("[data-show=label]").inner_text() == label


def test_who_joins_after_the_draw_has_an_ordinary_page(venue: Venue, come: NewPerson) -> None:
    queue, _ = drawn_page(venue, come(), others=3)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text(re.compile(r"^[45]$"))
    expect(page.locator("[data-do=draw]:visible")).to_have_count(0)


def test_nobody_is_told_that_something_is_sold_out_before_a_start_that_adds_to_it(
    venue: Venue, come: NewPerson
) -> None:
    queue = venue.queue(status="maintenance", stock=0)
    plan(queue, SOON_SECONDS, 0.5, add_stock=10)
    until_phase(queue, "prequeue")
    page = come().tab(queue.url)
    page.wait_for_selector("html[data-state=prequeue]")
    shows(page, "position").to_have_text("1")


def test_the_page_of_a_pre_queue_does_not_move_while_it_joins(venue: Venue, come: NewPerson) -> None:
    queue = in_prequeue(venue, 3000)
    page = come(locale="fr-FR").tab()
    page.add_init_script(WATCH_SHIFTS)
    page.goto(queue.url)
    shows(page, "heard").to_have_text("À jour")
    shows(page, "title").to_have_text("En attente du tirage au sort")
    assert shifted(page) <= STILL


def test_without_javascript_the_page_refreshes_itself_to_the_draw(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    plan(queue, SOON_SECONDS + 3, 3)
    page = come(java_script_enabled=False).tab(queue.url)
    expect(page.get_by_role("heading", name="Not open yet")).to_be_visible()
    expect(page.get_by_text("The order of all who join before the start is drawn")).to_be_visible()
    page.get_by_role("button", name="Join the line").click()
    expect(page.get_by_role("heading", name="Waiting for the draw")).to_be_visible()
    expect(page.get_by_text("It does not matter when you came.")).to_be_visible()
    shows(page, "heard").to_have_text("This page refreshes automatically.", use_inner_text=True)
    queue.others(2)
    expect(page.get_by_text("of 3 in the draw").first).to_be_visible()
    page.get_by_role("link", name="Check the draw").first.click()
    expect(page.get_by_text("Keep your receipt to yourself")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "name", "value", "wrong"),
    [
        ("**/entries", 3, lambda entry: [entry[0], entry[1][::-1], entry[2]], "values"),
        ("**/entries", 3, lambda entry: [entry[0][::-1], *entry[1:]], "root"),
        ("**/draw/receipt*", "nonce", lambda nonce: nonce[::-1], "leaf"),
        ("**/draw/receipt*", "rank", lambda rank: rank % 19 + 1, "rank"),
        ("**/api/v1/draws/*", "secret", lambda secret: secret[::-1], "commitment"),
    ],
)
def test_the_check_finds_what_was_changed(
    venue: Venue, come: NewPerson, path: str, name: str | int, value: Any, wrong: str
) -> None:
    page = draw_page(venue, come())
    check = page.get_by_role("button", name="Check the draw")
    check.click()
    shows(page, "result").to_have_text("Everything is right.")
    expect(page.locator("li[data-check]")).to_have_count(13)
    expect(page.locator("li[data-ok=no]")).to_have_count(0)

    def tamper(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body[name] = value(body[name])
        route.fulfill(response=answer, json=body)

    page.route(path, tamper)
    check.click()
    shows(page, "result").to_contain_text("Something is wrong.")
    expect(page.locator(f"li[data-check={wrong}][data-ok=no]")).to_be_visible()


def test_the_file_has_the_draw_the_list_and_the_receipt_of_its_holder_alone(venue: Venue, come: NewPerson) -> None:
    page = draw_page(venue, come(), others=4)
    stranger = come().tab(page.url)
    for reader, fields in ((page, {"draw", "entries", "receipt"}), (stranger, {"draw", "entries"})):
        with reader.expect_download() as download:
            reader.get_by_role("button", name="Download everything as one file").click()
        file = json.loads(download.value.path().read_text(encoding="utf-8"))
        assert file.keys() == fields
        assert download.value.suggested_filename == f"draw-{file['draw']['id']}.json"
        assert len(file["entries"]) == file["draw"]["count"] == 5
    expect(stranger.get_by_text("Your receipt", exact=True)).to_have_count(0)
    stranger.get_by_role("button", name="Check the draw").click()
    shows(stranger, "result").to_have_text("Everything is right.")
    expect(stranger.locator("li[data-check]")).to_have_count(8)


def test_the_page_of_a_draw_is_in_the_language_of_its_reader(venue: Venue, come: NewPerson) -> None:
    page = draw_page(venue, come(), "ar", others=2)
    expect(page.get_by_role("heading", name="القرعة", exact=True)).to_be_visible()
    assert page.get_attribute("html", "dir") == "rtl"
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Die Auslosung", exact=True)).to_be_visible()


def test_before_a_draw_its_page_shows_what_is_fixed(venue: Venue, come: NewPerson) -> None:
    queue = in_prequeue(venue, 3000)
    (opening,) = queue.admin("GET", "/openings")["openings"]
    page = come().tab(f"{venue.server.base_url}/draws/{queue.name}.{opening['id']}")
    expect(page.get_by_text("The order has not been drawn yet.")).to_be_visible()
    expect(page.get_by_text("commitment")).to_be_visible()
    expect(page.get_by_role("button", name="Check the draw")).to_have_count(0)
    nowhere = come().tab(f"{venue.server.base_url}/draws/{queue.name}.nowhere")
    expect(nowhere.get_by_role("heading", name="Page not found")).to_be_visible()


def test_people_in_line_are_told_when_it_is_over(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    plan(queue, 1, ends_at=in_seconds(SOON_SECONDS), after="close")
    until_phase(queue, "open")
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("1")
    shows(page, "title").to_have_text("It is over")
    eventually(lambda: queue.waiting() == 1, "the place is kept")
