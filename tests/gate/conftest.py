"""A Fairline server and the sites of the how-to in front of which it stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gate.sites import SITES, Fairline, Site, running
from tests.web.running import RunningServer

#: The sites are on 127.0.0.1: what they say of their visitors is believed. Other addresses are visitors.
ENVIRON = {"FAIRLINE_TRUSTED_PROXIES": "127.0.0.1/32", "FAIRLINE_TICK_SECONDS": "0.1"}


@pytest.fixture(scope="session")
def fairline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fairline]:
    """One server with two workers. A test that ends it starts it again."""
    server = RunningServer(tmp_path_factory.mktemp("fairline"), workers=2, environ=ENVIRON)
    found = Fairline(server)
    yield found
    found.close()
    server.stop()


@pytest.fixture(scope="session")
def sites(fairline: Fairline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    """The sites of the how-to, each with a queue of its own."""
    found = {kind: Site(tmp_path_factory.mktemp(kind), kind, fairline, fairline.queue()) for kind in SITES}
    with running(*found.values()):
        yield found


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, sites: dict[str, Site]) -> Site:
    """Each of them in turn."""
    return sites[request.param]
