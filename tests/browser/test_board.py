"""The screen on the wall, in a browser: it shows what the desks do, calls it out once, and goes on for weeks."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairline.domain.branding import LANGUAGES
from fairline.web.pages.languages import Language, catalogue
from tests.browser.axe import violations
from tests.browser.boards import BOARD_SCENES, SCREEN, a_walk_in_line, board_of, finish
from tests.browser.conftest import NewPerson
from tests.browser.venue import Queue, Venue, eventually

pytestmark = pytest.mark.long

#: Stands in for the loudspeaker: notes chimes and what is spoken.
LOUDSPEAKER = """
window.heard = {chimes: 0, spoken: []};
window.AudioContext = class {
  state = "suspended";
  currentTime = 0;
  destination = {};
  async resume() { if (navigator.userActivation.isActive || window.allowed) this.state = "running"; }
  createGain() {
    return {gain: {setValueAtTime() {}, exponentialRampToValueAtTime() {}}, connect: (to) => to};
  }
  createOscillator() {
    return {frequency: {}, connect: (to) => to, start: () => { heard.chimes += 1; }, stop() {}};
  }
};
Object.defineProperty(window, "speechSynthesis", {value: {
  speak: (words) => { heard.spoken.push([words.text, words.lang]); setTimeout(() => words.onend?.()); },
}});
"""


def board(page: Page, queue: Queue) -> Any:
    """The part of the screen that a queue has."""
    return page.locator("section").filter(has_text=str(queue.admin("GET")["name"]))


def calls(page: Page, label: str, desk: str) -> None:
    """The screen calls a number to a desk, soon."""
    expect(page.locator(".call")).to_have_text(str(int(label.rpartition("-")[2])))
    expect(page.locator(".printed")).to_have_text(f"Ticket {label}")
    expect(page.locator(".desk")).to_have_text(desk)


def spoken(page: Page, count: int) -> list[list[str]]:
    """What was called out loud, once there is so much of it: the words and their language."""
    eventually(lambda: len(page.evaluate("heard.spoken")) >= count, f"{count} calls are heard")
    said: list[list[str]] = page.evaluate("heard.spoken")
    return said


def rows(page: Page, name: str) -> Any:
    """The rows of a list, to expect something of."""
    return expect(page.locator(f'[data-show="{name}"] li'))


def test_a_call_a_recall_a_return_and_a_no_show_are_seen_within_a_second(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    queue.others(6)
    page = come(viewport=SCREEN).tab(board_of([queue]))
    expect(page.get_by_text("Please wait until your number is called")).to_be_visible()
    expect(page.get_by_text("6 people waiting")).to_be_visible()
    queue.call(desk="Desk 1")
    calls(page, "RCH-000001", "Desk 1")
    queue.call(desk="Desk 2")
    calls(page, "RCH-000002", "Desk 2")
    rows(page, "serving").to_have_text(["1Desk 1"])
    expect(page.get_by_text("4 people waiting")).to_be_visible()
    queue.act(1, "recall")
    calls(page, "RCH-000001", "Desk 1")
    queue.act(1, "return")
    calls(page, "RCH-000002", "Desk 2")
    rows(page, "serving").to_have_count(0)
    expect(page.get_by_text("5 people waiting")).to_be_visible()
    queue.act(2, "no-show")
    expect(page.get_by_text("Please wait until your number is called")).to_be_visible()
    finish(queue, "Desk 4")
    rows(page, "called").to_have_text(["1Desk 4"])
    queue.set(status="paused")
    expect(page.get_by_text("The line is paused")).to_be_visible()


def test_every_call_is_heard_once_and_only_after_someone_turned_sound_on(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    queue.others(8)
    queue.call(desk="Desk 9")
    someone = come(viewport=SCREEN)
    someone.context.add_init_script(LOUDSPEAKER)
    page = someone.tab(board_of([queue]))
    calls(page, "RCH-000001", "Desk 9")
    queue.call(desk="Desk 1")
    calls(page, "RCH-000002", "Desk 1")
    assert page.evaluate("heard") == {"chimes": 0, "spoken": []}
    page.get_by_role("button", name="Turn sound on").click()
    expect(page.get_by_role("button", name="Turn sound off")).to_be_visible()
    tried = page.evaluate("heard.chimes")
    assert tried == 2, "two notes, so that one knows how loud it is"

    queue.call(desk="Desk 2")
    spoken(page, 1)
    queue.act(3, "recall")
    spoken(page, 2)
    queue.act(2, "return")  # the one called before
    queue.call(2)
    queue.act(4, "start")
    queue.others(1)
    calls(page, "RCH-000004", "")
    spoken(page, 4)
    queue.act(2, "recall")
    assert [words for words, _ in spoken(page, 5)] == [
        "Number 3, Desk 2",
        "Number 3, Desk 2",
        "Number 2, please come to the desk",
        "Number 4, please come to the desk",
        "Number 2, please come to the desk",
    ]
    assert page.evaluate("heard.chimes") == tried + 2 * 5
    expect(page.locator('[data-show="announce"]')).to_have_text("Number RCH-000002, please come to the desk")

    # Remembered: a screen that may play sound by itself goes on after a reload, any other with the next press.
    page.reload()
    expect(page.get_by_role("button", name="Turn sound on")).to_be_visible()
    page.locator("h2").click()
    expect(page.get_by_role("button", name="Turn sound off")).to_be_visible()
    someone.context.add_init_script("window.allowed = true")
    page.reload()
    expect(page.get_by_role("button", name="Turn sound off")).to_be_visible()
    assert page.evaluate("heard.spoken") == [], "what was called before is not called again"
    page.get_by_role("button", name="Turn sound off").click()
    page.reload()
    expect(page.get_by_role("button", name="Turn sound on")).to_be_visible()


def test_two_queues_share_one_screen(venue: Venue, come: NewPerson) -> None:
    left, right = a_walk_in_line(venue, "Passports", "P"), a_walk_in_line(venue, "Taxes", "T")
    left.others(2)
    right.others(3)
    someone = come(viewport=SCREEN)
    someone.context.add_init_script(LOUDSPEAKER + "window.allowed = true;")
    page = someone.tab(board_of([left, right], "lang=de"))
    page.get_by_role("button", name="Ton einschalten").click()
    left.call(desk="Desk 1")
    right.call(desk="Desk 2")
    expect(board(page, left).locator(".call")).to_have_text("1")
    expect(board(page, right).locator(".call")).to_have_text("1")
    expect(board(page, right).locator(".line")).to_contain_text("2 Personen warten")
    assert spoken(page, 2) == [["Passports. Nummer 1, Desk 1", "de"], ["Taxes. Nummer 1, Desk 2", "de"]]
    streams = [request for request in someone.requests if request.url.endswith("/board/stream")]
    assert len(streams) == 1, "one connection for all queues of a screen"


@pytest.mark.parametrize("scene", ["called", "quiet", "two", "shop", "lost"])
def test_a_board_keeps_nobody_out(venue: Venue, come: NewPerson, scene: str) -> None:
    page = BOARD_SCENES[scene](venue, come(bypass_csp=True, viewport=SCREEN), "")
    page.emulate_media(reduced_motion="reduce")
    for theme in ("light", "dark", "contrast"):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        assert violations(page) == []
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "a wall cannot be scrolled"
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out on a phone"


def style_of(page: Page, selector: str, name: str) -> str:
    """A computed style of the first such element."""
    found: str = page.eval_on_selector(selector, "(it, name) => getComputedStyle(it)[name]", name)
    return found


def size(page: Page, selector: str) -> float:
    """The size of the letters."""
    return float(style_of(page, selector, "fontSize").removesuffix("px"))


def test_the_number_called_can_be_read_across_the_room(venue: Venue, come: NewPerson) -> None:
    page = BOARD_SCENES["busy"](venue, come(viewport=SCREEN), "")
    # On a 43-inch screen a pixel is half a millimetre; letters of 25 mm are read at five metres.
    assert size(page, ".number") > 450
    assert size(page, ".desk") > 100
    assert min(size(page, "li"), size(page, ".line")) > 48


def test_a_number_is_short_whatever_its_series(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue, series=["A", "1B"])
    for series in ("A", "1B"):
        queue.others(12, series=series)
    page = come(viewport=SCREEN).tab(board_of([queue]))
    queue.call(12)
    expect(page.locator(".call")).to_have_text("A12")
    queue.call()
    expect(page.locator(".call")).to_have_text("1B1")
    expect(page.locator(".printed")).to_have_text("Ticket RCH-1B0001")
    assert page.evaluate("""async () => {
        const {short, spoken} = await import(document.querySelector("script[type=module]").src);
        return ["RCH-000120", "RCH-A0012", "R-1B0003", "RCH-000000"].map((label) => [short(label), spoken(label)]);
    }""") == [["120", "120"], ["A12", "A 12"], ["1B3", "1B 3"], ["0", "0"]]


def test_a_board_wears_the_colours_of_the_shop_and_follows_a_change(venue: Venue, come: NewPerson) -> None:
    someone = come(viewport=SCREEN)
    page = BOARD_SCENES["shop"](venue, someone, "")

    assert style_of(page, ".now", "backgroundColor") == "rgb(242, 183, 5)"
    assert style_of(page, ".number", "color") == "rgb(0, 0, 0)", "white could not be read on it"
    assert style_of(page, "body", "backgroundColor") == "rgb(246, 239, 228)"
    expect(page.locator(".logo")).to_be_visible()
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    queue = Queue(venue.server, venue.http, page.url.partition("/board/")[2].rstrip("?"))
    queue.set(accent_colour="#0a3d2e", logo="")
    eventually(lambda: style_of(page, ".now", "backgroundColor") == "rgb(10, 61, 46)", "the new colour")
    assert style_of(page, ".number", "color") == "rgb(255, 255, 255)"
    expect(page.locator(".logo")).to_be_hidden()
    assert loads == [], "a reload would turn the sound off"
    page.goto(f"{page.url}theme=contrast")
    assert style_of(page, ".now", "backgroundColor") == "rgb(0, 0, 0)"


def test_where_nobody_is_called_a_code_leads_to_the_form(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    page = come(viewport=SCREEN).tab(board_of([queue]))
    code = page.locator(".join")
    expect(code).to_contain_text("Scan to take a number")
    expect(code).to_contain_text(queue.form_url.partition("://")[2])
    assert page.eval_on_selector(".join img", "it => it.decode().then(() => it.naturalWidth)") > 0
    queue.set(status="maintenance")
    expect(code).to_be_hidden()
    queue.set(status="active")
    expect(code).to_be_visible()
    queue.others(1)
    queue.call()
    expect(code).to_be_hidden()
    queue.act(1, "no-show")
    expect(code).to_be_visible()
    queue.set(require_user_token=True)
    expect(code).to_be_hidden()


def test_an_outage_of_the_store_is_read_across_the_room(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue, accent_colour="#0a3d2e")
    queue.others(2)
    someone = come(viewport=SCREEN)
    page = someone.tab(board_of([queue]))
    queue.call(desk="Desk 1")
    calls(page, "RCH-000001", "Desk 1")
    store = venue.server.store_pid()
    os.kill(store, signal.SIGSTOP)
    try:
        outage = page.get_by_role("alert")
        expect(outage).to_contain_text("No connection since")
        expect(outage).to_contain_text("Please ask at the desk")
        assert min(size(page, ".outage"), size(page, ".since")) >= 48
        assert size(page, ".number") < 300, "what was called before does not shout"
        expect(page.locator(".line")).to_be_hidden()
        fresh = someone.tab(board_of([queue]))
        expect(fresh.get_by_role("alert")).to_contain_text("No connection yet")
        assert queue.name not in fresh.inner_text("body"), "nobody in the room knows its id"
    finally:
        os.kill(store, signal.SIGCONT)
    for screen in (page, fresh):
        expect(screen.get_by_role("alert")).to_be_hidden()
        calls(screen, "RCH-000001", "Desk 1")
    eventually(
        lambda: "10, 61, 46" in style_of(fresh, ".now", "backgroundColor"), "the colours come with the connection"
    )


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_is_on_the_board(venue: Venue, come: NewPerson, lang: str) -> None:
    language = Language(lang)
    numbers = [0, 1, 2, 3, 11, 100, 102, 1234]
    spans = [None, [5, 40], [20, 100], [550, 880], [5000, 9000], [50_000, 60_000]]
    queue = a_walk_in_line(venue)
    queue.others(2)
    page = come(viewport=SCREEN).tab(board_of([queue], f"lang={lang}"))
    assert page.get_attribute("html", "dir") == ("rtl" if lang == "ar" else "ltr")
    said = page.evaluate(
        """async ([numbers, spans]) => {
            const script = await import(document.querySelector("script[type=module]").src);
            return [numbers.map(script.waiting), spans.map(script.wait)];
        }""",
        [numbers, spans],
    )
    told = [language.count("board_waiting", n) if n else language("board_waiting_none") for n in numbers]
    assert said == [told, [language.wait((span[0], span[1]) if span else None) for span in spans]]
    queue.call(desk="Desk 2")
    called = language("board_call", number="RCH-000001", desk="Desk 2")
    expect(page.locator('[data-show="announce"]')).to_have_text(called)
    expect(page.get_by_role("button", name=str(catalogue(lang)["board_sound_on"]))).to_be_visible()
    assert "{" not in page.inner_text("body")


def test_without_a_stream_the_board_asks_by_itself(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    queue.others(2)
    someone = come(viewport=SCREEN)
    someone.context.route("**/board/stream", lambda route: route.fulfill(status=429))
    page = someone.tab(board_of([queue]))
    queue.call(desk="Desk 1")
    expect(page.locator(".desk")).to_have_text("Desk 1")
    expect(page.locator(".outage")).to_be_hidden()


def test_a_new_version_of_the_server_is_taken_up_once(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    someone = come(viewport=SCREEN)
    someone.context.route(
        "**/board/stream",
        lambda route: route.fulfill(
            content_type="text/event-stream", body='event: hello\ndata: {"version": "another"}\n\n'
        ),
    )
    loads: list[str] = []
    page = someone.tab()
    page.on("load", lambda loaded: loads.append(loaded.url))
    with page.expect_event("load", lambda _: len(loads) == 2):
        page.goto(board_of([queue]))
    for _ in range(2):
        page.wait_for_event("request", lambda request: "/board/stream" in request.url)
    assert len(loads) == 2, "and not again and again, where the old version still answers"


def test_a_queue_that_comes_later_is_shown_once_it_is_there(venue: Venue, come: NewPerson) -> None:
    page = come(viewport=SCREEN).tab()
    page.clock.install()
    later = Queue(venue.server, venue.http, "comes-later")
    page.goto(board_of([later]))
    expect(page.get_by_role("heading", name="No such line")).to_be_visible()
    later.create({"name": "Late Desk", "admission": "manual"})
    page.clock.run_for(30_000)
    expect(page.get_by_role("heading", name="Late Desk")).to_be_visible()
    later.admin("DELETE")


def test_a_restart_under_the_board_is_survived_with_the_truth(venue: Venue, come: NewPerson) -> None:
    queue = a_walk_in_line(venue)
    queue.others(5)
    someone = come(viewport=SCREEN)
    someone.context.add_init_script(LOUDSPEAKER)
    page = someone.tab(board_of([queue]))
    page.get_by_role("button", name="Turn sound on").click()
    queue.call(desk="Desk 1")
    calls(page, "RCH-000001", "Desk 1")
    spoken(page, 1)

    venue.server.stop()
    expect(page.locator(".outage")).to_contain_text("No connection since")
    calls(page, "RCH-000001", "Desk 1")  # what was known last stays
    venue.server.start()
    queue.act(1, "no-show")
    queue.call(desk="Desk 2")
    queue.others(3)
    expect(page.locator(".desk")).to_have_text("Desk 2")
    expect(page.get_by_text("6 people waiting")).to_be_visible()
    expect(page.locator(".outage")).to_be_hidden()
    rows(page, "serving").to_have_count(0)
    assert [words for words, _ in spoken(page, 2)] == ["Number 1, Desk 1", "Number 2, Desk 2"]
    queue.call(desk="Desk 3")
    calls(page, "RCH-000003", "Desk 3")
