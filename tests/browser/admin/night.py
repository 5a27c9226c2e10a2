"""The night of a sale as its operators have it, and where things are on the dashboard."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.backends import wait_until
from tests.browser.evening import SALE
from tests.browser.venue import Venue, person

PEOPLE = 2000
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
ROLES = ("viewer", "operator", "admin")


class Night:
    """The server after an evening, as its operator's programs see it."""

    def __init__(self, venue: Venue) -> None:
        self.venue = venue
        self.server = server = venue.server
        self.address = 0
        admin = {"Authorization": f"Bearer {server.admin_key}"}
        self.api = httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=admin, timeout=20)
        self.public = venue.http
        made = {role: self.api.post("/keys", json={"role": role, "name": f"Desk {role}"}).json() for role in ROLES}
        self.keys = {role: key["key"] for role, key in made.items()}
        self.cookies: dict[str, list[Any]] = {}

    def queue(self, rest: str = "", of: str = SALE) -> Any:
        return self.api.get(f"/queues/{of}{rest}").raise_for_status().json()

    def join(self, queue: str = SALE, **body: Any) -> dict[str, Any]:
        answer = self.public.post(f"/queues/{queue}/join", json=body)
        self.public.cookies.clear()
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def told(self, ticket: dict[str, Any]) -> dict[str, Any]:
        """What someone in line receives."""
        answer = self.public.get("/status", headers={"Authorization": f"Bearer {ticket['token']}"})
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def ticks(self, count: int) -> None:
        """Wait until the keeper has gone round this often: it lets in someone who joined another queue before that."""
        for _ in range(count):
            name = f"tick-{secrets.token_hex(4)}"
            self.api.post("/queues", json={"id": name, "target_url": "https://shop.test/"}).raise_for_status()
            wait_until(partial(self._is_let_in, self.join(name)), "the keeper lets nobody in")
            self.api.delete(f"/queues/{name}").raise_for_status()

    def _is_let_in(self, ticket: dict[str, Any]) -> bool:
        return bool(self.told(ticket)["status"] != "waiting")

    def new_address(self) -> dict[str, str]:
        self.address += 1
        return {"X-Forwarded-For": f"10.0.0.{self.address}"}


Come = Callable[..., Page]


def come_to(night: Night, stack: ExitStack, path: str = f"/queues/{SALE}", role: str = "admin", **options: Any) -> Page:
    usual = {"viewport": DESKTOP, "extra_http_headers": night.new_address()}
    someone = stack.enter_context(person(night.venue, **usual | options))
    if role in night.cookies:
        someone.context.add_cookies(night.cookies[role])
    page = someone.tab(f"{night.server.base_url}/admin{path}")
    if role and role not in night.cookies:
        sign_in(page, night.keys[role])
        night.cookies[role] = someone.context.cookies()
    return page


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Admin key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def shown(page: Page, name: str) -> Locator:
    return page.locator(f'[data-show="{name}"]')


def live(page: Page) -> Page:
    expect(shown(page, "link")).to_have_attribute("data-state", "live")
    return page


def do(page: Page | Locator, name: str) -> Locator:
    return page.locator(f'[data-do="{name}"]')


def soon(holds: Callable[[], bool], what: str) -> None:
    wait_until(holds, f"it never came about: {what}")


def figure(page: Page, name: str) -> int:
    return int((shown(page, name).text_content() or "").replace(",", "") or -1)


def seen_soon(locator: Locator, text: str | re.Pattern[str]) -> None:
    expect(locator).to_have_text(text)
