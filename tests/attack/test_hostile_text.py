"""What strangers and operators write is shown as text wherever it comes out: on pages, in mail, in streams, in headers.
Nothing of it runs, and nothing breaks out of where it belongs."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.backends import HOST, wait_until
from tests.browser.conftest import a_browser_or_skip
from tests.mailbox import Mailbox
from tests.web.running import RunningServer

#: Markup, in whatever it may be put: text, an attribute, a script, JSON, a template, an address.
MARKUP = (
    "</script><b id=pwned></b><img src=x onerror=\"document.documentElement.id='pwned'\">"
    "'\"><svg/onload=alert(1)> --><!-- ]]> </style></title></textarea>{{7*191}}{%raw%}${7*191}<%=7*191%>"
    " javascript:alert(1)// &lt;b id=pwned&gt; \u202e\u2028"
)
#: What a name of a person or a desk may have of it.
NAME = "</script><b id=pwned></b>\"'{{7*191}}<svg/onload=alert(1)>"
#: The end of a line of a header, of a mail's head, of an event; and what would come next.
BREAK = "x\r\nSet-Cookie: pwned=1\r\nBcc: eve@evil.test\r\n\r\nevent: pwned\ndata: {}\n\n"


class Reader(HTMLParser):
    """Reads a page as a browser does, and notes what none of our templates has."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        inline = tag == "script" and "src" not in told and told.get("type") not in ("application/json", "importmap")
        running = [name for name in told if name.startswith("on")]
        calling = [value for value in told.values() if value and value.strip().lower().startswith("javascript:")]
        if told.get("id") == "pwned" or inline or running or calling:
            self.found.append(self.get_starttag_text() or tag)


