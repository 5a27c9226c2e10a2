"""The first look: `make run` in a browser, and the queue `demo` of a fresh server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import NewPerson
from tests.browser.venue import Venue
from tests.shop.running import Demonstration


def _console(page: Page) -> list[str]:
    """What the console of a page says, as it says it."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    return said


def test_who_opens_the_shop_waits_a_while_sees_the_place_move_and_comes_in(browser: Browser, tmp_path: Path) -> None:
    with Demonstration(tmp_path, "--crowd", "4", "--every", "2") as it:
        shop = it.until_open()
        context = browser.new_context()
        page = context.new_page()
        said = _console(page)
        # Every place that is shown is noted by the page itself: however slow this machine is, none is missed.
        places: list[int] = []
        page.expose_function("notePlace", lambda text: places.append(int(text)))
        page.add_init_script("""
          let last;
          new MutationObserver(() => {
            const place = document.querySelector("[data-show=position]")?.textContent;
            if (place && place !== last) notePlace(last = place);
          }).observe(document, {subtree: true, childList: true, characterData: true});""")
        page.goto(shop)
        page.wait_for_url("**/q/shop?**")
        page.wait_for_url(shop, timeout=60_000)
        expect(page.get_by_role("heading", name="One lamp each")).to_be_visible()
        context.close()
    assert said == []
    assert places[0] in (4, 5)
    assert places == sorted(places, reverse=True)
    assert len(places) >= 3, "the place did not move step by step"


def test_a_first_visit_to_the_demo_comes_in_with_nothing_in_the_address(venue: Venue, come: NewPerson) -> None:
    someone = come()
    page = someone.tab()
    said = _console(page)
    page.goto(f"{venue.server.base_url}/q/demo")
    page.wait_for_url(f"{venue.server.base_url}/arrived/demo")
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert said == []
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="You have left the line")).to_be_visible()
    # The place inside is given up: who comes back waits for a new turn.
    page.goto(f"{venue.server.base_url}/arrived/demo")
    expect(page).to_have_url(re.compile(r"/q/demo"))


@pytest.mark.parametrize("locale", ["en-GB", "ar"])
def test_the_bare_address_says_what_the_server_is(venue: Venue, come: NewPerson, locale: str) -> None:
    page = come(locale=locale).tab(f"{venue.server.base_url}/")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("a.button")).to_have_count(2)
    page.locator('a.button[href="/admin"]').click()
    expect(page).to_have_url(f"{venue.server.base_url}/admin")
