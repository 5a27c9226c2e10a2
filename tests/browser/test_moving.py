"""A place in the line to a site moves to another device, in a real browser: with and without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPerson
from tests.browser.prequeue import open_prequeue, start_soon
from tests.browser.venue import Queue, Venue, shows


def is_state(page: Page, state: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-state", state)


def link_of(page: Page, queue: Queue) -> str:
    """The link that the picture holds, as another device reads it."""
    answer = page.evaluate(f"fetch('/api/v1/move?queue={queue.name}', {{method: 'POST'}}).then((it) => it.json())")
    return str(answer["url"])


def test_a_place_moves_to_the_device_that_scans_it_and_both_pages_say_so(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(1)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("2")
    page.get_by_role("link", name="Move to another device").click()
    is_state(page, "moving")
    expect(page.get_by_alt_text("QR code with the link to your place")).to_be_visible()
    there = come().tab(venue.server.base_url + link_of(page, queue))
    expect(there.get_by_label("Code below the picture")).to_be_hidden()
    assert "#" not in there.url
    assert queue.waiting() == 2
    there.get_by_role("button", name="Continue here").click()
    there.wait_for_url(f"**/q/{queue.name}*")
    shows(there, "position").to_have_text("2")
    is_state(page, "moved")
    expect(page.get_by_role("heading", name="Your place has moved")).to_be_visible()
    assert queue.waiting() == 2
    queue.call(2)
    there.wait_for_url(f"{venue.site.url}/**")
    is_state(page, "moved")


def test_a_page_that_shows_the_place_says_at_once_that_it_has_moved_and_takes_no_second_one(
    venue: Venue, come: NewPerson
) -> None:
    queue = venue.queue()
    me = come()
    page = me.tab(queue.url)
    shows(page, "position").to_have_text("1")
    there = come().tab(venue.server.base_url + link_of(page, queue))
    there.get_by_role("button", name="Continue here").click()
    is_state(page, "moved")
    is_state(me.tab(queue.url), "moved")
    assert queue.waiting() == 1
    page.get_by_role("button", name="Join again").click()
    shows(page, "position").to_have_text("2")
    assert queue.waiting() == 2


def test_without_scripts_and_without_a_camera_a_place_moves_by_a_code_that_is_typed(
    venue: Venue, come: NewPerson
) -> None:
    queue = venue.queue()
    queue.others(1)
    old, new = come(java_script_enabled=False), come(java_script_enabled=False)
    page = old.tab(queue.url)
    page.get_by_role("button", name="Join the line").click()
    expect(page.locator("[data-show=position]")).to_have_text("2")
    page.get_by_role("link", name="Move to another device").click()
    code = page.locator(".typed b").inner_text()
    address = page.locator(".typed bdi").inner_text()
    there = new.tab(f"http://{address}")
    there.get_by_role("textbox", name="Code below the picture").fill(re.sub("-", " ", code).lower())
    there.get_by_role("button", name="Continue here").click()
    there.wait_for_url(f"**/q/{queue.name}*")
    expect(there.locator("[data-show=position]")).to_have_text("2")
    is_state(page, "moved")  # the page refreshes itself
    assert queue.waiting() == 2


def test_with_scripts_a_code_can_be_typed_too_and_a_wrong_one_says_so(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("1")
    page.get_by_role("link", name="Move to another device").click()
    code = page.locator(".typed b").inner_text()
    there = come().tab(f"{venue.server.base_url}/join/{queue.name}/move")
    there.get_by_role("textbox", name="Code below the picture").fill("1-0000-0000")
    there.keyboard.press("Enter")
    expect(there.get_by_role("heading", name="This code does not work")).to_be_visible()
    there.get_by_role("link", name="Try again").click()
    there.get_by_role("textbox", name="Code below the picture").fill(code)
    there.keyboard.press("Enter")
    shows(there, "position").to_have_text("1")
    is_state(page, "moved")


def test_the_turn_is_not_missed_while_the_code_is_shown(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("1")
    page.get_by_role("link", name="Move to another device").click()
    is_state(page, "moving")
    queue.call()
    page.wait_for_url(f"{venue.site.url}/**")


def test_a_place_in_a_pre_queue_moves_too_and_is_drawn_once(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    opening = open_prequeue(queue)
    queue.others(2)
    page = come().tab(queue.url)
    is_state(page, "prequeue")
    there = come().tab(venue.server.base_url + link_of(page, queue))
    there.get_by_role("button", name="Continue here").click()
    is_state(there, "prequeue")
    is_state(page, "moved")
    start_soon(queue, opening)
    is_state(there, "waiting")
    shows(there, "position").to_have_text(re.compile("^[123]$"))
    assert queue.waiting() == 3
