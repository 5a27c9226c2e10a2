"""Boards with something on them: for the tests of the screen on the wall, and for the pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from playwright.sync_api import Page

from tests.browser.venue import Person, Queue, Venue, never_answer

SCREEN = {"width": 1920, "height": 1080}


def a_walk_in_line(venue: Venue, name: str = "City Hall", prefix: str = "CH", **settings: object) -> Queue:
    """A queue that staff call people from."""
    return venue.queue(
        **{"name": name, "ticket_prefix": prefix, "heartbeat_timeout_seconds": 0, "target_url": ""} | settings
    )


def board_of(queues: Sequence[Queue], query: str = "") -> str:
    """The address of the board of some queues."""
    base = queues[0].url.partition("/q/")[0]
    return f"{base}/board/{','.join(queue.name for queue in queues)}?{query}"


def serve(queue: Queue, desk: str) -> None:
    """The next one is called, comes, and is served."""
    (called,) = queue.call(desk=desk)
    queue.act(called["ticket"], "start")


def finish(queue: Queue, desk: str) -> None:
    """The next one is called, served, and goes."""
    (called,) = queue.call(desk=desk)
    queue.act(called["ticket"], "start")
    queue.act(called["ticket"], "complete")


def some_day(queue: Queue, waiting: int = 14) -> None:
    """A walk-in line in the middle of its day."""
    queue.others(7 + waiting)
    for desk in ("Desk 2", "Desk 1", "Desk 4"):
        finish(queue, desk)
    for desk in ("Desk 1", "Desk 3", "Desk 4"):
        serve(queue, desk)
    queue.call(desk="Desk 2")


def busy(venue: Venue, someone: Person, query: str) -> Page:
    queue = a_walk_in_line(venue)
    some_day(queue)
    return _settled(someone, board_of([queue], query))


def called(venue: Venue, someone: Person, query: str) -> Page:
    queue = a_walk_in_line(venue)
    some_day(queue)
    page = _settled(someone, board_of([queue], query))
    queue.call(desk="Room 12")
    page.wait_for_selector("section.fresh")
    return page


def quiet(venue: Venue, someone: Person, query: str) -> Page:
    return _settled(someone, board_of([a_walk_in_line(venue, "Bürgeramt", "BA")], query))


#: A shop's own colours: an accent that is hard to read on white, a background that is neither light nor dark.
SHOP_COLOURS = {"accent_colour": "#f2b705", "background_colour": "#f6efe4"}
LOGO = (
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2064%2032'%3E%3Cpath%20"
    "d='M2%2030%2018%204l10%2016%2010-12%2024%2022z'%20fill='%23b4235a'/%3E%3C/svg%3E"
)


def shop(venue: Venue, someone: Person, query: str) -> Page:
    queue = a_walk_in_line(venue, "Alpine Repairs", "ALP", series=["A", "B"], logo=LOGO, **SHOP_COLOURS)
    some_day(queue, 5)
    return _settled(someone, board_of([queue], query))


def two(venue: Venue, someone: Person, query: str) -> Page:
    queues = [a_walk_in_line(venue, "Passports", "P"), a_walk_in_line(venue, "Driving licences", "D")]
    for queue in queues:
        some_day(queue, 5)
    return _settled(someone, board_of(queues, query))


def six(venue: Venue, someone: Person, query: str) -> Page:
    names = ("Passports", "Driving licences", "Registry", "Taxes", "Parking", "Housing")
    queues = [a_walk_in_line(venue, name, name[:2].upper()) for name in names]
    for queue in queues[:5]:
        some_day(queue, 3)
    return _settled(someone, board_of(queues, query))


def lost(venue: Venue, someone: Person, query: str) -> Page:
    queue = a_walk_in_line(venue)
    some_day(queue)
    page = _settled(someone, board_of([queue], query))
    someone.context.route("**/board", never_answer)
    page.clock.install()
    someone.context.set_offline(True)
    page.clock.run_for(40_000)
    page.wait_for_selector("body.away")
    return page


def _settled(someone: Person, address: str) -> Page:
    with someone.context.expect_event("response", lambda answer: answer.url.endswith("/board/stream")):
        page = someone.tab(address)
    page.wait_for_selector("main[data-count]")
    return page


BOARD_SCENES: dict[str, Callable[[Venue, Person, str], Page]] = {
    "busy": busy,
    "called": called,
    "quiet": quiet,
    "shop": shop,
    "two": two,
    "six": six,
    "lost": lost,
}
