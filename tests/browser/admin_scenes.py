"""Every state of the dashboard worth a picture, and how an operator comes to see it."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import Page, expect

from tests.browser.evening import SALE
from tests.web.running import RunningServer

#: How long the evening of the pictures has been, and how many came.
EVENING_SECONDS, EVENING_PEOPLE = 2400, 6500


class Operator:
    """The operator of the pictures, and what they prepare."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self._headers = {"Authorization": f"Bearer {server.admin_key}"}

    def set(self, queue: str = SALE, **settings: object) -> None:
        """Change settings."""
        address = f"{self.server.base_url}/api/v1/admin/queues/{queue}"
        httpx.patch(address, headers=self._headers, json=settings).raise_for_status()

    def prepare(self) -> None:
        """Two more queues, people in one of them, and something in the history."""
        base = f"{self.server.base_url}/api/v1"
        clinic = {"id": "walk-in-clinic", "name": "Walk-in clinic", "admission": "manual", "join_limit_per_ip": 0}
        with httpx.Client(base_url=base, headers=self._headers, timeout=20) as http:
            http.post("/admin/queues", json=clinic | {"heartbeat_timeout_seconds": 0}).raise_for_status()
            for name in ("Ada", "Grace", "Katherine", "Dorothy", "Mary", "Annie", "Hedy"):
                http.post("/admin/queues/walk-in-clinic/join", json={"name": name}).raise_for_status()
        self.set(message="Every size is still in stock. Thank you for waiting.")
        self.set(admission_rate=2.5, max_active=600)
        self.set(stock=9000)

    def open(self, page: Page, path: str = f"/queues/{SALE}") -> Page:
        """A page of the dashboard, signed in and live."""
        page.goto(f"{self.server.base_url}/admin{path}")
        if page.locator("#key").count():
            page.get_by_label("Admin key").fill(self.server.admin_key)
            page.get_by_role("button", name="Sign in").click()
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        return page


def sign_in(operator: Operator, page: Page) -> None:
    page.goto(f"{operator.server.base_url}/admin")


def queues(operator: Operator, page: Page) -> None:
    operator.open(page, "")
    expect(page.locator(f'[data-queue="{SALE}"] .spark')).to_be_visible()
    page.wait_for_timeout(1500)  # the lines of the cards are fetched one by one


def now(operator: Operator, page: Page) -> None:
    operator.open(page)
    expect(page.locator('[data-show="link"]')).to_have_attribute("data-state", "live")
    expect(page.locator(".chart path.curve").first).to_be_attached()
    expect(page.locator('[data-show="preview"]')).to_contain_text("the last person")
    expect(page.locator('[data-show="health-facts"]')).to_be_visible()
    expect(page.locator('[data-show="events"] time').first).to_be_visible()


def preview(operator: Operator, page: Page) -> None:
    now(operator, page)
    page.locator('[data-exact="rate"]').fill("300")
    page.locator('[data-exact="capacity"]').fill("1200")
    expect(page.locator('[data-show="preview"]')).to_contain_text("now")


def people(operator: Operator, page: Page) -> None:
    operator.open(page, f"/queues/{SALE}#people")
    expect(page.locator("button.open").first).to_be_visible()


def person(operator: Operator, page: Page) -> None:
    people(operator, page)
    page.locator("button.open").nth(1).click()
    expect(page.locator("dialog.side dl")).to_be_visible()


def settings(operator: Operator, page: Page) -> None:
    operator.open(page, f"/queues/{SALE}#settings")
    page.locator("#group-tab-page").click()
    page.locator("#set-accent_colour").fill("#b4235a")
    page.locator("#set-message").fill("Doors open at eight. Bring your loyalty card.")
    expect(page.frame_locator(".phone iframe").locator(".message:visible")).to_contain_text("Doors open")


def hours(operator: Operator, page: Page) -> None:
    operator.set("walk-in-clinic", time_zone="Europe/Zurich", opening_hours={"monday": ["08:00-12:00", "13:30-18:00"]})
    operator.open(page, "/queues/walk-in-clinic#settings")
    page.locator("#group-tab-opening-hours").click()
    page.get_by_role("button", name="Tuesday to Friday like Monday").click()


def screens(operator: Operator, page: Page) -> None:
    operator.open(page, "/queues/walk-in-clinic")
    board = page.locator('[data-screen="board"]')
    board.get_by_text("QR code").click()
    board.scroll_into_view_if_needed()


def history(operator: Operator, page: Page) -> None:
    operator.open(page, f"/queues/{SALE}#history")
    expect(page.locator("#panel-history tbody tr").first).to_be_visible()


def paused(operator: Operator, page: Page) -> None:
    now(operator, page)
    operator.set(status="paused")
    expect(page.locator('[data-show="status"]')).to_have_text("Paused")


def disconnected(operator: Operator, page: Page) -> None:
    operator.set(status="active")
    now(operator, page)
    page.context.set_offline(True)
    expect(page.locator(".banner.bad")).to_be_visible()


def audit(operator: Operator, page: Page) -> None:
    operator.open(page, "/audit")


def keys(operator: Operator, page: Page) -> None:
    operator.open(page, "/keys")


SCENES: dict[str, Callable[[Operator, Page], None]] = {
    "sign-in": sign_in,
    "now": now,
    "queues": queues,
    "preview": preview,
    "people": people,
    "person": person,
    "settings": settings,
    "hours": hours,
    "screens": screens,
    "history": history,
    "audit": audit,
    "keys": keys,
    "paused": paused,
    "disconnected": disconnected,
}
