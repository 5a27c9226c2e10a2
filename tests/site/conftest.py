"""One Fairline server and one shop for all tests of this folder; a queue of its own is made by each that changes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.site import proxies
from tests.site.visitor import Site
from tests.web.running import RunningServer

PROXIES = {"nginx": proxies.nginx, "caddy": proxies.caddy, "haproxy": proxies.haproxy}


class Venue:
    """A Fairline server with a shop, and whatever stands in front of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "server").mkdir()
        environ = {"FAIRLINE_TRUSTED_PROXIES": "127.0.0.1", "FAIRLINE_PUBLIC_URL": "{base_url}"}
        self.fairline = RunningServer(folder / "server", environ=environ)
        self.admin = httpx.Client(
            base_url=f"{self.fairline.base_url}/api/v1/admin",
            headers={"authorization": f"Bearer {self.fairline.admin_key}"},
        )

    def queue(self, site: str, **settings: Any) -> None:
        """The queue of the shop, recreated: nobody is in it."""
        self.admin.delete("/queues/shop")
        settings = {"target_url": f"{site}/", "join_limit_per_ip": 0, "admission_rate": 1000, **settings}
        self.admin.post("/queues", json={"id": "shop", **settings}).raise_for_status()

    def stats(self) -> dict[str, Any]:
        """The statistics of the queue."""
        return dict(self.admin.get("/queues/shop/stats").raise_for_status().json())

    def behind(self, name: str, folder: Path, stock: int) -> AbstractContextManager[Site]:
        """The shop behind a proxy."""
        return proxies.site(PROXIES[name], folder, self.fairline, stock)


@pytest.fixture(scope="module")
def venue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Venue]:
    """A server for a module."""
    made = Venue(tmp_path_factory.mktemp("site"))
    yield made
    made.admin.close()
    made.fairline.stop()


@pytest.fixture(scope="module", params=PROXIES)
def site(request: pytest.FixtureRequest, venue: Venue, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The shop behind each proxy that is installed."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    with venue.behind(request.param, tmp_path_factory.mktemp(request.param), 1000) as made:
        yield made
