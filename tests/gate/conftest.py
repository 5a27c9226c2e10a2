"""A Fairline server and the sites of the how-to in front of which it stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gate.sites import SITES, Fairline, Site
from tests.web.running import RunningServer

#: The sites are on 127.0.0.1: what they say of their visitors is believed. Other addresses are visitors.
ENVIRON = {"FAIRLINE_TRUSTED_PROXIES": "127.0.0.1/32", "FAIRLINE_TICK_SECONDS": "0.1"}


@pytest.fixture(scope="session")
def fairline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fairline]:
    running = RunningServer(tmp_path_factory.mktemp("fairline"), workers=2, environ=ENVIRON)
    found = Fairline(running)
    yield found
    found.admin.close()
    running.stop()


@pytest.fixture(scope="session", params=SITES)
def site(
    request: pytest.FixtureRequest, fairline: Fairline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Each site in turn, with a queue of its own."""
    running = Site(tmp_path_factory.mktemp("site"), request.param, fairline, fairline.queue())
    yield running
    running.stop()
