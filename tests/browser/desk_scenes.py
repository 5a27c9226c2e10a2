"""Every state of the desk worth a picture, and how staff come to see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from tests.web.running import RunningServer

OFFICE = "citizens-office"
PEOPLE = (
    ("Ada Lovelace", 1),
    ("Kim Min-jun", 2),
    ("Grace Hopper", 1),
    ("Zoë Müller", 4),
    ("Katherine Johnson", 1),
    ("Mary Jackson", 1),
    ("Hedy Lamarr", 2),
    ("Dorothy Vaughan", 1),
    ("Annie Easley", 1),
    ("Sofia Kovalevskaya", 3),
    ("Emmy Noether", 1),
    ("Chien-Shiung Wu", 1),
)
#: A line takes longer to form than a picture: in the pictures people joined three minutes apart.
LONGER_AGO = """
const ours = window.fetch;
window.fetch = async (...asked) => {
  const answer = await ours(...asked);
  if (!String(asked[0]).includes("/floor?")) return answer;
  const floor = await answer.json();
  for (const part of ["line", "on_hold", "called", "serving", "missed"])
    for (const ticket of floor[part])
      ticket.joined_at = new Date(new Date(ticket.joined_at) - 60000 * (2 + 3 * (12 - ticket.ticket))).toISOString();
  return new Response(JSON.stringify(floor), { status: answer.status, headers: answer.headers });
};
"""


class Office:
    """A citizens' office with two desks, in the middle of the morning."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        key = {"Authorization": f"Bearer {server.admin_key}"}
        self.api = httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=key, timeout=20)

    def post(self, path: str, **body: Any) -> Any:
        """A call about the office."""
        return self.api.post(f"/queues/{OFFICE}{path}", json=body).raise_for_status().json()

    def open(self) -> None:
        """Make it, and let people come; one is served, one is on hold, one did not come."""
        settings = {
            "name": "Citizens' office",
            "admission": "manual",
            "heartbeat_timeout_seconds": 0,
            "claim_seconds": 180,
            "ticket_prefix": "OFF",
            "series": ["A", "B"],
            "label_restart": "daily",
            "time_zone": "Europe/Zurich",
            "desks": ["Desk 1", "Desk 2", "Desk 3"],
        }
        self.api.post("/queues", json={"id": OFFICE, **settings}).raise_for_status()
        other = {"id": "passports", "name": "Passports", "admission": "manual"}
        self.api.post("/queues", json=other).raise_for_status()
        for i, (name, size) in enumerate(PEOPLE):
            self.post("/join", name=name, party_size=size, series="AB"[i % 4 == 3])
        self.post("/call-next", desk="Desk 2")
        self.post("/tickets/1/start")
        self.post("/call-next", desk="Desk 1")
        self.post("/tickets/2/no-show")
        self.post("/tickets/6/hold")

    def desk(self, page: Page, name: str = "Desk 1") -> Page:
        """Someone at a desk, signed in."""
        page.add_init_script(LONGER_AGO)
        page.goto(f"{self.server.base_url}/admin/queues/{OFFICE}/desk")
        if page.locator("#key").count():
            page.get_by_label("Admin key").fill(self.server.admin_key)
            page.get_by_role("button", name="Sign in").click()
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        if page.locator("[data-desk]").count() and name:
            page.locator(f'[data-desk="{name}"]').click()
        return page


def _all_back(office: Office) -> None:
    """Nobody is at the first desk."""
    found = office.api.get(f"/queues/{OFFICE}/floor").json()
    for ticket in found["called"]:
        office.post(f"/tickets/{ticket['ticket']}/return")
    for ticket in found["serving"]:
        if ticket["desk"] == "Desk 1":
            office.post(f"/tickets/{ticket['ticket']}/complete")


def choose(office: Office, page: Page) -> None:
    office.desk(page, "")
    expect(page.locator("[data-desk]").first).to_be_visible()


def ready(office: Office, page: Page) -> None:
    _all_back(office)
    office.desk(page)
    expect(page.locator('[data-show="desk-name"]')).to_be_visible()


def called(office: Office, page: Page) -> None:
    ready(office, page)
    page.locator('[data-do="call-next"]').click()
    expect(page.locator(".person.called")).to_contain_text(re.compile(r"waited \d+ min"))
    expect(page.locator('[data-do="call-next"]')).to_have_attribute("aria-disabled", "false")


def serving(office: Office, page: Page) -> None:
    called(office, page)
    page.keyboard.press("s")
    expect(page.locator(".person.serving")).to_be_visible()
    page.locator('[data-show="line"] [data-act="more"]').nth(1).click()


def add(office: Office, page: Page) -> None:
    ready(office, page)
    page.keyboard.press("a")
    page.get_by_label("Name").fill("Rosalind Franklin")


def keys(office: Office, page: Page) -> None:
    ready(office, page)
    page.keyboard.press("?")


def no_answer(office: Office, page: Page) -> None:
    ready(office, page)
    page.route("**/call-next", lambda route: route.abort())
    page.locator('[data-do="call-next"]').click()
    expect(page.locator(".said.bad")).to_be_visible()


SCENES: dict[str, Callable[[Office, Page], None]] = {
    "choose": choose,
    "ready": ready,
    "called": called,
    "serving": serving,
    "add": add,
    "keys": keys,
    "no-answer": no_answer,
}
