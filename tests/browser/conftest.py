"""One server with two workers and one site for the folder, one browser for a module; each person has a profile.

The browser is not for the whole session: as long as it is open, it has an event loop running in the main thread, in
which no test of another folder could run its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.backends import HOST
from tests.browser.desks import WALK_IN, Cookies, Sit, sign_in, sit_down
from tests.browser.venue import Person, Queue, Site, Venue, person
from tests.shared import SHARED, remove_queues
from tests.web.conftest import STORES
from tests.web.running import RunningServer

#: The headless shell first: a profile costs it a quarter of what it costs the whole browser.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
NewPerson = Callable[..., Person]


@contextmanager
def a_browser(*options: str) -> Iterator[Browser]:
    """Debian's chromium."""
    with sync_playwright() as playwright:
        # In a container there is neither a user namespace for the sandbox nor much shared memory.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", *options]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@contextmanager
def a_browser_or_skip(*options: str) -> Iterator[Browser]:
    """The same; without one the tests that ask for it are skipped."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with a_browser(*options) as found:
        yield found


#: Where it matters which store there is: PostgreSQL for a walk-in line, as is usual there; both for who waits, if asked
#: for.
STORES_OF = {
    "test_waiting": (STORES[0], pytest.param(STORES[1], marks=pytest.mark.long)),
    "test_walk_in": STORES[1:],
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The server runs on the stores named above for those modules, on the embedded Valkey for the others."""
    if "venue" in metafunc.fixturenames:
        stores = STORES_OF.get(metafunc.module.__name__.rpartition(".")[2], STORES[:1])
        metafunc.parametrize("venue", stores, indirect=True, scope="module")


@contextmanager
def a_house(folder: Path, store: str = STORES[0]) -> Iterator[tuple[RunningServer, Site]]:
    """A server with two workers, and a site behind it."""
    site = Site()
    environ = {
        "FAIRLINE_SWEEP_SECONDS": "0.3",
        "FAIRLINE_TICK_SECONDS": "0.2",
        "FAIRLINE_LOG_FORMAT": "json",
        "FAIRLINE_CORS_ORIGINS": site.url,
        # Pages offer mail. No server of mail listens there.
        "FAIRLINE_SMTP_URL": f"smtp://{HOST}:9?starttls=no",
        "FAIRLINE_MAIL_FROM": "line@shop.example",
    }
    try:
        server = RunningServer(folder, store=store, environ=environ)
        try:
            site.fairline = server.base_url
            yield server, site
        finally:
            server.stop()
    finally:
        site.close()


@contextmanager
def a_venue(browser: Browser, folder: Path, store: str = STORES[0]) -> Iterator[Venue]:
    """The same, with a browser that comes to it."""
    with a_house(folder, store) as (server, site):
        venue = Venue(server, site, browser)
        with venue.http:
            yield venue


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser_or_skip() as found:
        yield found


@pytest.fixture(scope="module")
def venue(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Venue]:
    """A server and site, shared by the modules. A test that ends the server leaves it ready; its queues go with the
    module."""
    folder, store = tmp_path_factory, request.param
    server, site = SHARED.get(("house", store), lambda: a_house(folder.mktemp("house"), store))
    found = Venue(server, site, browser)
    with found.http:
        yield found
    remove_queues(server)


@pytest.fixture
def come(venue: Venue) -> Iterator[NewPerson]:
    """Someone comes, with a browser profile of their own: `come(locale="ko-KR")`."""
    with ExitStack() as stack:

        def new(**options: Any) -> Person:
            return stack.enter_context(person(venue, **options))

        yield new


@pytest.fixture(scope="module")
def cookies(venue: Venue) -> Cookies:
    """The cookies of staff."""
    return sign_in(venue)


@pytest.fixture
def sit(venue: Venue, cookies: Cookies) -> Iterator[Sit]:
    """Someone sits down at a desk: `sit(queue, "Desk 2")`."""
    with ExitStack() as stack:
        yield partial(sit_down, venue, stack, cookies)


@pytest.fixture
def office(venue: Venue) -> Queue:
    """A line of six with names."""
    queue = venue.queue(**WALK_IN)
    for name in ("Ada", "Grace", "Katherine", "Dorothy", "Mary", "Hedy"):
        queue.others(1, name=name)
    return queue
