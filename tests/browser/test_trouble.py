"""When the way to the server is bad, or the server is away, the page goes on and the place is kept."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.backends import PATIENCE_SECONDS
from tests.browser.conftest import NewPerson
from tests.browser.venue import Person, Queue, Venue, eventually, never_answer, shows

LOST = re.compile(r"(Reconnecting\. We hold|No connection\. We held) your place until \d+:\d\d\s[AP]M")


def without_streams(someone: Person, queue: Queue, *, refused: bool = False) -> Page:
    """They wait where streams are blocked, or refused since there are too many, and are updated by heartbeats."""
    someone.context.route("**/api/v1/stream*", lambda route: route.fulfill(status=429) if refused else route.abort())
    page = someone.tab(queue.url)
    shows(page, "heard").to_contain_text("Updated")
    return page


@pytest.mark.parametrize("refused", [False, True])
def test_where_streams_are_blocked_or_refused_heartbeats_do(venue: Venue, come: NewPerson, refused: bool) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    queue.others(2)
    me = come()
    page = without_streams(me, queue, refused=refused)
    queue.call()
    shows(page, "position").to_have_text("2")
    queue.call()
    shows(page, "position").to_have_text("1")
    streams = [request for request in me.requests if "/api/v1/stream" in request.url]
    assert len(streams) <= 3, "it does not try again and again"
    queue.call()
    page.wait_for_url(f"{venue.site.url}/**")


def test_a_stream_that_says_nothing_is_given_up(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    queue.others(1)
    me = come()
    # As behind a proxy that keeps everything back until the end.
    me.context.route("**/api/v1/stream*", never_answer)
    page = me.tab()
    page.clock.install()
    page.goto(queue.url)
    shows(page, "position").to_have_text("2")
    queue.call()
    page.clock.run_for(12_000)
    shows(page, "position").to_have_text("1")


def test_heartbeats_go_at_the_pace_the_server_tells_and_one_at_a_time(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=20)
    me = come().without_streams()
    page = me.tab()
    page.clock.install()
    held_back: list[Route] = []

    def hold(route: Route) -> None:
        held_back.append(route)

    def asked(path: str) -> int:
        return len([request for request in me.requests if path in request.url])

    def heartbeats() -> int:
        return asked("/api/v1/heartbeat")

    # A page tries a stream twice before it goes by heartbeats alone, and asks after each where it stands.
    with page.expect_response(lambda answer: "/api/v1/heartbeat" in answer.url and asked("/api/v1/stream") == 2):
        page.goto(queue.url)
    shows(page, "heard").to_contain_text("Updated")

    def until_the_next() -> None:
        # Second by second: one that is sent must not have its time run out before it can be answered.
        before, seconds = heartbeats(), 0
        while heartbeats() == before:
            page.clock.run_for(1000)
            seconds += 1
            assert seconds <= 26, "at its time, whatever the jitter"

    before = heartbeats()
    page.clock.run_for(14_000)
    assert heartbeats() == before, "not before its time, whatever the jitter"
    with page.expect_response("**/api/v1/heartbeat*"):
        until_the_next()
    shows(page, "heard").to_have_text(re.compile(r"Updated \d seconds? ago"))
    page.route("**/api/v1/heartbeat*", hold)
    until_the_next()
    before = heartbeats()
    for _ in range(5):
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        page.clock.run_for(1000)
    assert heartbeats() == before, "one request at a time"
    held_back[0].continue_()
    shows(page, "heard").to_contain_text("Updated")


def test_an_answer_that_does_not_come_in_time_is_asked_for_again(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    page = without_streams(come(), queue)
    # First the shorter patience, then the silence: a request between the two would wait as long as people do.
    page.evaluate("const after = AbortSignal.timeout.bind(AbortSignal); AbortSignal.timeout = () => after(1000)")
    page.route("**/api/v1/heartbeat*", never_answer)
    shows(page, "heard").to_have_text(LOST)
    page.unroute("**/api/v1/heartbeat*")
    shows(page, "heard").to_contain_text("Updated")


STRANGE: dict[str, dict[str, Any]] = {
    "a page of the network's own": {"body": "<p>Sign in to this network.", "content_type": "text/html"},
    "JSON of something else": {"json": {"status": "signed out"}},
    "half an answer": {"body": '{"status": "wai', "content_type": "application/json"},
    "a proxy that wants a name": {"status": 401, "body": "Who are you?"},
    "a proxy that finds nothing": {"status": 404, "body": "Not found"},
    "a proxy that says it is gone": {"status": 410, "json": {"code": 410}},
    "a server that ends": {"status": 408, "json": {"code": "request_timeout"}},
    "a proxy that says in an hour": {"status": 503, "headers": {"Retry-After": "3600"}},
    "a proxy that says never": {"status": 503, "headers": {"Retry-After": "1e12"}},
    "a proxy that says before now": {"status": 503, "headers": {"Retry-After": "-5"}},
}


def test_a_strange_answer_is_not_taken_for_one_and_asked_for_again_at_ease(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=5)
    me = come().without_streams()
    page = me.tab()
    page.clock.install()
    page.goto(queue.url)
    heard = page.locator("[data-show=heard]")
    expect(heard).to_contain_text("Updated")
    place = queue.newest()["ticket"]
    for what, strange in STRANGE.items():
        asked = 0

        def answer(route: Route, *, strange: dict[str, Any] = strange) -> None:
            nonlocal asked
            asked += 1
            route.fulfill(**strange)

        me.context.route("**/api/v1/heartbeat*", answer)
        # Fifteen seconds of the page, and more where the answers take longer than those.
        passed, deadline = 0, time.monotonic() + PATIENCE_SECONDS
        while passed < 15 or not LOST.match(heard.inner_text()):
            assert time.monotonic() < deadline, (what, heard.inner_text(), asked)
            page.clock.run_for(1000)
            passed += 1
        assert 1 <= asked <= 1 + passed / 3, (what, asked, passed)
        me.context.unroute("**/api/v1/heartbeat*")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "Updated" not in (now := heard.inner_text()):
            assert time.monotonic() < deadline, (what, now)
            page.clock.run_for(1000)
    assert queue.newest()["ticket"] == place
    assert queue.waiting() == 1


def test_a_server_restarted_under_the_page_changes_nothing(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(1)
    page = come().tab(queue.url)
    shows(page, "heard").to_have_text("Up to date")
    stopping = threading.Thread(target=venue.server.stop)
    stopping.start()
    shows(page, "heard").to_have_text(LOST)
    stopping.join()
    venue.server.start()
    shows(page, "heard").to_have_text("Up to date")
    shows(page, "position").to_have_text("2")
    queue.call(2)
    page.wait_for_url(f"{venue.site.url}/**")


def test_offline_is_said_and_coming_back_is_noticed_at_once(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=600, heartbeat_timeout_seconds=600)
    queue.others(1)
    me = come()
    page = without_streams(me, queue)
    me.context.set_offline(True)
    shows(page, "heard").to_contain_text("You are offline")
    queue.call()
    me.context.set_offline(False)
    shows(page, "position").to_have_text("1")
    shows(page, "heard").to_contain_text("Updated")


def test_a_hidden_tab_wakes_when_it_is_looked_at(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=600, heartbeat_timeout_seconds=600)
    queue.others(1)
    me = come()
    page = without_streams(me, queue)
    queue.call()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    shows(page, "position").to_have_text("1")


def test_in_a_hidden_tab_the_turn_is_called_by_title_and_sound(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    me = come()
    me.context.add_init_script("""
        window.notes = 0;
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (...at) { window.notes += 1; return start.apply(this, at); };
        window.looksAway = (away) => {
            const set = (name, value) => Object.defineProperty(document, name, {value, configurable: true});
            set("hidden", away);
            set("visibilityState", away ? "hidden" : "visible");
            document.dispatchEvent(new Event("visibilitychange"));
        };
    """)
    page = me.tab(queue.url)
    shows(page, "heard").to_have_text("Up to date")
    page.get_by_role("button", name="Sound when it is my turn").click()
    tried = page.evaluate("window.notes")
    page.evaluate("looksAway(true)")
    queue.call()
    expect(page).to_have_title("★ It is your turn")
    assert page.evaluate("window.notes") > tried > 0
    assert page.url == queue.url, "it waits for someone to look"
    page.evaluate("looksAway(false)")
    page.wait_for_url(f"{venue.site.url}/**")


def test_a_token_that_ran_out_is_had_again_for_the_same_place(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    queue.others(1)
    me = come().without_streams()
    page = me.tab(queue.url)
    shows(page, "position").to_have_text("2")
    me.context.clear_cookies(name=f"fairline_ticket_{queue.name}")
    queue.call()
    shows(page, "position").to_have_text("1")
    assert queue.waiting() == 1


def test_without_cookies_the_place_is_kept_while_the_page_is_open(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    queue.others(1)
    me = come()

    def without_cookies(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, headers={k: v for k, v in answer.headers.items() if k != "set-cookie"})
        me.context.clear_cookies()

    me.context.route("**/join*", without_cookies)
    page = me.tab(queue.url)
    shows(page, "position").to_have_text("2")
    queue.call()
    shows(page, "position").to_have_text("1")
    eventually(lambda: queue.waiting() == 1, "there is one ticket")
