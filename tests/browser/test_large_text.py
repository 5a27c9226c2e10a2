"""On a small phone, and with text twice as large, nothing sticks out of a page, and a place is on one line."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPerson
from tests.browser.desks import WALK_IN, Cookies
from tests.browser.scenes import SCENES
from tests.browser.venue import Venue, shows
from tests.browser.walk_in_line import PHONE, WALK_IN_SCENES

#: The width of the screen, and the size of the text in percent of the usual one.
SIGHTS = ((320, 100), (390, 200))

_STICKS_OUT = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const { left, right, width } = each.getBoundingClientRect();
  return width > 1 && each.checkVisibility() && !each.matches(".skip") && (left < -1 || right > innerWidth + 1)
    && !scrolls(each.parentElement);
  function scrolls(it) {
    return it !== document.body && (getComputedStyle(it).overflowX !== "visible" || scrolls(it.parentElement));
  }
}).map((each) => `${each.tagName} ${each.className}: ${each.textContent.trim().slice(0, 40)}`).slice(0, 5)"""
_LINES = """() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector("[data-show=position]"));
  return new Set([...range.getClientRects()].map((each) => Math.round(each.top))).size;
}"""


def sticks_out(page: Page) -> dict[tuple[int, int], list[str]]:
    """What of the page is beyond the edge of the screen, by the width of the screen and the size of the text."""
    found = {}
    for width, percent in SIGHTS:
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate("percent => { document.documentElement.style.fontSize = `${percent}%`; }", percent)
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if wide or page.evaluate(_STICKS_OUT):
            found[width, percent] = page.evaluate(_STICKS_OUT)
    return found


def test_nothing_of_a_state_sticks_out(venue: Venue, come: NewPerson) -> None:
    for state, scene in SCENES.items():
        page = scene(venue, come(reduced_motion="reduce", bypass_csp=True), "en")
        assert sticks_out(page) == {}, state


def test_a_long_place_is_on_one_line(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(1501)
    page = come(bypass_csp=True).tab(f"{queue.url}?lang=de")
    shows(page, "position").to_have_text("1.502")
    assert sticks_out(page) == {}
    assert page.evaluate(_LINES) == 1


def test_nothing_of_a_walk_in_line_sticks_out(venue: Venue, come: NewPerson) -> None:
    for name, (size, scene) in WALK_IN_SCENES.items():
        if size == PHONE:
            page = scene(venue, come(viewport=size, reduced_motion="reduce", bypass_csp=True))
            assert sticks_out(page) == {}, name


def test_nothing_of_the_staff_pages_sticks_out(venue: Venue, come: NewPerson, cookies: Cookies) -> None:
    office, sale = venue.queue(**WALK_IN), venue.queue()
    for queue in (office, sale):
        queue.others(3, name="Ada Lovelace-Byron of Ockham")
    someone = come(reduced_motion="reduce", bypass_csp=True)
    someone.context.add_cookies(cookies["operator"])
    of_sale, of_office = f"/admin/queues/{sale.name}", f"/admin/queues/{office.name}"
    tabs = [f"{of_sale}#{tab}" for tab in ("now", "people", "settings", "history")]
    for path in ("/admin", *tabs, of_office, f"{of_office}/desk", "/admin/webhooks", "/", "/nowhere", "/docs"):
        page = someone.tab(venue.server.base_url + path)
        if path.startswith("/admin"):
            expect(page.locator("main:not(:has([aria-busy]))")).to_be_visible()
            menu = page.locator(".me summary")
            menu.click()
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            assert sticks_out(page) == {}, f"{path}, the menu"
            menu.click()
        assert sticks_out(page) == {}, path
        page.close()
