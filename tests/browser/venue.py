"""What the tests in a browser share: a server with queues and others in line, a site behind it, someone with a tab."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from tests.backends import HOST, wait_until
from tests.web.running import RunningServer

#: What a test waits for at most, on a machine that has much else to do.
PATIENCE_SECONDS = 60.0
expect.set_options(timeout=PATIENCE_SECONDS * 1000)


class Site:
    """The site behind the line: it lets in people with a session token, and can show a page of its own."""

    def __init__(self) -> None:
        self.fairline = ""
        self.html: dict[str, str] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = site.answer(self.path)
                with suppress(ConnectionError):  # the browser has gone elsewhere meanwhile
                    self.send_response(status)
                    self.send_header("Content-Type", "text/html; charset=utf-8")
                    self.end_headers()
                    self.wfile.write(body.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://localhost:{self._server.server_address[1]}"

    def answer(self, path: str) -> tuple[int, str]:
        """Its own page at an address, or the shop for people who may enter it."""
        parts = urlsplit(path)
        if parts.path in self.html:
            return 200, self.html[parts.path]
        given = parse_qs(parts.query).get("fairline_session", [""])[0]
        verified = httpx.get(
            f"{self.fairline}/api/v1/session/verify", headers={"Authorization": f"Bearer {given}"} if given else {}
        )
        if verified.status_code != 200:
            return 403, f"<title>No</title>No entry: {verified.status_code}"
        return 200, f"<title>Shop</title>Welcome, ticket {verified.headers['x-fairline-ticket']}"

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Queue:
    """One queue of the server, as its operator has it, and the others in it."""

    def __init__(self, server: RunningServer, http: httpx.Client, name: str) -> None:
        self.name = name
        self.url = f"{server.base_url}/q/{name}"
        self.form_url = f"{server.base_url}/join/{name}"
        self._http = http
        self._admin = {"Authorization": f"Bearer {server.admin_key}"}

    def create(self, settings: dict[str, Any]) -> None:
        """Make it."""
        answer = self._http.post("/admin/queues", headers=self._admin, json={"id": self.name, **settings})
        assert answer.status_code == 201, answer.text

    def admin(self, method: str, path: str = "", **more: Any) -> Any:
        """A call of the operator."""
        answer = self._http.request(method, f"/admin/queues/{self.name}{path}", headers=self._admin, **more)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def public(self) -> dict[str, Any]:
        """Its state, as everyone may see it."""
        state: dict[str, Any] = self._http.get(f"/queues/{self.name}").json()
        return state

    def set(self, **settings: Any) -> None:
        """Change settings."""
        self.admin("PATCH", json=settings)

    def others(self, count: int, **body: Any) -> list[dict[str, Any]]:
        """Other people join."""
        return [self._other({"client_id": secrets.token_hex(8), **body}) for _ in range(count)]

    def _other(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(f"/queues/{self.name}/join", json=body)
        self._http.cookies.clear()  # the next one is someone else
        assert answer.status_code == 201, answer.text
        joined: dict[str, Any] = answer.json()
        return joined

    def call(self, count: int = 1, desk: str = "") -> list[dict[str, Any]]:
        """Let the next people in."""
        body = {"count": count, "desk": desk}
        called: list[dict[str, Any]] = self.admin("POST", "/call-next", json=body)["tickets"]
        return called

    def act(self, ticket: int, action: str) -> None:
        """Do something with one ticket."""
        self.admin("POST", f"/tickets/{ticket}/{action}")

    def ticket(self, number: int) -> dict[str, Any]:
        """One ticket as it is now."""
        found: dict[str, Any] = self.admin("GET", f"/tickets/{number}")
        return found

    def newest(self) -> dict[str, Any]:
        """The person who joined last."""
        tickets = self.admin("GET", "/tickets")["tickets"]
        newest: dict[str, Any] = max(tickets, key=lambda each: each["ticket"])
        return newest

    def waiting(self) -> int:
        """How many wait."""
        waiting: int = self.admin("GET")["waiting"]
        return waiting


class Venue:
    """A server, a site behind it, and a browser."""

    def __init__(self, server: RunningServer, site: Site, browser: Browser) -> None:
        self.server = server
        self.site = site
        self.browser = browser
        self.http = httpx.Client(base_url=f"{server.base_url}/api/v1", timeout=30)

    def queue(self, **settings: Any) -> Queue:
        """A new queue into which nobody comes by themselves."""
        queue = Queue(self.server, self.http, f"q-{secrets.token_hex(4)}")
        usual = {
            "name": "Winter Sale",
            "target_url": f"{self.site.url}/shop",
            "admission": "manual",
            "join_limit_per_ip": 0,
            "grace_seconds": 2,
        }
        queue.create(usual | settings)
        return queue


class Person:
    """Someone with a browser of their own. The errors of their pages are recorded."""

    def __init__(self, venue: Venue, context: BrowserContext) -> None:
        self.context = context
        self.requests: list[Request] = []
        self.troubles: list[str] = []
        self._home = venue.server.base_url
        self._site = venue.site.url
        context.on("request", self._note_request)
        context.on("console", lambda said: self._note_console(said.type, said.text))
        context.on("weberror", lambda error: self.troubles.append(str(error.error)))

    def without_streams(self) -> Person:
        """This person, whose network lets no streams through."""
        self.context.route("**/api/v1/stream*", lambda route: route.abort())
        return self

    def tab(self, url: str = "") -> Page:
        """A new tab, at an address."""
        page = self.context.new_page()
        if url:
            page.goto(url)
        return page

    def _note_request(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith((self._home, self._site, "data:", "chrome")):
            self.troubles.append(f"asked a third party: {request.url}")

    def _note_console(self, kind: str, text: str) -> None:
        # That the network is away is the point of some tests; that a policy or a script is broken never is.
        if kind in ("error", "warning") and "net::ERR" not in text and "status of" not in text:
            self.troubles.append(f"{kind}: {text}")


@contextmanager
def person(venue: Venue, **options: Any) -> Iterator[Person]:
    """Someone with a fresh browser profile; at the end, nothing must have gone wrong in it."""
    context = venue.browser.new_context(**{"locale": "en-GB", "viewport": {"width": 390, "height": 844}} | options)
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    someone = Person(venue, context)
    try:
        yield someone
    finally:
        context.unroute_all(behavior="ignoreErrors")  # some are never answered, and that is the point
        context.close()
    assert someone.troubles == [], someone.troubles


def never_answer(route: Route) -> None:
    """Leave a request hanging."""


def shows(page: Page, name: str) -> Any:
    """What a page shows under a name, to expect something of."""
    return expect(page.locator(f'[data-show="{name}"]'))


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    wait_until(holds, what, PATIENCE_SECONDS)
