"""A Fairline server and the sites of the how-to in front of which it stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.gate.sites import SITES, Fairline, Site, running
from tests.shared import SHARED
from tests.web.running import running_server

#: The sites are on 127.0.0.1: what they say of their visitors is believed. Other addresses are visitors.
ENVIRON = {"FAIRLINE_TRUSTED_PROXIES": "127.0.0.1/32", "FAIRLINE_TICK_SECONDS": "0.1"}


@pytest.fixture(scope="module")
def fairline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fairline]:
    """One server with two workers, shared by the modules. A test that ends it starts it again; the queues of a module
    go with it."""
    found = SHARED.get("fairline", lambda: _fairline(tmp_path_factory.mktemp("fairline")))
    before = found.queues()
    yield found
    found.keep_only({*before, *SITES})


@contextmanager
def _fairline(folder: Path) -> Iterator[Fairline]:
    with running_server(folder, environ=ENVIRON) as server, closing(Fairline(server)) as found:
        yield found


@pytest.fixture(scope="module")
def sites(fairline: Fairline, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    """The sites of the how-to, each with a queue of its own, which has its name."""
    return SHARED.get("sites", lambda: _sites(fairline, tmp_path_factory))


@contextmanager
def _sites(fairline: Fairline, folder: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    found = {kind: Site(folder.mktemp(kind), kind, fairline, fairline.queue(id=kind)) for kind in SITES}
    with running(*found.values()):
        yield found


@pytest.fixture(params=SITES)
def site(request: pytest.FixtureRequest, sites: dict[str, Site]) -> Site:
    """Each of them in turn."""
    return sites[request.param]
