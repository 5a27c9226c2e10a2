"""Every state of the dashboard worth a picture, and how an operator comes to see it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import httpx
from playwright.sync_api import Page, expect

from tests.backends import wait_until
from tests.browser.evening import SALE
from tests.web.running import RunningServer

#: How long the evening of the pictures has been, and how many came.
EVENING_SECONDS, EVENING_PEOPLE = 2400, 6500
#: The queue with openings.
DROPS = "drops"


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

    def plan(self) -> None:
        """A queue with openings: one that has ended, one whose pre-queue is open, and two to come."""
        base, now = f"{self.server.base_url}/api/v1", datetime.now(UTC).replace(second=0, microsecond=0)
        with httpx.Client(base_url=base, headers=self._headers, timeout=20) as http:
            known = {each["id"] for each in http.get("/admin/queues").raise_for_status().json()["queues"]}
            if DROPS in known:
                return
            settings = {"name": "Drops", "status": "maintenance", "stock": 2400, "time_zone": "Europe/Zurich"}
            more = {"admission_rate": 8, "target_url": "https://shop.example/", "join_limit_per_ip": 0}
            http.post("/admin/queues", json={"id": DROPS} | settings | more).raise_for_status()

            def planned(name: str, prequeue: datetime, minutes: float, **fields: object) -> str:
                starts = prequeue + timedelta(minutes=minutes)
                ends = starts + timedelta(minutes=4 * minutes)
                times = {"prequeue_at": prequeue, "starts_at": starts, "ends_at": ends}
                body = {"name": name, "draw": "random", **{key: at.isoformat() for key, at in times.items()}, **fields}
                found: str = http.post(f"/admin/queues/{DROPS}/openings", json=body).raise_for_status().json()["id"]
                return f"/admin/queues/{DROPS}/openings/{found}"

            def reached(path: str, state: str) -> None:
                wait_until(lambda: http.get(path).json()["state"] == state, f"the opening is not {state}")

            def come(people: int) -> None:
                for i in range(people):
                    http.post(f"/queues/{DROPS}/join", json={"client_id": f"{i}"}).raise_for_status()
                    http.cookies.clear()

            members = planned("Members’ evening", datetime.now(UTC) + timedelta(seconds=0.5), 0.04)
            reached(members, "prequeue")
            come(40)
            reached(members, "ended")
            friday = planned("Friday drop", now, 30, settings={"admission_rate": 12, "max_active": 400}, add_stock=600)
            planned("Second wave", now + timedelta(days=2), 30, draw_grace_seconds=30, settings={"admission_rate": 20})
            planned("Winter sale", now + timedelta(days=21), 45, recheck_inside=True, after="close")
            reached(friday, "prequeue")

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


def openings(operator: Operator, page: Page, more: str = "") -> None:
    operator.plan()
    operator.open(page, f"/queues/{DROPS}{more}#openings")
    expect(page.locator("[data-opening]")).to_have_count(4)


def openings_ar(operator: Operator, page: Page) -> None:
    openings(operator, page, "?lang=ar")


def opening_form(operator: Operator, page: Page) -> None:
    openings(operator, page)
    page.locator('[data-do="edit-opening"]').nth(1).click()
    expect(page.locator("#opening-starts_at")).to_be_visible()


def opening_preview(operator: Operator, page: Page) -> None:
    openings(operator, page)
    page.locator('[data-do="preview-opening"]').first.click()
    expect(page.locator("[data-will]").first).to_be_visible()


def opening_check(operator: Operator, page: Page) -> None:
    openings(operator, page)
    page.locator('[data-do="check-opening"]').first.click()
    page.get_by_label("People expected").fill("12000")
    page.locator('[data-do="check-again"]').click()
    if page.locator('[data-step="wiped"]').count() == 0:
        page.locator('[data-do="rehearse"]').click()
    expect(page.locator('[data-step="wiped"]')).to_be_visible()
    expect(page.locator('[data-check="rehearsal"][data-state="ok"]')).to_be_visible()
    expect(page.locator("dialog[open] [role=status]").first).to_contain_text("to look at")
    if (page.viewport_size or {"width": 0})["width"] > 1000:
        height = page.locator("dialog[open] .in").evaluate("element => element.scrollHeight")
        page.set_viewport_size({"width": 1280, "height": height + 60})


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
    "openings": openings,
    "openings-ar": openings_ar,
    "opening-form": opening_form,
    "opening-preview": opening_preview,
    "opening-check": opening_check,
    "history": history,
    "audit": audit,
    "keys": keys,
    "paused": paused,
    "disconnected": disconnected,
}
