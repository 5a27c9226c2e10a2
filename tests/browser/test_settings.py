"""The settings of a queue on the dashboard: a tab for each group, a control for each kind, and the page beside them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, ViewportSize, expect

from fairline.domain.queue_settings import SETTINGS
from fairline.domain.settings_groups import GROUPS
from tests.browser.axe import violations
from tests.browser.boards import a_walk_in_line
from tests.browser.desks import Cookies
from tests.browser.venue import Queue, Venue, eventually, person

DESKTOP: ViewportSize = {"width": 1440, "height": 1000}
PHONE: ViewportSize = {"width": 390, "height": 844}
#: What an attacker would put into a picture: each of these would say so in the title of the page.
HOSTILE = (
    b"<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40' onload='top.document.title=\"run\"'>"
    b"<script>document.title = 'run'; fetch('/run')</script><image href='http://127.0.0.1:1/run' width='9' height='9'/>"
    b"<rect width='40' height='40' fill='green'/></svg>"
)
Open = Callable[..., Page]


@pytest.fixture
def open_settings(venue: Venue, cookies: Cookies) -> Iterator[Open]:
    """Someone opens the settings of a queue, at a group."""
    with ExitStack() as stack:

        def opened(queue: Queue, group: str = "", role: str = "operator", **options: Any) -> Page:
            someone = stack.enter_context(person(venue, **{"viewport": DESKTOP} | options))
            someone.context.add_cookies(cookies[role])
            page = someone.tab(f"{venue.server.base_url}/admin/queues/{queue.name}#settings")
            expect(field(page, "name")).not_to_have_value("")
            if group:
                page.locator(f"#group-tab-{group}").click()
            return page

        yield opened


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#set-{name}")


def save(page: Page) -> None:
    page.locator('[data-do="save-settings"]').click()
    expect(page.locator(".save")).to_be_hidden()


def glass(page: Page) -> Any:
    """The page in the phone."""
    return page.frame_locator(".phone iframe")


def is_copied(page: Page, url: str) -> bool:
    """Whether an address is on the clipboard."""
    return bool(page.evaluate("navigator.clipboard.readText()") == url)


def test_every_setting_is_under_the_tab_of_its_group(venue: Venue, open_settings: Open) -> None:
    page = open_settings(a_walk_in_line(venue))
    tabs = page.get_by_role("tablist", name="Groups of settings").get_by_role("tab")
    assert tabs.all_text_contents() == list(GROUPS)
    found: list[str] = []
    for tab in tabs.all():
        tab.click()
        shown = page.locator("fieldset:visible")
        expect(shown).to_have_count(1)
        found += shown.locator("[data-name]").evaluate_all("all => all.map((each) => each.dataset.name)")
        assert violations(page, iframes=False) == []
    assert tuple(found) == SETTINGS
    page.keyboard.press("Home")
    expect(tabs.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("fieldset:visible")).to_contain_text("Notices")


def test_hours_are_set_by_day_with_breaks_in_the_zone_of_the_queue(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue, closed_dates=["2027-12-25"])
    page = open_settings(queue, "opening-hours")
    expect(page.get_by_text("No hours are set: people can join at any time.")).to_be_visible()
    field(page, "time_zone").fill("Europe/Zurich")
    monday, sunday = page.get_by_role("group", name="Monday"), page.get_by_role("group", name="Sunday")
    for begin, end in (("08:00", "12:00"), ("13:30", "18:00")):
        monday.get_by_role("button", name="Add hours").click()
        monday.get_by_label("From").last.fill(begin)
        monday.get_by_label("Until").last.fill(end)
    page.get_by_role("button", name="Tuesday to Friday like Monday").click()
    sunday.get_by_role("button", name="Add hours").click()
    sunday.get_by_label("From").fill("20:00")
    sunday.get_by_label("Until").fill("00:00")
    page.get_by_role("group", name="Friday").get_by_role("button", name="Remove").last.click()
    expect(page.get_by_role("group", name="Saturday")).to_contain_text("Closed")
    page.get_by_role("button", name="Add a date").click()
    page.get_by_label("Date", exact=True).last.fill("2028-01-01")
    save(page)
    settings = queue.admin("GET")
    day = ["08:00-12:00", "13:30-18:00"]
    weekdays = dict.fromkeys(("monday", "tuesday", "wednesday", "thursday"), day)
    assert settings["opening_hours"] == weekdays | {"friday": day[:1], "sunday": ["20:00-24:00"]}
    assert settings["closed_dates"] == ["2027-12-25", "2028-01-01"]
    assert settings["time_zone"] == "Europe/Zurich"
    page.reload()
    page.locator("#group-tab-opening-hours").click()
    expect(sunday.get_by_label("Until")).to_have_value("00:00")
    sunday.get_by_label("Until").fill("20:00")
    page.locator('[data-do="save-settings"]').click()
    expect(page.locator("#set-opening_hours-wrong")).to_contain_text("Must not have empty spans")


def test_a_time_is_that_on_the_clocks_of_the_queue(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue, time_zone="Europe/Zurich", opens_at="2027-07-01T06:00:00Z")
    page = open_settings(queue, "page", timezone_id="Asia/Seoul")
    expect(field(page, "opens_at")).to_have_value("2027-07-01T08:00")
    expect(page.locator(".save")).to_be_hidden()  # it is written in another way, but not changed
    field(page, "opens_at").fill("2027-01-15T09:30")
    page.locator("#group-tab-opening-hours").click()
    field(page, "time_zone").fill("America/New_York")
    field(page, "time_zone").blur()
    page.locator("#group-tab-page").click()
    expect(field(page, "opens_at")).to_have_value("2027-01-15T03:30")  # the same moment
    save(page)
    assert queue.admin("GET")["opens_at"] == "2027-01-15T09:30:00+01:00"


def test_a_logo_is_uploaded_made_to_fit_and_cannot_do_anything(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue)
    page = open_settings(queue, "page")
    photo = io.BytesIO()
    Image.effect_noise((2400, 1200), 90).convert("RGB").save(photo, "JPEG")
    upload = field(page, "logo")
    shown = page.locator(".logo-shown")
    upload.set_input_files({"name": "logo.jpg", "mimeType": "image/jpeg", "buffer": photo.getvalue()})
    expect(shown).to_be_visible()
    save(page)
    kept = queue.admin("GET")["logo"]
    assert len(kept) <= 10_000
    width, height = Image.open(io.BytesIO(base64.b64decode(kept.partition(",")[2]))).size
    assert width / height == pytest.approx(2, rel=0.03)
    upload.set_input_files({"name": "notes.png", "mimeType": "image/png", "buffer": b"not an image"})
    expect(page.get_by_text("This file is not an image that the browser can read.")).to_be_visible()
    upload.set_input_files({"name": "notes.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"})
    expect(page.get_by_text("Choose a PNG, JPEG, WebP, GIF or SVG image.")).to_be_visible()
    upload.set_input_files({"name": "hostile.svg", "mimeType": "image/svg+xml", "buffer": HOSTILE})
    expect(glass(page).locator(".brand img")).to_be_visible()
    save(page)
    assert queue.admin("GET")["logo"].startswith("data:image/svg+xml")
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    for address in (queue.form_url, f"{queue.url.partition('/q/')[0]}/board/{queue.name}"):
        tab = page.context.new_page()
        tab.goto(address)
        picture = tab.locator(".brand img, .logo")
        expect(picture).to_be_visible()
        assert picture.evaluate("it => it.decode().then(() => it.naturalWidth)") == 40
        assert tab.title() != "run"
        assert not [url for url in asked if url.endswith("/run")]
    page.get_by_role("button", name="Remove", exact=True).first.click()
    save(page)
    assert queue.admin("GET")["logo"] == ""


def test_the_phone_shows_the_page_with_what_is_not_saved_yet(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue)
    before = queue.admin("GET")
    page = open_settings(queue, "page")
    expect(glass(page).locator(".brand")).to_have_text("City Hall")
    page.get_by_label("Choose a colour").first.fill("#b4235a")
    expect(field(page, "accent_colour")).to_have_value("#b4235a")
    field(page, "message").fill("Every size is still in stock.")
    expect(glass(page).locator(".message:visible")).to_contain_text("Every size is still in stock.")
    assert glass(page).locator(".number:visible").evaluate("it => getComputedStyle(it).color") == "rgb(180, 35, 90)"
    page.get_by_label("What it shows").select_option("Form")
    page.locator(".page-preview").get_by_label("Language").select_option("Deutsch")
    expect(glass(page).get_by_role("button")).to_have_text("Nummer ziehen")
    page.locator("#group-tab-people").click()
    field(page, "ask_party_size").select_option("Required")
    expect(glass(page).locator("#party_size")).to_be_visible()
    page.locator("#group-tab-page").click()
    field(page, "page_template").fill("<p>{{ page.nothing.at_all }}</p>")
    expect(page.locator("#set-page_template-wrong")).to_contain_text("Cannot be drawn")
    field(page, "page_template").fill("<script>parent.document.title = 'run'</script><p>{{ page.name }}, ours</p>")
    expect(glass(page).get_by_text("City Hall, ours", exact=True)).to_be_visible()
    assert page.title() != "run"
    assert queue.admin("GET") == before, "nothing was saved"


def test_what_is_wrong_is_said_at_its_field_by_its_label(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue)
    page = open_settings(queue, "presence")
    field(page, "session_max_seconds").fill("1")
    page.locator("#group-tab-general").click()
    page.locator('[data-do="save-settings"]').click()
    said = page.locator("#set-session_max_seconds-wrong")
    expect(said).to_contain_text("Must be at least “Session ends without activity after” (3600)")
    expect(field(page, "session_max_seconds")).to_be_focused()  # and so its tab is open
    expect(field(page, "session_max_seconds")).to_have_attribute("aria-invalid", "true")
    assert violations(page, iframes=False) == []
    page.get_by_role("button", name="Discard").click()
    field(page, "grace_seconds").fill("9999")
    expect(page.locator("#set-grace_seconds-wrong")).to_have_text("Enter a number from 0 to 3,600.")
    page.get_by_role("button", name="Discard").click()
    page.locator("#group-tab-notices").click()
    page.get_by_label("It is nearly their turn", exact=True).check()
    page.locator("#group-tab-page").click()
    page.get_by_role("button", name="Add a text").click()
    page.get_by_label("Name of the text").fill("waiting_title")
    page.locator(".text-row").get_by_label("Language").select_option("Deutsch")
    page.get_by_label("Text", exact=True).fill("Gleich geschafft")
    save(page)
    settings = queue.admin("GET")
    assert (settings["notices"], settings["texts"]) == (["nearly"], {"waiting_title.de": "Gleich geschafft"})


def test_the_settings_can_be_used_on_a_phone_in_the_dark_and_from_right_to_left(
    venue: Venue, open_settings: Open
) -> None:
    page = open_settings(a_walk_in_line(venue), locale="ar", viewport=PHONE, color_scheme="dark")
    assert page.get_attribute("html", "dir") == "rtl"
    for group in ("opening-hours", "page", "people"):
        page.locator(f"#group-tab-{group}").click()
        assert violations(page, iframes=False) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    viewer = open_settings(a_walk_in_line(venue), role="viewer")
    expect(field(viewer, "name")).to_be_disabled()
    expect(viewer.locator(".phone")).to_have_count(0)


def test_the_screens_of_a_queue_are_found_from_its_page(venue: Venue, open_settings: Open) -> None:
    queue = a_walk_in_line(venue)
    page = open_settings(queue, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#tab-now").click()
    base = queue.url.partition("/q/")[0]
    for screen, path in {
        "waiting_page": f"/q/{queue.name}",
        "form": f"/join/{queue.name}",
        "poster": f"/join/{queue.name}/poster",
        "board": f"/board/{queue.name}",
        "kiosk": f"/join/{queue.name}/kiosk",
    }.items():
        shown = page.locator(f'[data-screen="{screen}"]')
        expect(shown.get_by_role("link")).to_have_attribute("href", base + path)
        shown.get_by_role("button", name="Copy").click()
        eventually(partial(is_copied, page, base + path), f"the address of the {screen} is copied")
        if screen != "kiosk":
            shown.get_by_text("QR code").click()
            assert shown.locator("img").evaluate("it => it.decode().then(() => it.naturalWidth)") > 0
    assert violations(page, iframes=False) == []
    page.get_by_role("button", name="Create kiosk link").click()
    link = page.get_by_role("dialog").get_by_role("link").get_attribute("href") or ""
    page.goto(link)
    expect(page.get_by_role("button", name="Take a number")).to_be_visible()
    queue.set(admission="auto", target_url="https://shop.test/")
    page.goto(f"{base}/admin/queues/{queue.name}")
    expect(page.locator("[data-screen]")).to_have_count(3)  # nobody is called, so nothing calls
