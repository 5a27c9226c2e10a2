"""Staff at their desks: how they sit down, and where things are on the page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.venue import Queue, Venue, person

TABLET: ViewportSize = {"width": 1024, "height": 768}
#: An office with two desks.
WALK_IN = {"heartbeat_timeout_seconds": 0, "desks": ["Desk 1", "Desk 2"], "name": "Office", "claim_seconds": 120}

Sit = Callable[..., Page]
Cookies = dict[str, list[Any]]


def sign_in(venue: Venue) -> Cookies:
    """The cookies of a member of staff, and of someone who may only view."""
    admin = {"Authorization": f"Bearer {venue.server.admin_key}"}
    found = {}
    for role in ("operator", "viewer"):
        key = venue.http.post("/admin/keys", headers=admin, json={"role": role, "name": role}).json()["key"]
        signed = httpx.post(f"{venue.server.base_url}/admin/sign-in", data={"key": key})
        assert signed.status_code == 303
        name, value = signed.headers["set-cookie"].partition(";")[0].split("=", 1)
        found[role] = [{"name": name, "value": value, "url": venue.server.base_url}]
    return found


def sit_down(
    venue: Venue, stack: ExitStack, cookies: Cookies, queue: Queue, desk: str = "Desk 1", **options: Any
) -> Page:
    """Someone sits down at a desk. Nothing may go wrong in their browser."""
    role = options.pop("role", "operator")
    someone = stack.enter_context(person(venue, **{"viewport": TABLET} | options))
    someone.context.add_cookies(cookies[role])
    page = someone.tab(f"{venue.server.base_url}/admin/queues/{queue.name}/desk")
    expect(page.locator('[data-show="link"]')).to_have_attribute("data-state", "live")
    expect(page.locator("main [aria-busy]")).to_have_count(0)
    if desk and role == "operator":
        page.locator(f'[data-desk="{desk}"]').click()
    return page


def next_(page: Page) -> Locator:
    return page.locator('[data-do="call-next"]')


def mine(page: Page, ticket: int | None = None) -> Locator:
    """Those at my desk."""
    return page.locator(".person" if ticket is None else f'.person[data-ticket="{ticket}"]')


def row(page: Page, where: str, ticket: int) -> Locator:
    return page.locator(f'[data-show="{where}"] li[data-ticket="{ticket}"]')


def said(page: Page) -> Any:
    return expect(page.locator('[data-show="said"]'))


def press(page: Page, action: str) -> None:
    page.locator(f'.person [data-act="{action}"]').first.click()


def can_call(page: Page) -> None:
    """So soon after a call a second press is taken for a double tap."""
    expect(next_(page)).to_have_attribute("aria-disabled", "false")