def markup_in(page: str) -> list[str]:
    """What broke out in a page."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader.found + (["a template was run"] if "1337" in page else [])


class House:
    """A server where hostile text is in everything that takes text, and mail goes to a mailbox of the tests."""

    def __init__(self, server: RunningServer, mailbox: Mailbox) -> None:
        self.server, self.mailbox = server, mailbox
        self.admin = httpx.Client(
            base_url=f"{server.base_url}/api/v1/admin", headers={"authorization": f"Bearer {server.admin_key}"}
        )
        signed_in = httpx.post(f"{server.base_url}/admin/sign-in", data={"key": server.admin_key})
        self.staff = {"fairline_admin": signed_in.cookies["fairline_admin"]}
        self.queue = f"q-{secrets.token_hex(6)}"
        texts = dict.fromkeys(("waiting_title", "waiting_text", "form_title", "form_text", "footer"), MARKUP)
        texts |= {"notice_called": MARKUP, "series_B": MARKUP}
        settings = {"name": (BREAK + MARKUP)[:200], "message": MARKUP, "closed_message": MARKUP, "texts": texts}
        walk_in = {"admission": "manual", "series": ["A", "B"], "notices": ["joined", "called"]}
        calm = {"join_limit_per_ip": 0, "heartbeat_timeout_seconds": 0, "ask_email": "optional"}
        made = self.admin.post("/queues", json={"id": self.queue, **settings, **walk_in, **calm})
        assert made.status_code == 201, made.text
        self.admin.post("/keys", json={"role": "viewer", "name": MARKUP[:100]}).raise_for_status()
        hook = {"url": "https://shop.example/?" + quote(MARKUP, safe=""), "active": False}
        self.admin.post("/webhooks", json=hook).raise_for_status()
        self.tickets = [self.joined(number) for number in range(4)]
        self.act("call-next", {"desk": NAME[:60]})
        self.act("revoke", {"ticket": 2, "reason": MARKUP[:200]})

    def joined(self, number: int) -> dict[str, Any]:
        """Somebody in line who says nothing but hostile things."""
        about = {"user_id": f"{number}{MARKUP}"[:200], "name": NAME[:100], "metadata": {MARKUP[:100]: MARKUP}}
        answer = httpx.post(
            f"{self.server.base_url}/api/v1/queues/{self.queue}/join",
            json={**about, "email": f"ada{number}@example.com"},
            headers={"user-agent": "</script><b id=pwned>", "accept-language": '"><b id=pwned>'},
        )
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def act(self, what: str, body: dict[str, Any]) -> None:
        """Do something as staff."""
        self.admin.post(f"/queues/{self.queue}/{what}", json=body).raise_for_status()

    def cookie_of(self, ticket: dict[str, Any]) -> dict[str, str]:
        return {f"fairline_ticket_{self.queue}": ticket["token"]}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    mailbox = Mailbox()
    environ = {
        "FAIRLINE_SMTP_URL": f"smtp://{HOST}:{mailbox.port}?starttls=no",
        "FAIRLINE_MAIL_FROM": "The Bakery <line@bakery.example>",
        "FAIRLINE_PUBLIC_URL": "{base_url}",
    }
    server = RunningServer(tmp_path_factory.mktemp("hostile"), workers=1, environ=environ)
    try:
        made = House(server, mailbox)
        yield made
        made.admin.close()
    finally:
        server.stop()
        mailbox.down()


def test_no_page_has_markup_of_others_in_it(house: House) -> None:
    queue, staff, called = house.queue, house.staff, house.cookie_of(house.tickets[0])
    waiting, revoked = house.cookie_of(house.tickets[3]), house.cookie_of(house.tickets[1])
    nasty = quote(MARKUP, safe="")
    kiosk = house.admin.post(f"/queues/{queue}/kiosk", json={}).json()["url"]
    pages: list[tuple[str, dict[str, str]]] = [
        *((f"/q/{queue}", cookies) for cookies in ({}, called, waiting, revoked)),
        *((f"{path}?lang={nasty}&theme={nasty}&return={nasty}&move={nasty}", waiting) for path in _paths(queue)),
        *((path, staff) for path in ("/admin", "/admin/keys", "/admin/webhooks", "/admin/audit")),
        *((f"/admin/queues/{queue}{path}", staff) for path in ("", "/desk")),
        (f"/api/v1/admin/queues/{queue}/report?format=html", staff),
        (kiosk.removeprefix(house.server.base_url), {}),
        *((f"{path}/{nasty}", {}) for path in ("/q", "/join", "/board", "/arrived", "/static", "", "/admin/queues")),
        (f"/admin/queues/{nasty}", staff),
    ]
    with httpx.Client(base_url=house.server.base_url, follow_redirects=True) as client:
        for path, cookies in pages:
            client.cookies.clear()
            headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()), "referer": MARKUP[:9]}
            answer = client.get(path, headers=headers)
            assert answer.status_code < 500, (path, answer.text)
            if answer.headers["content-type"].startswith("text/html"):
                assert markup_in(answer.text) == [], path
            else:
                assert answer.headers["content-type"].startswith(("application/", "image/svg", "text/css")), path


def _paths(queue: str) -> list[str]:
    return [f"/q/{queue}", f"/board/{queue}", f"/join/{queue}", f"/join/{queue}/poster", f"/join/{queue}/move", "/"]


def test_a_form_that_is_sent_back_shows_what_was_typed_as_text(house: House) -> None:
    for typed in (MARKUP, NAME, BREAK):
        form = {"name": typed, "phone": typed, "email": typed, "party_size": typed, "series": typed, "key": typed}
        for path, data in (
            (f"/join/{house.queue}", form),
            (f"/join/{house.queue}/move", {"code": typed}),
            (f"/q/{house.queue}", {"do": typed}),
            ("/admin/sign-in", {"key": typed, "next": typed}),
        ):
            answer = httpx.post(f"{house.server.base_url}{path}", data=data, headers={"accept": "text/html"})
            assert answer.status_code < 500, (path, answer.text)
            assert markup_in(answer.text) == [], (path, typed)
            assert_own_headers(answer)


def test_nothing_in_an_address_becomes_a_header(house: House) -> None:
    nasty = quote(BREAK, safe="")
    queue = house.queue
    addresses = [
        *(f"{path}?lang={nasty}&return={nasty}&token={nasty}" for path in _paths(queue)),
        f"/join/{queue}/kiosk?token={nasty}",
        f"/join/{queue}/qr.svg?colour={nasty}",
        f"/arrived/{queue}?fairline_session={nasty}&lang={nasty}",
        f"/api/v1/session/verify?queue={queue}&answer=redirect",
        f"/admin?next={nasty}",
        *(f"{path}/{nasty}" for path in ("/q", "/join", "/board", "/arrived", "/static", "/admin/queues", "/api/v1")),
    ]
    headers = {"x-original-uri": f"/shop?a={nasty}", "accept-language": "de\tx", "x-request-id": "a b"}
    for address in addresses:
        answer = httpx.get(f"{house.server.base_url}{address}", headers=headers)
        assert answer.status_code < 500, (address, answer.text)
        assert_own_headers(answer)


def assert_own_headers(answer: httpx.Response) -> None:
    """Every header is one that Fairline sets."""
    assert not {"bcc", "data", "event"} & set(answer.headers), answer.headers
    assert not any(each.startswith("pwned") for each in answer.headers.get_list("set-cookie")), answer.headers
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["x-request-id"])


def test_no_text_ends_an_event_or_begins_one(house: House) -> None:
    house.act("message", {"text": BREAK + MARKUP})
    ticket = house.tickets[3]["token"]
    own = frames(f"{house.server.base_url}/api/v1/stream?token={ticket}", {}, "message")
    assert {"text": BREAK + MARKUP} in [data for kind, data in own if kind == "message"]
    events = frames(
        f"{house.server.base_url}/api/v1/admin/queues/{house.queue}/events",
        {"authorization": f"Bearer {house.server.admin_key}", "accept": "text/event-stream"},
    )
    board = frames(f"{house.server.base_url}/api/v1/queues/{house.queue}/board/stream", {})
    assert events
    assert NAME[:60] in json.dumps([data for _, data in board], ensure_ascii=False).replace('\\"', '"')
    assert "pwned" not in {kind for kind, _ in (*own, *events, *board)}


def frames(url: str, headers: dict[str, str], until: str = "") -> list[tuple[str, Any]]:
    """What a stream sends at first: up to an event of this kind, or of any. Each line is one of an event's, and what it
    tells is whole JSON. Lines end as the standard of these streams says, and nowhere else."""
    found: list[tuple[str, Any]] = []
    kind, rest = "", b""
    with httpx.stream("GET", url, headers=headers) as answer:
        assert answer.status_code == 200
        for chunk in answer.iter_raw():
            *lines, rest = re.split(rb"\r\n|\n|\r", rest + chunk)
            for line in lines:
                name, _, value = line.decode().partition(":")
                assert name in ("", "event", "id", "retry", "data"), line
                kind = value.strip() if name == "event" else kind
                if name == "data":
                    found.append((kind, json.loads(value)))
            if found if not until else until in {kind for kind, _ in found}:
                return found
    return found


def test_no_text_of_others_becomes_the_head_of_a_mail_or_markup_in_it(house: House) -> None:
    wait_until(lambda: len(house.mailbox.mails) >= 4, "not all were written to")
    wait_until(lambda: any("1337" not in mail.text for mail in house.mailbox.mails), "nobody was told")
    known = {
        "content-language",
        "from",
        "to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "content-type",
        "auto-submitted",
    }
    for mail in house.mailbox.mails:
        names = {name.lower() for name in mail.message.keys()}  # noqa: SIM118
        assert "bcc" not in names
        assert names >= {"from", "to", "subject"}
        assert names - known <= {"precedence", "x-auto-response-suppress", "content-transfer-encoding"}, names
        assert mail.to.startswith("ada")
        assert markup_in(mail.html) == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser_or_skip() as found:
        yield found


def test_nothing_runs_in_a_browser(house: House, browser: Browser) -> None:
    """Where scripts put text into a page, it is text as well."""
    base, queue = house.server.base_url, house.queue
    context = browser.new_context()
    context.set_default_timeout(60_000)
    troubles: list[str] = []

    def note(dialog: Dialog) -> None:
        troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context.on("dialog", note)
    context.on("console", lambda said: troubles.append(said.text) if "Security Policy" in said.text else None)
    context.on("weberror", lambda error: troubles.append(str(error.error)))
    cookies = house.staff | house.cookie_of(house.tickets[3])
    context.add_cookies([{"name": name, "value": value, "url": base} for name, value in cookies.items()])
    shown = {
        f"/q/{queue}": "pwned",
        f"/board/{queue}": "pwned",
        f"/join/{queue}": "pwned",
        f"/admin/queues/{queue}": "pwned",
        f"/admin/queues/{queue}/desk": "pwned",
        "/admin/audit": "revoke",
        "/admin/keys": "pwned",
        "/admin/webhooks": "shop.example",
    }
    try:
        for path, text in shown.items():
            page = context.new_page()
            page.goto(f"{base}{path}")
            expect(page.locator("body")).to_contain_text(text, timeout=60_000)
            expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=60_000)
            expect(page.locator("#pwned")).to_have_count(0)
            page.close()
    finally:
        context.close()
    assert troubles == []
