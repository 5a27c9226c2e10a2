"""Someone with a browser who wants something of the shop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.backends import HOST


class Site(NamedTuple):
    """The shop as people know it, and what is behind."""

    url: str
    shop_port: int
    fairline_url: str

    def report(self) -> dict[str, Any]:
        """What the shop saw."""
        return dict(httpx.get(f"http://{HOST}:{self.shop_port}/report").json())


class Visitor:
    """A browser of their own: cookies, a user agent, and following redirects by hand."""

    def __init__(self, site: Site, name: str = "someone", accept: str = "text/html") -> None:
        self.site = site
        headers = {"user-agent": f"Browser/1.0 ({name})", "accept": accept}
        self.browser = httpx.AsyncClient(base_url=site.url, headers=headers, timeout=20)
        self._line = httpx.AsyncClient(base_url=site.fairline_url, headers=headers, timeout=20)
        self.token = ""

    async def __aenter__(self) -> Visitor:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.browser.aclose()
        await self._line.aclose()

    async def asks(self, path: str = "/", **more: Any) -> httpx.Response:
        """Ask the site for something, and take its answer, whatever it is."""
        return await self.browser.get(path, **more)

    async def joins(self) -> dict[str, Any]:
        """Take a place in line, as the waiting page does."""
        answer = (await self._line.post("/api/v1/queues/shop/join")).raise_for_status().json()
        self.token = answer["token"]
        return dict(answer)

    async def waits(
        self, until: Callable[[dict[str, Any]], bool], pause: Callable[[], Awaitable[None]]
    ) -> dict[str, Any]:
        """Stay in line until something is so."""
        while True:
            headers = {"authorization": f"Bearer {self.token}"}
            answer = (await self._line.post("/api/v1/heartbeat", headers=headers)).raise_for_status().json()
            if until(answer):
                return dict(answer)
            await pause()

    async def goes_in(self, redirect_url: str) -> httpx.Response:
        """Follow the way in, to the page without the session token in its address."""
        arrived = await self.browser.get(redirect_url)
        assert arrived.status_code == 302, arrived.text
        assert "fairline_session" not in arrived.headers["location"]
        return await self.browser.get(arrived.headers["location"])


def waiting_page(answer: httpx.Response) -> tuple[str, dict[str, list[str]]]:
    """Where a redirect to the waiting page leads, and what it says."""
    assert answer.status_code == 302, answer.text
    parts = urlsplit(answer.headers["location"])
    return parts._replace(query="").geturl(), parse_qs(parts.query)
