"""What a page of another site can do with the cookies of someone who comes across it: nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from tests.attack.conftest import MakeQueue
from tests.web.inside import ORIGIN
from tests.web.raw import slow
from tests.web.running import RunningServer

FOREIGN: list[dict[str, str]] = [
    {"origin": "http://elsewhere.test"},
    {"origin": "null"},
    {"origin": "http://elsewhere.test", "sec-fetch-site": "none"},
    {"origin": "http://[no"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]
#: What a form can be sent as.
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
MANUAL = {
    "admission": "manual",
    "join_limit_per_ip": 0,
    "heartbeat_timeout_seconds": 0,
    "target_url": "https://shop.test/",
}
NAMED = "https://shop.example"
PUBLIC = "https://wait.example"


def related_origins(server: RunningServer) -> list[dict[str, str]]:
    """Pages of the same machine, which are not the server's for all that."""
    return [{"origin": f"http://{server.host}:{server.port + 1}"}, {"origin": f"http://localhost:{server.port}"}]


def ways(path: str) -> tuple[str, str]:
    """An address as the fast path answers it, and as the ASGI application does."""
    return path, slow(path)


class Visitor:
    """Someone who waits, with the cookies of their browser."""

    def __init__(self, server: RunningServer, queue: str) -> None:
        self.http = httpx.Client(base_url=server.base_url)
        self.queue = queue
        self.own = {"origin": server.base_url}
        self.ticket = self.http.post(f"/api/v1/queues/{queue}/join", json={}, headers=self.own).json()["ticket"]

    def post(self, path: str, content: str = "{}", **headers: str) -> httpx.Response:
        """A call with the cookies as they were; what it sets is kept, as a browser would."""
        return self.http.post(path, content=content, headers=headers)

    def stands(self) -> dict[str, Any]:
        """Where their ticket stands, by the cookie they have now."""
        told: dict[str, Any] = self.http.get(f"/api/v1/status?queue={self.queue}").json()
        return told


@pytest.fixture
def visitor(server: RunningServer, make_queue: MakeQueue) -> Iterator[Visitor]:
    found = Visitor(server, make_queue(**MANUAL))
    with closing(found.http):
        yield found


def test_a_foreign_page_that_joins_replaces_no_ticket(server: RunningServer, visitor: Visitor) -> None:
    for path in ways(f"/api/v1/queues/{visitor.queue}/join"):
        for page in FOREIGN + related_origins(server):
            for media in FORMS:
                body = f'{{"client_id":"{secrets.token_hex(6)}","name":"="}}'
                answer = visitor.post(path, body, **page, **{"content-type": media})
                assert (answer.status_code, answer.headers.get("set-cookie")) == (201, None), (path, page, media)
        assert visitor.stands()["ticket"] == visitor.ticket
        again = visitor.post(path, **FOREIGN[0], **{"content-type": "text/plain"})
        assert again.json()["ticket"] != visitor.ticket, "the cookie proved the holder to a foreign page"


def test_a_foreign_page_can_do_nothing_with_the_ticket(server: RunningServer, visitor: Visitor) -> None:
    calls = {"leave": '{"final":true}', "heartbeat": "{}", "step-back": "{}", "move": "{}"}
    for page in FOREIGN + related_origins(server):
        for name, body in calls.items():
            for path in ways(f"/api/v1/{name}?queue={visitor.queue}"):
                answer = visitor.post(path, body, **page, **{"content-type": "text/plain"})
                assert (answer.status_code, answer.json()["code"]) == (401, "token_missing"), (path, page)
    assert visitor.stands()["status"] == "waiting"


def test_a_foreign_page_moves_nobody_else_s_number_here(
    server: RunningServer, visitor: Visitor, make_queue: MakeQueue
) -> None:
    other = Visitor(server, visitor.queue)
    with closing(other.http):
        code = other.post(f"/api/v1/move?queue={visitor.queue}", **other.own).json()["code"]
    for path, body in ((("/api/v1/moved", f'{{"code":"{code}"}}')), (f"/join/{visitor.queue}/move", f"code={code}")):
        answer = visitor.post(path, body, **FOREIGN[0], **{"content-type": "text/plain"})
        assert "set-cookie" not in answer.headers, path
    assert visitor.stands()["ticket"] == visitor.ticket


