"""People wait as a group, in a real browser: with and without scripts."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPerson
from tests.browser.venue import Venue, shows


def is_state(page: Page, state: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-state", state)


def test_a_friend_joins_by_the_link_and_both_are_let_in_together(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(group_size=3, heartbeat_interval_seconds=1)
    queue.others(1)
    mine = come().tab(queue.url)
    shows(mine, "position").to_have_text("2")
    queue.others(2)
    mine.get_by_role("link", name="Waiting with others?").click()
    is_state(mine, "together")
    expect(mine.get_by_alt_text("QR code with the link to your group")).to_be_visible()
    expect(mine.get_by_text("1 of 3 are here")).to_be_visible()
    friend = come().tab(mine.get_by_label("Link").input_value())
    is_state(friend, "group")
    assert queue.waiting() == 4, "looking at the link joins nothing"
    friend.get_by_role("button", name="Join the group").click()
    shows(friend, "position").to_have_text("3")
    expect(mine.get_by_text("2 of 3 are here")).to_be_visible()
    mine.get_by_role("link", name="Back to my place").click()
    shows(mine, "position").to_have_text("2")
    queue.call(2)
    for page in (mine, friend):
        page.wait_for_url(f"{venue.site.url}/**")
    assert queue.waiting() == 2


def test_without_scripts_a_friend_joins_too_and_a_full_group_says_so(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(group_size=2)
    mine = come(java_script_enabled=False).tab(queue.url)
    mine.get_by_role("button", name="Join the line").click()
    queue.others(1)
    mine.get_by_role("link", name="Waiting with others?").click()
    link = mine.get_by_label("Link").input_value()
    friend, late = come(java_script_enabled=False).tab(link), come(java_script_enabled=False).tab(link)
    friend.get_by_role("button", name="Join the group").click()
    expect(friend.locator("[data-show=position]")).to_have_text("2")
    late.get_by_role("button", name="Join the group").click()
    is_state(late, "group_over")
    late.get_by_role("link", name="Take a place of my own").click()
    late.get_by_role("button", name="Join the line").click()
    expect(late.locator("[data-show=position]")).to_have_text("4")
