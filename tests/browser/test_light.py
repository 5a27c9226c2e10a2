"""Pages are light: few round trips and bytes, and nothing on them moves once it is seen."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import NewPerson
from tests.browser.desks import WALK_IN, Cookies
from tests.browser.venue import Venue, shows

#: A score of layout shift: below 0.1 is called good; this is as good as nothing.
STILL = 0.02
#: Bytes on the wire until the position is there: page, style sheet, scripts, and the call that joins.
WAITING_BYTES = 21 * 1024

#: Adds up how far things have moved that people saw, without their doing.
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifted += each.value;
}).observe({type: "layout-shift", buffered: true});
"""
#: Every frame that comes after the entries so far have been handed over.
_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Wire:
    """What went over the network for a page: who asked for what, and how many bytes came."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.asked: list[tuple[str, str]] = []
        self.bytes = 0
        self._sizes: dict[str, int] = {}
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._note)
        session.on("Network.loadingFinished", self._add)

    def _note(self, event: dict[str, Any]) -> None:
        url = event["request"]["url"]
        if url.startswith("http"):
            self.asked.append((event["request"]["method"], url.partition("?")[0].split("/", 3)[3]))

    def _add(self, event: dict[str, Any]) -> None:
        self.bytes += int(event["encodedDataLength"])


def shifted(page: Page) -> float:
    page.evaluate(_TWO_FRAMES)
    moved: float = page.evaluate("window.shifted")
    return moved


def test_the_position_is_there_after_three_round_trips(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(12)
    me = come(locale="fr-FR")  # its texts are longer, and take more lines
    page = me.tab()
    page.add_init_script(WATCH_SHIFTS)
    wire = Wire(me.context, page)
    page.goto(queue.url)
    shows(page, "position").to_have_text("13")
    shows(page, "heard").to_have_text("À jour")
    # The page, which has its style sheet in it; the scripts, all of which it names; and the call that joins.
    page_, *scripts, join, stream = wire.asked
    assert page_ == ("GET", f"q/{queue.name}")
    names = ("waiting", "waiting-page", "waiting-turn", "format", "fairline", "fairline-server")
    assert {path for _, path in scripts} == {f"static/{name}.js" for name in names}
    assert join == ("POST", f"api/v1/queues/{queue.name}/join")  # no heartbeat, which would be refused, before it
    assert stream == ("GET", "api/v1/stream")
    preloaded = page.eval_on_selector_all(
        "link[rel=modulepreload], script[src]", "all => all.map(it => it.href ?? it.src)"
    )
    assert len(preloaded) == len(scripts)
    assert wire.bytes < WAITING_BYTES
    assert shifted(page) <= STILL


def test_nothing_moves_on_any_page(venue: Venue, come: NewPerson, cookies: Cookies) -> None:
    office, sale = venue.queue(**WALK_IN), venue.queue()
    for queue in (office, sale):
        queue.others(3, name="Ada")
    full = venue.queue(max_queue_size=1)
    full.others(1)
    url = venue.server.base_url
    drawn = "main:not(:has([aria-busy]))"
    pages = {
        f"{full.url}": ".notice",
        f"{office.form_url}": "form",
        f"{url}/board/{office.name}": "main",
        f"{url}/docs": "main",
        f"{url}/admin": drawn,
        f"{url}/admin/queues/{sale.name}": drawn,
        f"{url}/admin/queues/{office.name}/desk": drawn,
        f"{url}/admin/webhooks": drawn,
    }
    for width in (390, 1280):
        someone = come(viewport={"width": width, "height": 844})
        someone.context.add_cookies(cookies["operator"])
        for address, there in pages.items():
            page = someone.tab()
            page.add_init_script(WATCH_SHIFTS)
            page.goto(address)
            expect(page.locator(there).first).to_be_visible()
            if "/admin" in address:
                expect(page.locator('[data-show="link"]')).to_have_attribute("data-state", re.compile("live|none"))
            assert shifted(page) <= STILL, f"{address} at {width}"
            page.close()


def test_axe_finds_nothing_on_the_documentation_and_where_the_connection_is_lost(
    venue: Venue, come: NewPerson, cookies: Cookies
) -> None:
    queue = venue.queue()
    queue.others(3)
    someone = come(bypass_csp=True, reduced_motion="reduce")
    someone.context.add_cookies(cookies["operator"])
    page = someone.tab(f"{venue.server.base_url}/docs")
    assert violations(page) == []
    for path in ("", f"/queues/{queue.name}"):
        page.goto(f"{venue.server.base_url}/admin{path}")
        expect(page.locator("main:not(:has([aria-busy]))")).to_be_visible()
        someone.context.set_offline(True)
        expect(page.locator("body.stale")).to_be_visible()
        assert violations(page) == [], path
        someone.context.set_offline(False)


def test_what_is_tapped_is_large_enough_for_a_thumb(venue: Venue, come: NewPerson, cookies: Cookies) -> None:
    queue = venue.queue()
    someone = come()
    page = someone.tab(queue.url)
    shows(page, "position").to_have_text("1")
    heights = (
        "all => all.map(it => [it.textContent, it.getBoundingClientRect().height]).filter(([, height]) => height < 44)"
    )
    assert page.eval_on_selector_all(".tools :is(button, summary), footer a", heights) == []
    someone.context.add_cookies(cookies["operator"])
    page.goto(f"{venue.server.base_url}/admin")
    assert page.eval_on_selector_all(".top nav a", heights) == []
