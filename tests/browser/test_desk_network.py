"""A desk whose network fails between a press and its answer: what was done is done once, and to nobody else."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.browser.desks import Sit, can_call, mine, next_, press, said
from tests.browser.venue import Queue


def lose_the_answer(page: Page, path: str) -> list[str]:
    """The server does it, and the answer to the first try is lost. Answers the keys that were sent."""
    keys: list[str] = []

    def handle(route: Route) -> None:
        keys.append(route.request.headers.get("idempotency-key", ""))
        if len(keys) > 1:
            route.continue_()
            return
        route.fetch()
        route.abort()

    page.route(f"**/{path}", handle)
    return keys


def test_a_press_whose_answer_was_lost_calls_the_same_person(office: Queue, sit: Sit) -> None:
    page = sit(office)
    keys = lose_the_answer(page, "call-next")
    next_(page).click()
    said(page).to_contain_text("Trying again")
    expect(next_(page)).to_have_attribute("aria-disabled", "true")
    said(page).to_contain_text("Called:")
    said(page).to_contain_text("Ada")
    expect(mine(page)).to_have_count(1)
    assert len(keys) == 2
    assert keys[0] == keys[1] != ""
    assert office.waiting() == 5


def test_a_page_that_is_loaded_again_goes_on_with_its_press(office: Queue, sit: Sit) -> None:
    page = sit(office)
    tries: list[str] = []
    loaded_again: list[bool] = []

    def handle(route: Route) -> None:
        tries.append(route.request.headers["idempotency-key"])
        if loaded_again:
            route.continue_()
        elif len(tries) == 1:
            route.fetch()
            route.abort()
        # What the page tries before it is loaded again is never answered.

    page.route("**/call-next", handle)
    next_(page).click()
    said(page).to_contain_text("Trying again")
    page.on("framenavigated", lambda _: loaded_again.append(True))
    page.reload()
    said(page).to_contain_text("Ada")
    expect(mine(page)).to_have_count(1)
    assert office.waiting() == 5
    assert len(set(tries)) == 1 < len(tries)


def test_what_was_done_to_someone_is_not_done_again_to_whom_another_desk_called(office: Queue, sit: Sit) -> None:
    """The first desk's return has no answer; by its next try the second desk has called the same person."""
    page = sit(office)
    next_(page).click()
    expect(mine(page, 1)).to_be_visible()
    tries = lose_the_answer(page, "return")

    def call_meanwhile(route: Route) -> None:
        if office.ticket(1)["status"] == "waiting":
            office.admin("POST", "/tickets/1/call", json={"desk": "Desk 2"})
        route.continue_()

    page.route("**/tickets/1", call_meanwhile)
    press(page, "return")
    said(page).to_contain_text("was changed meanwhile")
    assert len(tries) == 1
    ticket = office.ticket(1)
    assert (ticket["status"], ticket["desk"]) == ("admitted", "Desk 2")


def test_trying_again_can_be_stopped(office: Queue, sit: Sit) -> None:
    page = sit(office)
    page.route("**/call-next", lambda route: route.abort())
    next_(page).click()
    page.get_by_role("button", name="Stop trying").click()
    said(page).to_contain_text("Stopped trying")
    expect(next_(page)).to_have_attribute("aria-disabled", "false")


def test_a_refusal_is_said_plainly(office: Queue, sit: Sit) -> None:
    page = sit(office)
    next_(page).click()
    expect(mine(page, 1)).to_be_visible()
    page.route("**/floor?*", lambda route: route.abort())  # the page does not receive it
    office.act(1, "start")
    page.locator('.person [data-act="no_show"]').evaluate("element => element.click()")
    said(page).to_contain_text("active")
    office.set(status="paused")
    can_call(page)
    next_(page).click()
    page.locator('dialog [data-do="confirm"]').click()  # as far as the page knows, someone is called already
    said(page).to_contain_text("paused")
