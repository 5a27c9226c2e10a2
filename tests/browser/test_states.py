"""Each state has a page of its own, which anyone can use: in every language, by keyboard, by ear, on a phone."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from fairline.domain.branding import LANGUAGES
from fairline.web.pages.languages import Language, catalogue
from tests.browser.axe import violations
from tests.browser.conftest import NewPerson
from tests.browser.scenes import SCENES
from tests.browser.venue import Venue, shows

pytestmark = pytest.mark.long


@pytest.mark.parametrize("state", SCENES)
def test_a_page_keeps_nobody_out(venue: Venue, come: NewPerson, state: str) -> None:
    someone = come(bypass_csp=True)  # for axe alone: the page itself is seen to keep to its policy elsewhere
    page = SCENES[state](venue, someone, "en")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []
        assert _background(page) == {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 19, 26)"}[scheme]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out on a phone"
    assert page.evaluate("document.getAnimations().length") == 0, "nothing moves for whom motion is too much"


def _background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_is_spoken_throughout(venue: Venue, come: NewPerson, lang: str) -> None:
    queue = venue.queue(admission="auto", admission_rate=0.01, burst=1)
    queue.others(3)
    page = come(locale={"en": "en-GB", "pt": "pt-BR"}.get(lang, lang)).tab(queue.url)
    words = catalogue(lang)
    shows(page, "title").to_have_text(str(words["waiting_title"]))
    assert page.get_attribute("html", "lang") == lang
    assert page.get_attribute("html", "dir") == ("rtl" if lang == "ar" else "ltr")
    shows(page, "heard").to_have_text(str(words["heard_live"]))
    queue.others(2)
    queue.set(admission_rate=0.02)
    shows(page, "behind").to_have_text(Language(lang).count("behind", 2))
    seen = page.inner_text("body")
    assert "{" not in seen
    assert str(words["leave"]) in seen
    other = "de" if lang != "de" else "en"
    page.get_by_role("link", name=str(catalogue(other)["language"])).click()
    shows(page, "title").to_have_text(str(catalogue(other)["waiting_title"]))
    assert queue.waiting() >= 3


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_script_says_what_the_server_says(venue: Venue, come: NewPerson, lang: str) -> None:
    language = Language(lang)
    numbers = [0, 1, 2, 3, 5, 10, 11, 21, 99, 100, 101, 102, 103, 111, 999, 1000, 12_345, 1_000_000, 1_234_567]
    edges = [0, 1, 29, 30, 59, 60, 61, 90, 119, 120, 299, 599, 601, 749, 899, 3599, 5399, 5401, 7200, 43_199, 43_200]
    spans = [None] + [[low, high] for low in edges for high in edges if low <= high]
    page = SCENES["joining"](venue, come(), lang)
    said = page.evaluate(
        """async ([numbers, spans]) => {
            const script = await import(document.querySelector("script[type=module]").src);
            return [numbers.map(script.number), numbers.map(script.behind), spans.map(script.wait)];
        }""",
        [numbers, spans],
    )
    assert said == [
        [language.number(n) for n in numbers],
        [language.behind(n) for n in numbers],
        [language.wait((span[0], span[1]) if span else None) for span in spans],
    ]


def test_without_javascript_a_button_joins_and_the_page_refreshes_itself(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1, heartbeat_timeout_seconds=3, grace_seconds=60)
    queue.others(1)
    page = come(java_script_enabled=False).tab(queue.url)
    assert queue.waiting() == 1, "looking does not join"
    page.get_by_role("button", name="Join the line").click()
    shows(page, "position").to_have_text("2")
    shows(page, "heard").to_have_text("This page refreshes automatically.", use_inner_text=True)
    queue.call()
    shows(page, "position").to_have_text("1")
    page.get_by_text("Leave the line").click()
    page.get_by_role("button", name="Yes, leave").click()
    expect(page.get_by_role("heading", name="You have left the line")).to_be_visible()
    page.get_by_role("button", name="Take my place back").click()
    shows(page, "position").to_have_text("1")
    queue.call()
    page.wait_for_url(f"{venue.site.url}/**")
    assert "Welcome, ticket 2" in page.inner_text("body"), "the ticket that they had"


def test_closed_pages_go_on_by_themselves(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(status="maintenance")
    page = come().tab()
    page.clock.install()
    page.goto(queue.url)
    expect(page.get_by_role("heading", name="Back soon")).to_be_visible()
    queue.set(status="active")
    page.clock.run_for(100_000)
    shows(page, "position").to_have_text("1")


def test_someone_who_listens_is_not_told_every_step(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(12)
    page = come().tab(queue.url)
    shows(page, "announce").to_have_text("Place 13. Estimated wait: We’ll show a wait time soon.")
    for left in (12, 11):
        queue.call()
        shows(page, "position").to_have_text(str(left))
    shows(page, "announce").to_contain_text("Place 13.")
    live = page.evaluate("[...document.querySelectorAll('[aria-live], [role=status], [role=alert]')].length")
    assert live == 4, "what is announced, what grew, the turn, and a wrong address: nothing else speaks"


@pytest.mark.parametrize("state", ["waiting", "not_open"])
def test_first_paint_is_light(venue: Venue, come: NewPerson, state: str) -> None:
    someone = come()
    page = SCENES[state](venue, someone, "ar")  # the longest letters
    resources = page.evaluate(
        """() => JSON.stringify(["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
            .map((each) => ({name: each.name, kind: each.initiatorType, bytes: each.transferSize,
                             blocks: each.renderBlockingStatus, start: each.startTime})))"""
    )
    entries = [entry for entry in json.loads(resources) if "/api/" not in entry["name"]]
    assert sum(entry["bytes"] for entry in entries) < 30_000, entries
    before_paint = [entry for entry in entries if entry["kind"] == "navigation" or entry["blocks"] == "blocking"]
    assert len(before_paint) <= 3, before_paint
    assert len(entries) <= 7, entries  # the scripts at once: the page names them all
