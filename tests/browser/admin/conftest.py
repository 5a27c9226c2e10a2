"""The night of a sale, one for each module, and the operators who come to the dashboard then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from playwright.sync_api import Browser

from tests.browser.admin.night import PEOPLE, Come, Night, come_to
from tests.browser.evening import after_an_evening, visitors
from tests.browser.venue import Site, Venue


@pytest.fixture(scope="module")
def night(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    with after_an_evening(tmp_path_factory.mktemp("night"), visitors(PEOPLE, 200, admission_rate=3.0), 240) as server:
        site = Site()
        found = Night(Venue(server, site, browser))
        yield found
        found.api.close()
        found.public.close()
        site.close()


@pytest.fixture
def come(night: Night) -> Iterator[Come]:
    """Someone comes to a page, signed in with a key of a role. Nothing may go wrong in their browser."""
    with ExitStack() as stack:
        yield partial(come_to, night, stack)
