"""Staff at their desks: two browsers, five presses at once, a network that fails in between, and the keyboard alone."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.axe import violations
from tests.browser.desks import TABLET, WALK_IN, Sit, can_call, mine, next_, press, row, said
from tests.browser.venue import Queue, Venue

PHONE: ViewportSize = {"width": 390, "height": 844}


def soon(locator: Locator) -> None:
    expect(locator).to_be_visible()


def gone_soon(locator: Locator) -> None:
    expect(locator).to_have_count(0)


def test_everything_one_does_is_seen_by_the_other(office: Queue, venue: Venue, sit: Sit) -> None:
    other_queue = venue.queue(name="Passports")
    one, other = sit(office, "Desk 1"), sit(office, "Desk 2")

    next_(one).click()
    expect(mine(one, 1)).to_contain_text("Ada")
    soon(row(other, "elsewhere", 1).get_by_text("called to Desk 1"))
    gone_soon(row(other, "line", 1))
    press(one, "recall")
    said(one).to_contain_text("was called again")
    press(one, "start")
    soon(row(other, "elsewhere", 1).get_by_text("served at Desk 1"))
    press(one, "done_next")
    expect(mine(one, 2)).to_contain_text("Grace")
    gone_soon(row(other, "elsewhere", 1))
    soon(row(other, "elsewhere", 2))
    assert office.ticket(1)["status"] == "completed"

    press(one, "no_show")
    soon(row(other, "missed", 2))
    row(other, "missed", 2).get_by_role("button", name="Undo").click()
    soon(mine(one, 2))
    press(one, "return")
    soon(row(other, "line", 2).get_by_text("1", exact=True))

    next_(one).click()
    expect(mine(one, 2)).to_be_visible()
    press(one, "hold")
    soon(row(other, "on_hold", 2))
    row(other, "on_hold", 2).get_by_role("button", name="Back in line").click()
    gone_soon(row(one, "on_hold", 2))
    soon(row(one, "line", 2))

    row(one, "line", 4).get_by_role("button", name=re.compile("^Call")).click()
    soon(row(other, "elsewhere", 4))
    press(one, "transfer")
    one.get_by_label("To which queue").select_option(other_queue.name)
    one.locator('dialog [data-do="confirm"]').click()
    said(one).to_contain_text("was transferred to")
    gone_soon(row(other, "elsewhere", 4))
    assert other_queue.waiting() == 1

    for action, words in (("step_back", "lets the next person go first"), ("hold", "is on hold")):
        row(one, "line", 2).get_by_role("button", name=re.compile("^More")).click()
        row(one, "line", 2).locator(f'[data-act="{action}"]').click()
        said(one).to_contain_text(words)
    soon(row(other, "on_hold", 2))
    row(one, "line", 6).get_by_role("button", name=re.compile("^More")).click()
    row(one, "line", 6).locator('[data-act="prioritise"]').click()
    one.get_by_label("Level").select_option("3")
    one.locator('dialog [data-do="confirm"]').click()
    expect(row(other, "line", 6).locator(".rank")).to_have_text("1")

    one.locator('[data-do="close-desk"]').click()
    said(one).to_contain_text("Desk 1 is closed")
    desks = {desk["name"]: desk["open"] for desk in office.admin("GET", "/desks")["desks"]}
    assert desks["Desk 1"] is False


def test_five_who_press_at_once_have_five_people(office: Queue, sit: Sit) -> None:
    pages = [sit(office, "Desk 1"), sit(office, "Desk 2")]
    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(office.call) for _ in range(3)]
        for page in pages:  # neither waits for an answer
            page.evaluate("document.querySelector('[data-do=\"call-next\"]').click()")
        for page in pages:
            said(page).to_contain_text("Called: ")
    called = [mine(page).get_attribute("data-ticket") or "" for page in pages]
    called += [str(ticket["ticket"]) for other in others for ticket in other.result()]
    assert sorted(called) == ["1", "2", "3", "4", "5"]
    assert office.waiting() == 1


def test_two_taps_of_one_finger_call_one_person(office: Queue, sit: Sit) -> None:
    page = sit(office)
    next_(page).dblclick()
    said(page).to_contain_text("Ada")
    expect(mine(page)).to_have_count(1)
    assert office.waiting() == 5


def test_done_and_next_calls_however_soon_after_the_last_call(office: Queue, sit: Sit) -> None:
    """It is no second tap of the finger that called."""
    page = sit(office)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=2))
    next_(page).click()
    expect(mine(page, 1)).to_be_visible()
    press(page, "start")
    press(page, "done_next")
    expect(mine(page, 2)).to_be_visible()


def test_all_of_it_by_keyboard(office: Queue, sit: Sit) -> None:
    page = sit(office, desk="")
    desk = page.locator('[data-desk="Desk 2"]')
    desk.focus()
    page.keyboard.press("Enter")
    expect(next_(page)).to_be_focused()
    page.keyboard.press("n")
    expect(mine(page, 1)).to_be_visible()
    for key, words in (
        ("r", "was called again"),
        ("x", "is a no-show"),
        ("u", "came after all"),
        ("S", "being served"),
    ):
        page.keyboard.press(key)
        said(page).to_contain_text(words)
    page.keyboard.press("d")
    said(page).to_contain_text("is done")
    page.keyboard.press("d")
    said(page).to_contain_text("Nobody at your desk is being served")
    can_call(page)
    page.keyboard.press("n")
    expect(mine(page, 2)).to_be_visible()
    page.keyboard.press("b")
    said(page).to_contain_text("old place")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Undo the last no-show")
    page.keyboard.press("n")  # not while a dialog is open
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.get_by_label("Name").fill("Rosalind")
    page.get_by_label("Phone").fill("12")
    page.keyboard.press("Enter")
    expect(page.locator("dialog .wrong")).to_contain_text("phone")
    page.get_by_label("Phone").fill("+41 44 668 18 00")
    page.keyboard.press("Enter")
    said(page).to_contain_text("is in line, at position 6")
    assert office.newest()["name"] == "Rosalind"


def test_the_desk_says_what_people_came_for(venue: Venue, sit: Sit) -> None:
    queue = venue.queue(**WALK_IN | {"series": ["A", "B"], "texts": {"series_B": "Beards"}})
    queue.others(1, series="B")
    queue.others(1, series="A")
    page = sit(queue)
    expect(row(page, "line", 1)).to_contain_text("Beards")
    expect(row(page, "line", 2)).not_to_contain_text("Beards")
    page.keyboard.press("a")
    expect(page.get_by_label("Series").locator("option")).to_have_text(["A", "B: Beards"])
    page.keyboard.press("Escape")
    next_(page).click()
    expect(mine(page, 1)).to_contain_text("Beards · 1 person")


def test_who_is_added_gets_notices_in_their_language(office: Queue, sit: Sit) -> None:
    page = sit(office, locale="fr-CH")
    page.keyboard.press("a")
    expect(page.get_by_label("Langue des avis")).to_have_value("fr")
    page.get_by_label("E-mail").fill("emilie@example.com")
    page.locator('dialog [data-do="confirm"]').click()
    said(page).to_contain_text("est dans la file, en position 7")
    assert [office.newest()[field] for field in ("email", "language")] == ["emilie@example.com", "fr"]
    page.keyboard.press("a")
    page.get_by_label("Langue des avis").select_option(label="한국어")
    page.locator('dialog [data-do="confirm"]').click()
    said(page).to_contain_text("est dans la file, en position 8")
    assert office.newest()["language"] == "ko"


def test_a_name_that_is_read_the_other_way_turns_nothing_else_around(venue: Venue, sit: Sit) -> None:
    queue = venue.queue(**WALK_IN)
    queue.others(1, name="אורלי")
    page = sit(queue)
    next_(page).click()
    press(page, "return")
    said(page).to_contain_text("is back at the old place")
    said(page).to_contain_text("\u2068אורלי\u2069 is back")
    turned = """() => {
      const text = document.querySelector('[data-show="said"] span').firstChild, range = document.createRange();
      const left = (words) => {
        const at = text.data.indexOf(words);
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().left;
      };
      return left("back") > left("place");
    }"""
    assert not page.evaluate(turned), "the sentence is read from left to right"


def test_someone_who_does_not_come_in_time_is_a_no_show_and_staff_are_told(venue: Venue, sit: Sit) -> None:
    queue = venue.queue(**WALK_IN | {"claim_seconds": 1, "desks": []})
    queue.others(1, name="Ada")
    page = sit(queue, desk="")
    page.get_by_label("Its name").fill("Window")
    page.get_by_role("button", name="Use").click()
    next_(page).click()
    said(page).to_contain_text("did not come in time")
    expect(row(page, "missed", 1)).to_be_visible()
    page.reload()
    expect(page.locator('[data-show="desk-name"]')).to_contain_text("Window")


def test_a_viewer_looks_and_can_do_nothing(office: Queue, sit: Sit) -> None:
    office.call()
    page = sit(office, role="viewer")
    expect(row(page, "line", 2)).to_be_visible()
    expect(row(page, "elsewhere", 1)).to_be_visible()
    expect(next_(page)).to_be_disabled()
    expect(page.locator("li button, .person button, [data-do=open-desk]")).to_have_count(0)
    page.keyboard.press("n")
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert office.waiting() == 5


def test_the_desk_keeps_nobody_out_and_has_room_for_a_thumb(office: Queue, sit: Sit) -> None:
    office.act(5, "hold")
    page = sit(office, bypass_csp=True, has_touch=True)  # for axe alone
    next_(page).tap()
    expect(mine(page, 1)).to_be_visible()
    row(page, "line", 2).get_by_role("button", name=re.compile("^More")).tap()
    small = "[...document.querySelectorAll('.floor button')].filter(b => b.offsetParent && b.offsetHeight < 44).length"
    page.emulate_media(reduced_motion="reduce")
    for viewport in (TABLET, PHONE):
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme="light" if viewport is TABLET else "dark")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        assert page.evaluate(small) == 0
        box = next_(page).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= viewport["height"], "call next is within reach"


def test_on_a_phone_long_names_and_labels_leave_room_for_the_rest(venue: Venue, sit: Sit) -> None:
    queue = venue.queue(**WALK_IN | {"ticket_prefix": "CITYOFFICE12"})
    for name in ("Ada " * 25, "Grace", "Katherine " * 10, "Dorothy"):
        queue.others(1, name=name.strip())
    page = sit(queue, viewport=PHONE)
    queue.act(2, "hold")
    next_(page).click()
    big, on_hold, line = mine(page, 1), row(page, "on_hold", 2), row(page, "line", 3)
    expect(on_hold).to_be_visible()
    expect(big).to_be_visible()
    one_line = "it => it.getClientRects().length === 1 && it.scrollWidth <= it.clientWidth && it.offsetHeight < 60"
    assert big.locator(".label-big").evaluate(one_line)
    lines = "it => Math.round(it.getBoundingClientRect().height / parseFloat(getComputedStyle(it).lineHeight))"
    assert big.locator(".who-big").evaluate(lines) == 2
    assert line.locator("bdi").evaluate(lines) == 2
    line.get_by_role("button", name=re.compile("^More")).click()
    assert line.locator("bdi").evaluate(lines) > 2, "the whole name is a press away"
    big.locator(".who-big").click()
    assert big.locator(".who-big").evaluate(lines) > 2
    label, button = on_hold.locator("b").bounding_box(), on_hold.locator("button").first.bounding_box()
    assert label is not None
    assert button is not None
    apart = label["x"] + label["width"] <= button["x"] or label["y"] + label["height"] <= button["y"]
    assert apart, "nothing is hidden under a button"
    assert label["width"] > 150


def test_the_desk_is_where_a_desk_begins(office: Queue, venue: Venue, sit: Sit) -> None:
    page = sit(office)
    page.goto(f"{venue.server.base_url}/admin")
    card = page.locator(f'[data-queue="{office.name}"]')
    expect(card).to_contain_text("Being served")
    card.click()
    expect(page.locator('[data-show="desk-name"]')).to_contain_text("Desk 1")
    queue_page = page.get_by_role("link", name=office.name).get_attribute("href")
    answer = page.request.get(f"{venue.server.base_url}{queue_page}")
    assert f'href="{queue_page}/desk"' in answer.text()


def test_the_report_of_each_day_that_is_kept_is_one_press_away(office: Queue, sit: Sit) -> None:
    page = sit(office, "Desk 1")
    days = page.get_by_label("Day of the report")
    texts = days.locator("option").all_inner_texts()
    assert (len(texts), texts[:2]) == (9, ["Today", "Yesterday"])
    days.select_option(index=8)
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Report").click()
    first = datetime.now(UTC) - timedelta(days=8)
    expect(opened.value.locator("body")).to_contain_text(f"{first:%A}")
    assert f"day={first:%Y-%m-%d}" in opened.value.url
