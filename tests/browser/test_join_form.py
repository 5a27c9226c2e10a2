"""Taking a number in a real browser: on a phone, on the tablet at the door, with and without scripts and network."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import NewPerson
from tests.browser.venue import Person, Queue, Venue, eventually, shows
from tests.browser.walk_in_line import WALK_IN_SCENES, WATCH, kiosk, take_number, walk_in


def call(queue: Queue, desk: str) -> int:
    (called,) = queue.admin("POST", "/call-next", json={"desk": desk})["tickets"]
    number: int = called["ticket"]
    return number


def is_state(page: Page, state: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-state", state)


def test_from_the_form_to_being_served(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    queue.others(1)
    me = come()
    me.context.add_init_script(WATCH)
    page = take_number(queue, me, name="Ada 🦊", phone="030 123456")
    shows(page, "ahead").to_have_text("1 person ahead of you")
    shows(page, "heard").to_have_text("Up to date")
    mine = queue.newest()
    assert (mine["name"], mine["phone"]) == ("Ada 🦊", "+4930123456")
    call(queue, "Chair 1")
    shows(page, "title").to_have_text("You are next")
    assert call(queue, "Chair 2") == mine["ticket"]
    is_state(page, "admitted")
    shows(page, "desk").to_have_text("Go to Chair 2")
    assert "Go to Chair 2" in page.title()
    assert page.evaluate("[rung, shaken]") == [2, 1]
    queue.act(mine["ticket"], "recall")
    eventually(lambda: page.evaluate("[rung, shaken]") == [4, 2], "it rings again")
    queue.act(mine["ticket"], "return")
    shows(page, "note").to_have_text("You are back in line, at your old place.")
    call(queue, "Chair 1")
    shows(page, "desk").to_have_text("Go to Chair 1")
    queue.act(mine["ticket"], "no-show")
    expect(page.get_by_role("heading", name="You were called")).to_be_visible()
    queue.act(mine["ticket"], "reinstate")
    is_state(page, "admitted")
    queue.act(mine["ticket"], "start")
    expect(page.get_by_role("heading", name="You are being served")).to_be_visible()
    queue.act(mine["ticket"], "complete")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    page.get_by_role("link", name="Take a new number").click()
    expect(page.get_by_role("heading", name="Take a number")).to_be_visible()


def test_put_on_hold_from_the_desk_nobody_is_told_to_be_back_in_line(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    page = take_number(queue, come())
    mine = call(queue, "Chair 1")
    is_state(page, "admitted")
    queue.act(mine, "hold")
    is_state(page, "on_hold")
    shows(page, "title").to_have_text("You are on hold")
    shows(page, "note").to_be_hidden()
    queue.act(mine, "release")
    is_state(page, "waiting")
    call(queue, "Chair 1")
    is_state(page, "admitted")
    queue.act(mine, "return")
    shows(page, "note").to_be_visible()
    queue.act(mine, "hold")
    is_state(page, "on_hold")
    shows(page, "note").to_be_hidden()


def test_a_screen_reader_announces_no_wait_that_is_unknown(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    queue.others(4)
    page = take_number(queue, come())
    shows(page, "wait").to_have_text("")
    shows(page, "announce").to_have_text("4 people ahead of you")


def looks(me: Person) -> list[Request]:
    return [request for request in me.requests if request.method == "HEAD"]


def test_the_page_of_a_no_show_stays_quick(venue: Venue, come: NewPerson) -> None:
    """Staff may take it back at any moment, also minutes later."""
    queue = walk_in(venue)
    me = come()
    page = take_number(queue, me)
    queue.act(call(queue, "Chair 1"), "no-show")
    is_state(page, "expired")
    page.clock.install()
    page.reload()
    page.clock.pause_at(time.time() + 5)
    me.requests.clear()
    for _ in range(20):
        page.clock.run_for(600)
        for look in looks(me):  # time goes on once each is answered
            look.response()
        page.evaluate("fetch('/healthz').then((answer) => answer.status)")
    assert len(looks(me)) > 10


def test_a_number_outlives_the_browser(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue, grace_seconds=0)
    me = come()
    page = take_number(queue, me)
    shows(page, "heard").to_have_text("Up to date")
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    kept = me.context.storage_state()
    other = queue.others(1)[0]["ticket"]
    queue.act(other, "cancel")
    assert not queue.newest()["leaving"]
    later = come(storage_state=kept)
    page = later.tab(queue.url)
    shows(page, "title").to_have_text("You are next")
    assert queue.waiting() == 1


def test_mistakes_are_at_their_fields_and_a_second_tap_is_nothing(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue, ask_name="required")
    page = come().tab(f"{venue.server.base_url}/join/{queue.name}")
    page.get_by_label("Phone number").fill("12")
    page.get_by_role("button", name="Take a number").click()
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_label("Name")).to_have_accessible_description("Enter your name.")
    expect(page.get_by_label("Phone number")).to_have_value("12")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Phone number").fill("")
    page.get_by_role("button", name="Take a number").dblclick()
    page.wait_for_url(f"**/q/{queue.name}*")
    assert queue.waiting() == 1
    page.go_back()
    expect(page.locator("html")).not_to_have_attribute("data-state", "form")
    assert queue.waiting() == 1


def test_a_network_that_drops_after_the_tap_makes_one_ticket(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    me = come()
    page = me.tab(f"{venue.server.base_url}/join/{queue.name}")
    lost = iter((True, True, False))

    def drop_the_answer(route: Route) -> None:
        if route.request.method == "POST" and next(lost, False):
            route.fetch(max_redirects=0)  # it is done, and nobody receives the answer
            route.abort()
        else:
            route.continue_()

    page.route("**/join/**", drop_the_answer)
    page.get_by_role("button", name="Take a number").click()
    expect(page.get_by_text("No connection. We keep trying")).to_be_visible()
    page.wait_for_url(f"**/q/{queue.name}*")
    shows(page, "title").to_have_text("You are next")
    assert queue.waiting() == 1


def test_what_a_proxy_answers_in_our_place_is_asked_again_with_the_same_key(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    page = come().tab(queue.form_url)
    answers = iter((502, 429, 504))
    keys: list[list[str]] = []

    def through_a_proxy(route: Route) -> None:
        keys.append(re.findall("key=([\\w-]+)", route.request.post_data or ""))
        status = next(answers, None)
        if status is None:
            return route.continue_()
        return route.fulfill(status=status, content_type="text/html", body=f"<h1>{status} of a proxy</h1>")

    page.route("**/join/**", through_a_proxy)
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Take a number").click()
    expect(page.get_by_text("No connection. We keep trying")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Ada")
    page.wait_for_url(f"**/q/{queue.name}*")
    assert len(keys) == 4
    assert keys[0] == keys[1] == keys[2] == keys[3] != []
    assert queue.waiting() == 1


def test_a_refusal_that_is_no_page_leaves_the_form_and_says_so(venue: Venue, come: NewPerson) -> None:
    """Such as of a body that is too large to be read."""
    queue = walk_in(venue)
    page = come().tab(queue.form_url)
    name = page.get_by_label("Name")
    name.evaluate("(field) => field.removeAttribute('maxlength')")
    name.fill("가" * 10_000)
    page.get_by_label("Phone number").fill("030 123456")
    with page.expect_response("**/join/**") as refused:
        page.get_by_role("button", name="Take a number").click()
    assert refused.value.status == 413
    expect(page.get_by_role("alert")).to_have_text("We could not read this. Please check it, or ask at the desk.")
    expect(page.get_by_label("Phone number")).to_have_value("030 123456")
    name.fill("가나다")
    page.get_by_role("button", name="Take a number").click()
    page.wait_for_url(f"**/q/{queue.name}*")
    assert queue.newest()["name"] == "가나다"


def test_without_scripts_all_of_it_works(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    page = come(java_script_enabled=False).tab(f"{venue.server.base_url}/join/{queue.name}")
    page.get_by_label("Phone number").fill("12")
    page.get_by_role("button", name="Take a number").click()
    expect(page.locator("#phone-wrong")).to_be_visible()
    page.get_by_label("Phone number").fill("")
    page.get_by_role("button", name="Take a number").click()
    page.wait_for_url(f"**/q/{queue.name}*")
    expect(page.get_by_role("heading", name="You are next")).to_be_visible()
    call(queue, "Chair 1")
    page.reload()
    expect(page.get_by_text("Go to Chair 1")).to_be_visible()


def test_a_number_goes_on_on_another_phone(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    old, new = come(), come()
    page = take_number(queue, old)
    answer = page.evaluate(f"fetch('/api/v1/move?queue={queue.name}', {{method: 'POST'}}).then((it) => it.json())")
    there = new.tab(f"{venue.server.base_url}{answer['url']}")
    assert "#" not in there.url
    assert queue.waiting() == 1
    there.reload()
    there.get_by_role("button", name="Show my number here").click()
    shows(there, "title").to_have_text("You are next")
    is_state(page, "moved")
    assert queue.waiting() == 1
    there.get_by_role("link", name="Move to another phone").click()
    expect(there.get_by_alt_text("QR code with the link")).to_be_visible()


def test_a_link_opened_again_shows_the_number_and_one_without_its_code_leads_to_the_form(
    venue: Venue, come: NewPerson
) -> None:
    queue = walk_in(venue)
    old, new, stranger = come(), come(), come()
    page = take_number(queue, old)
    answer = page.evaluate(f"fetch('/api/v1/move?queue={queue.name}', {{method: 'POST'}}).then((it) => it.json())")
    link = f"{venue.server.base_url}{answer['url']}"
    there = new.tab(link)
    there.get_by_role("button", name="Show my number here").click()
    there.wait_for_url(f"**/q/{queue.name}*")
    for again in (link, link.partition("#")[0]):
        page = new.tab(again)
        page.wait_for_url(f"**/q/{queue.name}*")
        shows(page, "title").to_have_text("You are next")
    other = take_number(queue, stranger)
    other.goto(link)
    expect(other.get_by_role("button", name="Show my number here")).to_be_visible()
    passer_by = come().tab(link.partition("#")[0])
    passer_by.get_by_role("link", name="Take a number").click()
    expect(passer_by.get_by_role("heading", name="Take a number")).to_be_visible()


def test_it_reads_from_right_to_left_in_arabic(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    page = come(locale="ar").tab(f"{venue.server.base_url}/join/{queue.name}")
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
    page.get_by_label("رقم الهاتف").fill("12")
    page.get_by_role("button", name="خذ رقمًا").click()
    expect(page.locator("#phone-wrong")).to_contain_text("هذا ليس رقم هاتف")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_kiosk_takes_prints_and_goes_back_to_the_start(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue, series=["A", "B"], texts={"series_A": "Haircut", "series_B": "Beard"})
    tablet = come(viewport={"width": 1180, "height": 820})
    tablet.context.add_init_script(WATCH)
    page = kiosk(venue, queue, tablet, print=True)
    page.get_by_role("button", name="Beard").click()
    is_state(page, "taken")
    assert queue.newest()["label"].endswith("B0001")
    assert page.evaluate("printed") == 1
    page.emulate_media(media="print")
    expect(page.locator(".receipt")).to_be_visible()
    expect(page.locator("main")).to_be_hidden()
    assert page.locator(".receipt").bounding_box()["width"] == pytest.approx(80 * 96 / 25.4, abs=1)  # type: ignore[index]
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Done").click()
    is_state(page, "start")
    page.get_by_role("button", name="Haircut").click()
    is_state(page, "taken")
    assert queue.waiting() == 2


def test_a_kiosk_goes_home_by_itself(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    tablet = come(viewport={"width": 1180, "height": 820})
    page = kiosk(venue, queue, tablet)
    page.clock.install()
    page.reload()
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("button", name="Nummer ziehen")).to_be_visible()
    page.get_by_role("button", name="Nummer ziehen").click()
    is_state(page, "taken")
    page.clock.run_for(25_000)
    expect(page.get_by_role("button", name="Take a number")).to_be_visible()


def test_a_kiosk_outlives_a_network_that_drops_between_press_and_answer(venue: Venue, come: NewPerson) -> None:
    queue = walk_in(venue)
    tablet = come(viewport={"width": 1180, "height": 820})
    page = kiosk(venue, queue, tablet)
    lost = iter((True, True, False))
    keys: list[Any] = []

    def drop_the_answer(route: Route) -> None:
        if route.request.method != "POST":
            return route.continue_()
        keys.append(re.findall("key=(\\w+)", route.request.post_data or ""))
        if next(lost, False):
            route.fetch()
            return route.abort()
        return route.continue_()

    page.route("**/kiosk*", drop_the_answer)
    page.get_by_role("button", name="Take a number").click()
    expect(page.get_by_text("No connection. Trying again…")).to_be_visible()
    is_state(page, "taken")
    assert len(keys) == 3
    assert keys[0] == keys[1] == keys[2]
    eventually(lambda: queue.waiting() == 1, "one number for one press")


@pytest.mark.parametrize("scene", ["errors", "waiting", "called", "poster", "kiosk", "kiosk-taken"])
def test_a_page_keeps_nobody_out(venue: Venue, come: NewPerson, scene: str) -> None:
    size, draw = WALK_IN_SCENES[scene]
    someone = come(bypass_csp=True, viewport=size, reduced_motion="reduce")
    page = draw(venue, someone)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
