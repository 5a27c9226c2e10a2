"""The same with a browser, over plain http at a name of the server's own: there browsers send no Sec-Fetch-Site."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.attack.conftest import MakeQueue
from tests.browser.conftest import a_browser_or_skip
from tests.browser.venue import Site
from tests.web.running import RunningServer

#: Names that lead to this machine. The browser takes them for sites on the network, and each for another one.
LINE, SHOP = "line.test", "shop.test"
WAITS = {"admission": "manual", "join_limit_per_ip": 0, "target_url": "https://shop.test/"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser_or_skip("--host-resolver-rules=MAP *.test 127.0.0.1") as found:
        yield found


@pytest.fixture
def shop() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@contextmanager
def someone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB")
    try:
        yield context.new_page()
    finally:
        context.close()


def address(server: RunningServer, path: str) -> str:
    return f"http://{LINE}:{server.port}{path}"


def at_shop(shop: Site, path: str) -> str:
    return f"http://{SHOP}:{shop.url.rpartition(':')[2]}{path}"


def posting(action: str, enctype: str, name: str, value: str) -> str:
    """A page that sends a form by itself."""
    return (
        f'<!doctype html><form method="post" action="{action}" enctype="{enctype}">'
        f"<input name='{name}' value='{value}'></form><script>document.forms[0].submit()</script>"
    )


def is_the_form(answer: Response) -> bool:
    """Whether it answers a form; the page in line makes calls too, also as it is left."""
    return answer.request.method == "POST" and answer.request.is_navigation_request()


def place(page: Page) -> str:
    """The cookie of a ticket, as the browser has it."""
    return next((each["value"] for each in page.context.cookies() if each["name"].startswith("fairline_ticket_")), "")


def test_a_page_elsewhere_that_posts_leaves_the_ticket_alone(
    server: RunningServer, make_queue: MakeQueue, browser: Browser, shop: Site
) -> None:
    queue = make_queue(**WAITS)
    join, form, page_form = f"/api/v1/queues/{queue}/join", f"/join/{queue}", f"/q/{queue}"
    body = '{"client_id":"of-mallory-1","name":"'
    shop.html = {
        "/text": posting(address(server, join), "text/plain", body, '"}'),
        "/encoded": posting(address(server, form), "application/x-www-form-urlencoded", "name", "Mallory"),
        "/multipart": posting(address(server, form), "multipart/form-data", "name", "Mallory"),
        "/leave": posting(address(server, page_form), "application/x-www-form-urlencoded", "do", "leave"),
    }
    with someone(browser) as page:
        page.goto(address(server, page_form))
        expect(page.locator('[data-show="position"]').first).to_be_visible()
        mine = place(page)
        assert mine
        for path in shop.html:
            with page.expect_response(is_the_form) as sent:
                page.goto(at_shop(shop, path))
            asked = sent.value.request.all_headers()
            assert "sec-fetch-site" not in asked, "this says nothing of browsers over plain http"
            assert asked["origin"] == at_shop(shop, "")
            page.wait_for_load_state()
            assert place(page) == mine, path
        page.goto(address(server, page_form))
        expect(page.locator("html")).to_have_attribute("data-state", "waiting")


def test_a_link_from_a_shop_leads_to_the_place_and_the_page_joins(
    server: RunningServer, make_queue: MakeQueue, browser: Browser, shop: Site
) -> None:
    queue = make_queue(**WAITS)
    shop.html = {"/": f'<a href="{address(server, f"/q/{queue}")}">To the line</a>'}
    with someone(browser) as page:
        tickets = []
        for _ in range(2):
            page.goto(at_shop(shop, "/"))
            page.get_by_text("To the line").click()
            expect(page.locator('[data-show="position"]').first).to_be_visible()
            tickets.append(place(page))
        assert tickets[0]
        assert tickets[0] == tickets[1]


def test_without_scripts_the_page_s_own_forms_join_and_leave(
    server: RunningServer, make_queue: MakeQueue, browser: Browser
) -> None:
    queue = make_queue(**WAITS)
    context = browser.new_context(locale="en-GB", java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(address(server, f"/q/{queue}"))
        page.locator('button[value="join"]').click()
        assert place(page)
        page.locator("details", has=page.locator('button[value="leave"]')).locator("summary").click()
        page.locator('button[value="leave"]').click()
        expect(page.locator("html")).to_have_attribute("data-state", "expired")
    finally:
        context.close()