def test_the_forms_of_the_pages_are_the_pages_own(server: RunningServer, visitor: Visitor) -> None:
    queue = visitor.queue
    forms = {
        f"/q/{queue}": ("do=join", "do=leave"),
        f"/join/{queue}": ("name=Mallory",),
        f"/join/{queue}/move": ("code=x",),
        f"/join/{queue}/kiosk": ("key=x",),
        f"/arrived/{queue}": ("do=leave",),
    }
    newcomer = httpx.Client(base_url=server.base_url)
    with newcomer:
        for page in FOREIGN + related_origins(server):
            for path, bodies in forms.items():
                for body in bodies:
                    headers = {**page, "content-type": FORMS[1], "accept": "text/html"}
                    for browser in (visitor.http, newcomer):
                        answer = browser.post(path, content=body, headers=headers)
                        assert (answer.status_code, answer.headers.get("set-cookie")) == (303, None), (path, page)
    assert visitor.stands()["status"] == "waiting"
    assert visitor.stands()["queue_length"] == 1, "a foreign form took a place"


def test_an_old_browser_that_names_no_origin_sends_no_form_to_the_api(visitor: Visitor) -> None:
    for path in ways(f"/api/v1/queues/{visitor.queue}/join"):
        for media in FORMS:
            body = f'{{"client_id":"{secrets.token_hex(6)}"}}'
            answer = visitor.post(path, body, **{"content-type": media})
            assert (answer.status_code, answer.headers.get("set-cookie")) == (201, None), (path, media)
        assert visitor.post(path, **{"content-type": "application/json; charset=utf-8"}).status_code == 200
    assert visitor.stands()["ticket"] == visitor.ticket


def test_an_old_browser_that_names_a_page_alone_is_believed_about_that(server: RunningServer, visitor: Visitor) -> None:
    """Without Origin and Sec-Fetch-Site, a Referer says which page sent the form."""
    queue, form = visitor.queue, {"content-type": FORMS[1], "accept": "text/html"}
    for page in (
        "http://elsewhere.test/a",
        f"http://elsewhere.test/{server.base_url}",
        f"{server.base_url}1/",
        "x",
        "",
    ):
        for path, body in (
            (f"/q/{queue}", "do=leave"),
            (f"/join/{queue}", "name=Mallory"),
            (f"/api/v1/queues/{queue}/join", ""),
            (f"/api/v1/leave?queue={queue}", '{"final":true}'),
        ):
            answer = visitor.post(path, body, referer=page, **form)
            assert "set-cookie" not in answer.headers, (path, page)
        assert visitor.stands()["status"] == "waiting", page
    assert visitor.stands()["ticket"] == visitor.ticket
    answer = visitor.post(f"/q/{queue}", "do=leave", referer=f"{server.base_url}/q/{queue}?lang=de", **form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}?left=1"), "they are leaving"


def test_the_server_s_own_pages_and_programs_go_on_as_before(server: RunningServer, visitor: Visitor) -> None:
    queue = visitor.queue
    own: list[dict[str, str]] = [
        {"origin": server.base_url},
        {"origin": server.base_url, "sec-fetch-site": "same-origin"},
        {"origin": "http://behind-a-proxy.test", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "same-origin"},
    ]
    for page in own:
        for path in ways(f"/api/v1/heartbeat?queue={queue}"):
            assert visitor.post(path, **page, **{"content-type": "text/plain"}).status_code == 200, (path, page)
    beacon = visitor.post(
        f"/api/v1/leave?queue={queue}", '{"final":false}', **own[0], **{"content-type": "text/plain;charset=UTF-8"}
    )
    assert beacon.status_code == 204
    with httpx.Client(base_url=server.base_url) as someone:
        form = someone.post(f"/q/{queue}", data={"do": "join"}, headers=own[0])
        assert f"fairline_ticket_{queue}" in form.headers["set-cookie"]
    token = httpx.post(f"{server.base_url}/api/v1/queues/{queue}/join", json={}).json()["token"]
    program = httpx.post(f"{server.base_url}/api/v1/heartbeat", headers={"authorization": f"Bearer {token}"})
    assert program.status_code == 200


