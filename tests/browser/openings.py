"""Openings for the tests in a browser: planned some seconds from now, and the pages on which people wait for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, Route

from tests.browser.venue import Person, Queue, Venue, eventually, shows

#: Long enough that a page is open before it, on a machine that has much else to do.
SOON_SECONDS = 6.0


def in_seconds(seconds: float) -> str:
    """A time from now on, as the API takes it."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def plan(queue: Queue, starts: float, prequeue: float | None = None, **fields: Any) -> dict[str, Any]:
    """An opening that starts some seconds from now, with a pre-queue that opens earlier."""
    if prequeue is not None:
        fields = {"prequeue_at": in_seconds(prequeue), "draw": "random"} | fields
    opening: dict[str, Any] = queue.admin("POST", "/openings", json={"starts_at": in_seconds(starts), **fields})
    return opening


def in_prequeue(venue: Venue, starts: float, others: int = 0, **fields: Any) -> Queue:
    """A queue whose pre-queue has opened, with some people in it."""
    queue = venue.queue(status="maintenance")
    plan(queue, starts, 0.5, **fields)
    until_phase(queue, "prequeue")
    queue.others(others)
    return queue


def until_phase(queue: Queue, phase: str) -> None:
    """Wait until an opening is so far."""
    eventually(lambda: queue.public()["phase"] == phase, f"the phase is {phase}")


def drawn_page(venue: Venue, someone: Person, lang: str = "en", others: int = 18, **fields: Any) -> tuple[Queue, Page]:
    """The page of someone who was drawn."""
    queue = in_prequeue(venue, SOON_SECONDS, others, **fields)
    page = someone.tab(f"{queue.url}?lang={lang}")
    page.wait_for_selector("html[data-state=waiting]")
    shows(page, "drawn-box").to_be_visible()
    return queue, page


def draw_page(venue: Venue, someone: Person, lang: str = "en", others: int = 18) -> Page:
    """The page of the draw, to which that one leads."""
    _, page = drawn_page(venue, someone, lang, others)
    page.locator("[data-do=draw]:visible").click()
    page.locator(".draw").wait_for()
    return page


# The states of the waiting page, for scenes.py


def not_open_draw(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(status="maintenance")
    starts = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=3)
    times = {"prequeue_at": (starts - timedelta(minutes=30)).isoformat(), "starts_at": starts.isoformat()}
    queue.admin("POST", "/openings", json={**times, "draw": "random"})
    return someone.tab(f"{queue.url}?lang={lang}")


def prequeue(venue: Venue, someone: Person, lang: str) -> Page:
    queue = in_prequeue(venue, 3000)
    page = someone.tab(f"{queue.url}?lang={lang}")
    page.wait_for_selector("html[data-state=prequeue]")
    shows(page, "heard").to_have_attribute("data-live", "yes")
    return page


def prequeue_first(venue: Venue, someone: Person, lang: str) -> Page:
    queue = in_prequeue(venue, 300_000, draw="none")
    page = someone.tab(f"{queue.url}?lang={lang}")
    page.wait_for_selector("html[data-state=prequeue]")
    shows(page, "heard").to_have_attribute("data-live", "yes")
    return page


def drawing(venue: Venue, someone: Person, lang: str) -> Page:
    """A draw takes a moment only, so the answers of a pre-queue are changed on the way to the page."""

    def change(route: Route) -> None:
        answer = route.fetch()
        body = {**answer.json(), "phase": "drawing"}
        route.fulfill(response=answer, json=body)

    someone.without_streams().context.route("**/api/v1/*/**/join*", change)
    someone.context.route("**/api/v1/heartbeat*", change)
    queue = in_prequeue(venue, 3000)
    page = someone.tab(f"{queue.url}?lang={lang}")
    page.wait_for_selector("html[data-state=drawing]")
    return page


def drawn(venue: Venue, someone: Person, lang: str) -> Page:
    return drawn_page(venue, someone, lang)[1]


def ended(venue: Venue, someone: Person, lang: str) -> Page:
    queue = venue.queue(status="maintenance")
    plan(queue, 1, ends_at=in_seconds(3), after="close")
    eventually(lambda: queue.admin("GET", "/openings")["openings"][0]["state"] == "ended", "it has ended")
    return someone.tab(f"{queue.url}?lang={lang}")


def draw(venue: Venue, someone: Person, lang: str) -> Page:
    page = draw_page(venue, someone, lang)
    page.locator("[data-do=check]").click()
    shows(page, "result").to_have_attribute("data-ok", "yes")
    return page


OPENING_SCENES = {
    "not_open_draw": not_open_draw,
    "prequeue": prequeue,
    "prequeue_first": prequeue_first,
    "drawing": drawing,
    "drawn": drawn,
    "ended": ended,
    "draw": draw,
}
