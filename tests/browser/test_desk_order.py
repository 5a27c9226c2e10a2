"""What comes first at the desk: whom to serve, then whom to decide about, then the line; and what can be taken back."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.desks import Sit, can_call, mine, next_, press, row, said
from tests.browser.venue import Queue


def _top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["y"]


def test_a_desk_that_still_has_someone_called_asks_before_it_calls_another(office: Queue, sit: Sit) -> None:
    page = sit(office)
    next_(page).click()
    expect(mine(page, 1)).to_be_visible()
    asked = page.get_by_role("dialog", name="Call another person?")
    can_call(page)
    page.keyboard.press("n")
    expect(asked).to_contain_text("Ada")
    asked.get_by_role("button", name="Wait").click()
    row(page, "line", 2).get_by_role("button", name=re.compile("^Call")).click()
    expect(asked).to_be_visible()
    page.keyboard.press("Escape")
    assert office.waiting() == 5
    next_(page).click()
    asked.get_by_role("button", name="Call another").click()
    expect(mine(page, 2)).to_be_visible()
    for number in (1, 2):
        office.act(number, "start")
    expect(page.locator(".person.serving")).to_have_count(2)
    can_call(page)
    next_(page).click()  # someone being served is no reason to ask
    expect(mine(page, 3)).to_be_visible()


def test_what_a_message_reports_is_taken_back_from_it(office: Queue, sit: Sit) -> None:
    page = sit(office, has_touch=True)

    def undo() -> None:
        page.locator('[data-show="said"]').get_by_role("button", name="Undo").tap()

    next_(page).click()
    press(page, "no_show")
    said(page).to_contain_text("is a no-show.")
    undo()
    expect(mine(page, 1)).to_be_visible()
    press(page, "return")
    said(page).to_contain_text("is back at the old place")
    undo()
    expect(mine(page, 1)).to_be_visible()
    press(page, "start")
    for act, where in (("hold", "on_hold"),):
        row(page, "line", 3).get_by_role("button", name=re.compile("^More")).click()
        row(page, "line", 3).locator(f'[data-act="{act}"]').click()
        expect(row(page, where, 3)).to_be_visible()
        undo()
        expect(row(page, "line", 3)).to_be_visible()
    row(page, "line", 4).get_by_role("button", name=re.compile("^More")).click()
    row(page, "line", 4).locator('[data-act="cancel"]').click()
    asked = page.get_by_role("dialog", name=re.compile("^Remove .* from the line"))
    expect(asked.get_by_role("button")).to_have_text(["Keep", "Remove"])
    asked.get_by_role("button", name="Keep").click()
    assert office.ticket(4)["status"] == "waiting"
    before = _numbers(page)
    row(page, "line", 4).get_by_role("button", name=re.compile("^More")).click()
    row(page, "line", 4).locator('[data-act="cancel"]').click()
    asked.get_by_role("button", name="Remove").click()
    said(page).to_contain_text("was removed from the line.")
    expect(row(page, "line", 4)).to_have_count(0)
    undo()
    said(page).to_contain_text("is back in line, at position")
    expect(row(page, "line", 4)).to_be_visible()
    assert _numbers(page) == before
    assert office.ticket(4)["status"] == "waiting"


def test_the_person_at_the_desk_is_above_the_fold_and_outshouts_the_next_call(office: Queue, sit: Sit) -> None:
    office.act(6, "hold")
    page = sit(office)
    loud = _background(next_(page))
    next_(page).click()
    press(page, "no_show")
    can_call(page)
    next_(page).click()
    card = mine(page, 2)
    expect(card).to_be_visible()
    can_call(page)
    box = card.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 768
    serve = card.locator('[data-act="start"]')
    assert _background(serve) == loud != _background(next_(page))
    line = _top(page.locator("#title-line"))
    for title in ("on_hold", "missed"):
        assert _top(page.locator(f"#title-{title}")) < line


def test_the_desk_is_read_from_right_to_left_in_arabic(office: Queue, sit: Sit) -> None:
    office.act(6, "hold")
    page = sit(office, locale="ar", bypass_csp=True)  # for axe alone
    next_(page).click()
    expect(mine(page, 1)).to_be_visible()
    assert page.evaluate("document.dir") == "rtl"
    assert _left_of(page, ".mine") > _left_of(page, ".others")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    assert violations(page) == []


def _numbers(page: Page) -> list[str]:
    found: list[str] = page.locator('[data-show="line"] [data-ticket]').evaluate_all(
        "rows => rows.map(row => row.dataset.ticket)"
    )
    return found


def _background(locator: Locator) -> str:
    found: str = locator.evaluate("element => getComputedStyle(element).backgroundColor")
    return found


def _left_of(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"]
