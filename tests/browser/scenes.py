"""Every state of the page, and how someone comes to see it: for tests that open all of them, and the pictures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page

from tests.browser.openings import OPENING_SCENES
from tests.browser.venue import Person, Queue, Venue, eventually, never_answer, shows

#: A small logo, as an operator would set it.
LOGO = (
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%20120%2032'%3E%3Crect%20width="
    "'32'%20height='32'%20rx='8'%20fill='%23b4235a'/%3E%3Cpath%20d='M9%2020l7-10%207%2010z'%20fill='%23fff'/%3E%3Ctext"
    "%20x='42'%20y='23'%20font-family='sans-serif'%20font-weight='700'%20font-size='20'%20fill='%23b4235a'%3EAlpine%3C/"
    "text%3E%3C/svg%3E"
)


def joining(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue()
    someone.context.route("**/join*", never_answer)
    return _at(queue, someone, lang)


def waiting(venue: Venue, someone: Person, lang: str, **settings: object) -> Page:
    return _waiting(venue, someone, lang, **settings)[1]


def _waiting(venue: Venue, someone: Person, lang: str, **settings: object) -> tuple[Queue, Page]:
    calm = {"admission": "auto", "admission_rate": 0.02, "burst": 1, "heartbeat_timeout_seconds": 0}
    queue = venue.queue(**calm | settings)
    queue.others(18)
    page = _at(queue, someone, lang)
    shows(page, "heard").to_have_attribute("data-live", "yes")
    queue.others(23)
    queue.call(6)
    shows(page, "behind").to_contain_text("23")
    return queue, page


def message(venue: Venue, someone: Person, lang: str) -> Page:
    text = "Every size is still in stock. Thank you for waiting."
    return waiting(venue, someone, lang, message=text, logo=LOGO, accent_colour="#b4235a", name="Alpine")


def paused(venue: Venue, someone: Person, lang: str) -> Page:
    queue, page = _waiting(venue, someone, lang)
    queue.set(status="paused")
    page.wait_for_selector("html[data-state=paused]")
    return page


def offline(venue: Venue, someone: Person, lang: str) -> Page:
    page = waiting(venue, someone, lang, heartbeat_timeout_seconds=60)
    someone.context.route("**/api/**", lambda route: route.abort())
    someone.context.set_offline(True)
    shows(page, "heard").to_have_attribute("data-live", "no")
    return page


def telling(venue: Venue, someone: Person, lang: str) -> Page:
    page = waiting(venue, someone, lang)
    page.locator("[data-do=tell] summary").click()
    page.locator("[data-do=tell] select").wait_for()
    return page


def moving(venue: Venue, someone: Person, lang: str) -> Page:
    page = waiting(venue, someone, lang)
    page.locator("a[href*=move]").click()
    page.wait_for_selector("html[data-state=moving]")
    return page


def together(venue: Venue, someone: Person, lang: str) -> Page:
    page = waiting(venue, someone, lang, group_size=4)
    page.locator("a[href*=together]").click()
    page.wait_for_selector("html[data-state=together]")
    return page


def group(venue: Venue, someone: Person, lang: str) -> Page:
    return someone.tab(f"{venue.queue(group_size=4).url}?lang={lang}&group=code")


def move(venue: Venue, someone: Person, lang: str) -> Page:
    return someone.tab(f"{venue.server.base_url}/join/{venue.queue().name}/move?lang={lang}")


def moved(venue: Venue, someone: Person, lang: str) -> Page:
    queue, page = _waiting(venue, someone, lang)
    answer = page.evaluate(f"fetch('/api/v1/move?queue={queue.name}', {{method: 'POST'}}).then((it) => it.json())")
    venue.http.post(f"{venue.server.base_url}/api/v1/moved", json={"code": answer["code"], "client_id": "another"})
    page.wait_for_selector("html[data-state=moved]")
    return page


def leaving(venue: Venue, someone: Person, lang: str) -> Page:
    page = _at(venue.queue(grace_seconds=600), someone, lang)
    shows(page, "position").to_have_text("1")
    page.locator("details:has([data-do=leave]) summary").click()
    page.locator("[data-do=leave] button").click()
    page.wait_for_selector("html[data-state=leaving]")
    return page


def limited(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(join_limit_per_ip=1)
    queue.others(1)
    page = _at(queue, someone, lang)
    shows(page, "again").not_to_be_empty()
    return page


def elsewhere(venue: Venue, someone: Person, lang: str) -> Page:
    return someone.tab(f"{venue.queue().url}?lang={lang}&elsewhere=1")


def admitted(venue: Venue, someone: Person, lang: str) -> Page:
    someone.context.route(f"{venue.site.url}/**", never_answer)
    queue = venue.queue()
    page = _at(queue, someone, lang)
    shows(page, "position").to_have_text("1")
    queue.call()
    page.wait_for_selector("html[data-state=admitted]")
    return page


def not_open(venue: Venue, someone: Person, lang: str) -> Page:
    opens = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=3)
    return _at(venue.queue(status="maintenance", opens_at=opens.isoformat()), someone, lang)


def maintenance(venue: Venue, someone: Person, lang: str) -> Page:
    return _at(venue.queue(status="maintenance", closed_message="We are back at noon."), someone, lang)


def on_hold(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue()
    page = _at(queue, someone, lang)
    shows(page, "position").to_have_text("1")
    queue.act(1, "hold")
    page.wait_for_selector("html[data-state=on_hold]")
    return page


def closed(venue: Venue, someone: Person, lang: str) -> Page:
    today = datetime.now(UTC).date()
    dates = [(today + timedelta(days=day)).isoformat() for day in (-1, 0, 1)]
    return _at(venue.queue(closed_dates=dates, opening_hours={}), someone, lang)


def sold_out(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(name="Winter Sale", stock=0)
    return _at(queue, someone, lang)


def full(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(max_queue_size=1)
    queue.others(1)
    return _at(queue, someone, lang)


def expired(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(heartbeat_interval_seconds=1, heartbeat_timeout_seconds=1, grace_seconds=0)
    someone.context.add_init_script("navigator.sendBeacon = () => false")  # a phone that just went dark
    page = _at(queue, someone, lang)
    shows(page, "position").to_have_text("1")
    page.goto("about:blank")
    eventually(lambda: queue.waiting() == 0, "the place is gone")
    page.goto(f"{queue.url}?lang={lang}")
    return page


def inside(venue: Venue, someone: Person, lang: str) -> Page:
    queue, page, called = _called(venue, someone, lang)
    queue.act(called, "start")
    page.goto(f"{queue.url}?lang={lang}")
    return page


def finished(venue: Venue, someone: Person, lang: str) -> Page:
    queue, page, called = _called(venue, someone, lang)
    queue.act(called, "start")
    queue.act(called, "complete")
    page.goto(f"{queue.url}?lang={lang}")
    return page


def unknown(venue: Venue, someone: Person, lang: str) -> Page:
    return someone.tab(f"{venue.server.base_url}/q/nowhere?lang={lang}")


def _at(queue: Queue, someone: Person, lang: str) -> Page:
    return someone.tab(f"{queue.url}?lang={lang}")


def _called(venue: Venue, someone: Person, lang: str) -> tuple[Queue, Page, int]:
    queue = venue.queue()
    page = _at(queue, someone, lang)
    shows(page, "position").to_have_text("1")
    page.goto("about:blank")
    (called,) = queue.call()
    return queue, page, called["ticket"]


SCENES: dict[str, Callable[[Venue, Person, str], Page]] = {
    "joining": joining,
    "waiting": waiting,
    "message": message,
    "paused": paused,
    "on_hold": on_hold,
    "offline": offline,
    "telling": telling,
    "moving": moving,
    "together": together,
    "group": group,
    "move": move,
    "moved": moved,
    "leaving": leaving,
    "limited": limited,
    "elsewhere": elsewhere,
    "admitted": admitted,
    "not_open": not_open,
    "maintenance": maintenance,
    "closed": closed,
    "full": full,
    "sold_out": sold_out,
    "expired": expired,
    "inside": inside,
    "finished": finished,
    "unknown": unknown,
    **OPENING_SCENES,
}
