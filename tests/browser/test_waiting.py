"""In line, in a real browser: the place is taken, kept, shown and used."""

from __future__ import annotations

import re
from contextlib import suppress

from playwright.sync_api import Error, expect

from tests.browser.conftest import NewPerson
from tests.browser.venue import Venue, eventually, shows


def test_from_joining_to_the_site_with_a_session_token_that_works(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(3)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("4")
    shows(page, "behind").to_have_text("Nobody behind you yet")
    queue.others(2)
    queue.call()
    shows(page, "position").to_have_text("3")
    shows(page, "behind").to_have_text("2 people behind you")
    assert page.locator("[role=progressbar]").get_attribute("aria-valuenow") == "25"
    shows(page, "heard").to_have_text("Up to date")
    queue.call(2)
    shows(page, "title").to_have_text("You are next")
    (called,) = queue.call()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_visible()
    expect(page.get_by_role("link", name="Continue")).to_be_visible()
    page.wait_for_url(f"{venue.site.url}/**")
    assert page.text_content("body") == f"Welcome, ticket {called['ticket']}"
    assert queue.ticket(called["ticket"])["status"] == "active"


def test_one_comes_out_where_one_wanted_to_be(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    page = come().tab(f"{queue.url}?return=%2Fshop%2Flamp%3Fcolour%3Dred")
    shows(page, "position").to_have_text("1")
    page.get_by_role("link", name="Deutsch").click()  # a switch of the language forgets nothing
    shows(page, "position").to_have_text("1")
    queue.call()
    page.wait_for_url(f"{venue.site.url}/shop/lamp?colour=red&fairline_session=*")


def test_people_who_wait_see_when_everything_is_sold(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(stock=1, heartbeat_interval_seconds=1)
    (buyer,) = queue.others(1)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("2")
    queue.call()
    for step in ("start", "complete"):
        queue.act(buyer["ticket"], step)
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    queue.set(stock=2)
    shows(page, "position").to_have_text("1")


def test_a_reload_keeps_the_place(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(1)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("2")
    mine = queue.newest()["ticket"]
    queue.others(1)
    for _ in range(3):
        page.reload()
        shows(page, "heard").to_have_text("Up to date")
        shows(page, "position").to_have_text("2")
    # Longer than the grace: what the closing of the page began, the coming back has ended.
    other = queue.others(1)[0]["ticket"]
    eventually(lambda: queue.ticket(other)["status"] == "waiting", "the other waits")
    eventually(lambda: not queue.ticket(mine)["leaving"], "nobody is leaving")
    assert queue.waiting() == 4


def test_two_tabs_share_one_ticket_and_one_stream(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(grace_seconds=1)
    queue.others(2)
    me = come()
    first, second = me.tab(queue.url), me.tab(queue.url)
    for page in (first, second):
        shows(page, "position").to_have_text("3")
        shows(page, "heard").to_have_text("Up to date")
    assert queue.waiting() == 3
    queue.call()
    for page in (first, second):
        shows(page, "position").to_have_text("2")
    assert len([request for request in me.requests if "/api/v1/stream" in request.url]) == 1
    first.close(run_before_unload=True)
    queue.call()
    shows(second, "position").to_have_text("1")
    shows(second, "heard").to_have_text("Up to date")
    assert queue.waiting() == 1
    queue.call()
    second.wait_for_url(f"{venue.site.url}/**")


def test_after_a_crash_of_the_tab_the_place_is_there(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    me = come()
    page = me.tab(queue.url)
    shows(page, "position").to_have_text("1")
    with page.expect_event("crash"), suppress(Error):  # the tab is gone, as it should be
        page.goto("chrome://crash")
    queue.others(1)
    shows(me.tab(queue.url), "position").to_have_text("1")
    assert queue.waiting() == 2


def test_leaving_takes_two_presses_of_a_key_and_coming_back_one(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("1")
    page.get_by_text("Leave the line").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You have left the line")).to_be_visible()
    assert queue.waiting() == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shows(page, "position").to_have_text("1")
    assert queue.waiting() == 1


def test_what_the_operator_says_is_shown_at_once_and_taken_back(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    page = come().tab(queue.url)
    shows(page, "heard").to_have_text("Up to date")
    queue.admin("POST", "/message", json={"text": "Doors open at <b>eight</b>."})
    shows(page, "message").to_have_text("Doors open at <b>eight</b>.")
    expect(page.get_by_text("From the organiser", exact=True)).to_be_visible()
    queue.admin("POST", "/message", json={"text": ""})
    expect(page.get_by_text("From the organiser", exact=True)).to_be_hidden()


def test_a_pause_is_told_and_its_end(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(admission="auto", admission_rate=0.001, burst=1, max_active=5)
    queue.others(3)
    page = come().tab(queue.url)
    shows(page, "title").to_have_text("You are in line")
    queue.set(status="paused")
    shows(page, "title").to_have_text("The line is paused")
    shows(page, "wait").to_have_text(re.compile(r"at least \d+ minutes"))
    queue.set(status="active")
    shows(page, "title").to_have_text("You are in line")


def test_a_wait_that_grew_is_owned_up_to_with_the_reason(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(admission="auto", admission_rate=0.02, burst=1, max_active=1000)
    queue.others(5)
    page = come().tab(queue.url)
    shows(page, "wait").to_contain_text("minutes")
    expect(page.locator("[data-show=note]")).to_be_hidden()
    queue.set(admission_rate=0.005)
    shows(page, "note").to_have_text("The wait has grown: people are being let in more slowly than before.")


def test_after_a_pause_the_wait_is_promised_again_and_has_not_grown(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(admission="auto", admission_rate=0.02, burst=1, max_active=1000)
    queue.others(5)
    page = come().tab(queue.url)
    shows(page, "wait").to_contain_text("minutes")
    queue.set(status="paused")
    shows(page, "title").to_have_text("The line is paused")
    page.evaluate("const now = Date.now; Date.now = () => now() + 3_600_000")
    queue.set(status="active")
    shows(page, "title").to_have_text("You are in line")
    shows(page, "wait").to_contain_text("minutes")
    expect(page.locator("[data-show=note]")).to_be_hidden()


def test_being_overtaken_is_owned_up_to(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(2)
    page = come().tab(queue.url)
    shows(page, "position").to_have_text("3")
    other = queue.others(1)[0]["ticket"]
    queue.admin("POST", f"/tickets/{other}/prioritise", json={"level": 3})
    shows(page, "position").to_have_text("4")
    shows(page, "note").to_have_text("The wait has grown: people with priority were placed ahead of you.")