def test_a_link_from_a_shop_leads_to_the_ticket(visitor: Visitor) -> None:
    shop = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    page = visitor.http.get(f"/q/{visitor.queue}", headers={**shop, "accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["x-fairline-state"] == "waiting"


# Named origins, and proxies


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server behind a proxy, at an address of its own, whose API a shop's pages may call."""
    environ = {
        "FAIRLINE_CORS_ORIGINS": NAMED,
        "FAIRLINE_PUBLIC_URL": PUBLIC,
        "FAIRLINE_TRUSTED_PROXIES": "127.0.0.1",
    }
    running = RunningServer(tmp_path_factory.mktemp("house"), workers=1, environ=environ)
    httpx.patch(
        f"{running.base_url}/api/v1/admin/queues/demo",
        json=MANUAL,
        headers={"authorization": f"Bearer {running.admin_key}"},
    ).raise_for_status()
    yield running
    running.stop()


def test_whose_page_it_is_behind_a_proxy(house: RunningServer) -> None:
    tls = {"x-forwarded-proto": "https"}
    rows: list[tuple[dict[str, str], bool]] = [
        ({"origin": NAMED}, True),
        ({"origin": NAMED, "sec-fetch-site": "cross-site"}, True),
        ({"referer": f"{NAMED}/shoes"}, True),
        ({"referer": f"{NAMED}.elsewhere.test/shoes"}, False),
        ({"origin": ORIGIN}, False),
        ({"origin": f"{NAMED}.elsewhere.test"}, False),
        ({"origin": NAMED.replace("https", "http")}, False),
        ({"origin": PUBLIC} | tls, True),
        ({"origin": PUBLIC.replace("https", "http")} | tls, False),
        ({"origin": f"{PUBLIC}:8443"} | tls, False),
        ({"origin": "https://other.example", "host": "other.example"} | tls, True),
        ({"origin": "https://other.example", "host": "other.example:443"} | tls, True),
        ({"origin": "https://other.example:8443", "host": "other.example:8443"} | tls, True),
        ({"origin": "https://other.example:8443", "host": "other.example"} | tls, False),
        ({"origin": "https://other.example", "x-forwarded-host": "other.example"} | tls, True),
        ({"origin": "https://other.example", "x-forwarded-host": "other.example, inner.test"} | tls, False),
    ]
    for headers, counts in rows:
        for path in ways("/api/v1/queues/demo/join"):
            answer = httpx.post(f"{house.base_url}{path}", json={}, headers=headers)
            assert ("set-cookie" in answer.headers) is counts, (path, headers)


def test_no_page_but_the_dashboard_acts_as_an_operator(house: RunningServer) -> None:
    key = house.admin_key
    with httpx.Client(base_url=house.base_url, headers={"x-forwarded-proto": "http"}) as operator:
        for origin in (NAMED, ORIGIN, "null"):
            refused = operator.post("/admin/sign-in", data={"key": key}, headers={"origin": origin})
            assert (refused.status_code, refused.headers.get("set-cookie")) == (403, None), origin
        assert operator.post("/admin/sign-in", data={"key": key}).status_code == 303
        own = {"x-fairline-admin": "1"}
        for origin in (NAMED, ORIGIN, "null"):
            answer = operator.post(
                "/api/v1/admin/queues/demo/message", json={"text": "x"}, headers={"origin": origin} | own
            )
            assert (answer.status_code, answer.json()["code"]) == (403, "cross_site"), origin
            operator.post("/admin/sign-out", headers={"origin": origin})
        assert operator.get("/api/v1/admin/session").status_code == 200
