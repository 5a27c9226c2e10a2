"""The client on another site: its own page, its own words, the same place."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPerson
from tests.browser.venue import Queue, Venue, eventually

PAGE = """
<!doctype html><title>Shop</title><p id="place"></p>
<script type="module">
  import {WaitingRoomClient} from "%(server)s/static/fairline.js";
  window.seen = {positions: [], admitted: [], expired: [], errors: [], messages: [], connections: []};
  window.client = new WaitingRoomClient({
    queue: "%(queue)s",
    join: {name: "Ada"},
    onPositionUpdate: (position, length, wait) => seen.positions.push([position, length, wait]),
    onAdmitted: (url, pass) => seen.admitted.push([url, pass]),
    onExpired: (reason) => seen.expired.push(reason),
    onError: ({code, status}) => seen.errors.push([code, status]),
    onMessage: (text) => seen.messages.push(text),
    onConnection: (connection) => seen.connections.push(connection),
  });
  client.start();
</script>
"""


@pytest.fixture
def shop(venue: Venue) -> Any:
    def at(queue: Queue | str) -> str:
        name = queue if isinstance(queue, str) else queue.name
        venue.site.html[f"/own/{name}"] = PAGE % {"server": venue.server.base_url, "queue": name}
        return f"{venue.site.url}/own/{name}"

    return at


def sees(page: Page, what: str) -> Any:
    """Wait until a callback was called, and answer what it was last called with."""
    page.wait_for_function(f"window.seen?.{what}.length > 0")
    return page.evaluate(f"seen.{what}.at(-1)")


def test_another_site_has_the_line_on_its_own_page(venue: Venue, come: NewPerson, shop: Any) -> None:
    queue = venue.queue(message="Welcome.")
    queue.others(1)
    me = come()
    page = me.tab(shop(queue))
    assert sees(page, "positions") == [2, 2, None]
    assert sees(page, "messages") == "Welcome."
    page.wait_for_function("seen.connections.at(-1) === 'live'")
    assert queue.newest()["name"] == "Ada"
    assert me.context.cookies() == [], "another site is given none of our cookies"
    page.reload()
    assert sees(page, "positions") == [2, 2, None]
    queue.call(2)
    url, session = sees(page, "admitted")
    assert url == f"{venue.site.url}/shop?fairline_session={session}"
    page.goto(url)
    assert "Welcome, ticket" in page.inner_text("body")


def test_another_tab_of_the_site_is_the_same_person(venue: Venue, come: NewPerson, shop: Any) -> None:
    queue = venue.queue()
    me = come()
    first = me.tab(shop(queue))
    sees(first, "positions")
    second = me.tab(shop(queue))
    assert sees(second, "positions") == [1, 1, None]
    first.close()
    third = me.tab(shop(queue))
    assert sees(third, "positions") == [1, 1, None]
    assert queue.waiting() == 1


def test_leaving_is_at_once_and_starting_again_joins_again(venue: Venue, come: NewPerson, shop: Any) -> None:
    queue = venue.queue()
    page = come().tab(shop(queue))
    sees(page, "positions")
    page.evaluate("client.leave()")
    assert queue.waiting() == 0
    page.evaluate("seen.positions.length = 0; client.start()")
    assert sees(page, "positions") == [1, 1, None]
    page.evaluate("client.stop()")
    assert queue.waiting() == 1, "who only falls silent keeps the place for a while"


def test_a_mistake_in_what_the_site_does_with_the_news_costs_nobody_the_place(
    venue: Venue, come: NewPerson, shop: Any
) -> None:
    queue = venue.queue(heartbeat_interval_seconds=1)
    me = come().without_streams()
    page = me.tab(shop(queue))
    sees(page, "positions")
    page.evaluate("""() => {
        for (const told of Object.values(seen)) told.push = () => { throw new Error("of the site"); };
    }""")
    with page.expect_event("pageerror"):  # it is reported to the developers of the site
        me.context.route("**/api/v1/heartbeat*", lambda route: route.fulfill(status=503))
    me.context.unroute("**/api/v1/heartbeat*")
    for _ in range(2):
        with page.expect_response(lambda answer: "/api/v1/heartbeat" in answer.url and answer.ok):
            pass
    page.close()
    assert all("of the site" in trouble for trouble in me.troubles)
    me.troubles.clear()


def test_a_place_that_ended_is_told_with_the_reason(venue: Venue, come: NewPerson, shop: Any) -> None:
    queue = venue.queue()
    page = come().tab(shop(queue))
    sees(page, "positions")
    queue.act(queue.newest()["ticket"], "cancel")
    assert sees(page, "expired") == "cancelled"
    eventually(lambda: queue.waiting() == 0, "nobody joins again by themselves")


def test_a_refusal_is_told_with_its_code(venue: Venue, come: NewPerson, shop: Any) -> None:
    full = venue.queue(max_queue_size=1)
    full.others(1)
    assert sees(come().tab(shop(full)), "errors") == ["queue_full", 503]
    assert sees(come().tab(shop("nowhere")), "errors") == ["queue_not_found", 404]
