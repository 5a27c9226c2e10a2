"""The pages of a walk-in line, and how someone comes to see them: for the tests, and for the pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, ViewportSize

from tests.browser.venue import Person, Queue, Venue, shows

PHONE: ViewportSize = {"width": 390, "height": 844}
TABLET: ViewportSize = {"width": 1180, "height": 820}
SHEET: ViewportSize = {"width": 900, "height": 1240}
#: What the page does that no screen shows.
WATCH = """
window.rung = 0; window.shaken = 0;
navigator.vibrate = () => { window.shaken += 1; return true; };
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...when) { window.rung += 1; return start.apply(this, when); };
window.print = () => { window.printed = (window.printed ?? 0) + 1; };
"""


def walk_in(venue: Venue, **settings: Any) -> Queue:
    """A walk-in line."""
    usual = {
        "name": "Barber Bo",
        "target_url": "",
        "heartbeat_timeout_seconds": 0,
        "phone_region": "DE",
        "ticket_prefix": "BO",
    }
    return venue.queue(**usual | settings)


def take_number(queue: Queue, someone: Person, **fields: str) -> Page:
    """Someone fills in the form and has a number."""
    page = someone.tab(queue.form_url)
    for name, value in fields.items():
        page.fill(f"#{name}", value)
    page.click("form button.wide")
    page.wait_for_url(f"**/q/{queue.name}*")
    return page


def kiosk(venue: Venue, queue: Queue, tablet: Person, **options: Any) -> Page:
    """A tablet at the door."""
    return tablet.tab(venue.server.base_url + queue.admin("POST", "/kiosk", json=options)["url"])


def _barber(venue: Venue, **settings: Any) -> Queue:
    look = {
        "accent_colour": "#0f766e",
        "series": ["A", "B"],
        "texts": {"series_A": "Haircut", "series_B": "Beard trim", "series_A.ar": "قصّ الشعر", "series_B.ar": "اللحية"},
        "desks": ["Chair 1", "Chair 2"],
    }
    queue = walk_in(venue, **look | settings)
    queue.others(4)
    return queue


def form(venue: Venue, someone: Person, lang: str = "en") -> Page:
    queue = _barber(venue, ask_party_size="optional")
    return someone.tab(f"{queue.form_url}?lang={lang}")


def errors(venue: Venue, someone: Person, lang: str = "en") -> Page:
    page = form(venue, someone, lang)
    page.fill("#phone", "12")
    page.fill("#party_size", "99")
    page.click("form button.wide")
    page.wait_for_selector("#phone-wrong")
    return page


def waiting(venue: Venue, someone: Person) -> Page:
    return _waiting(venue, someone)[1]


def _waiting(venue: Venue, someone: Person) -> tuple[Queue, Page]:
    queue = _barber(venue)
    page = take_number(queue, someone, name="Ada")
    queue.others(2)
    queue.call()
    page.reload()
    shows(page, "ahead").to_contain_text("3")
    shows(page, "heard").to_have_attribute("data-live", "yes")
    return queue, page


def called(venue: Venue, someone: Person) -> Page:
    queue, page = _waiting(venue, someone)
    queue.call(3)
    queue.admin("POST", "/call-next", json={"desk": "Chair 2"})
    page.wait_for_selector("html[data-state=admitted]")
    return page


def moving(venue: Venue, someone: Person) -> Page:
    page = waiting(venue, someone)
    page.click("a[href*=move]")
    page.wait_for_selector("img.code")
    return page


def no_show(venue: Venue, someone: Person) -> Page:
    queue, page = _waiting(venue, someone)
    mine = queue.admin("GET", "/tickets?status=waiting")["tickets"][3]["ticket"]
    queue.act(mine, "call")
    queue.act(mine, "no-show")
    page.wait_for_selector("html[data-state=expired]")
    return page


def poster(venue: Venue, someone: Person, langs: str = "en,de,ko,ar") -> Page:
    return someone.tab(f"{_barber(venue).form_url}/poster?lang={langs}")


def kiosk_start(venue: Venue, tablet: Person) -> Page:
    return kiosk(venue, _barber(venue), tablet)


def kiosk_taken(venue: Venue, tablet: Person) -> Page:
    page = kiosk_start(venue, tablet)
    page.click("button.take >> nth=0")
    page.wait_for_selector("html[data-state=taken]")
    return page


WALK_IN_SCENES: dict[str, tuple[ViewportSize, Callable[[Venue, Person], Page]]] = {
    "form": (PHONE, form),
    "errors": (PHONE, errors),
    "waiting": (PHONE, waiting),
    "called": (PHONE, called),
    "no-show": (PHONE, no_show),
    "moving": (PHONE, moving),
    "poster": (SHEET, poster),
    "kiosk": (TABLET, kiosk_start),
    "kiosk-taken": (TABLET, kiosk_taken),
}
