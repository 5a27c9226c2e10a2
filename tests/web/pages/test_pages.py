"""The waiting page over HTTP: what each state answers, who may press its buttons, what an operator makes of it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked
from fairline.web.pages.colours import CONTRAST, contrast, parsed, style
from fairline.web.pages.languages import Language, preferred
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.backends import wait_until
from tests.web.running import RunningServer

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Site": "none"}


class PageAccess:
    """A server, its operator, and the people who come."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        admin = {"Authorization": f"Bearer {server.admin_key}"}
        self.closing = ExitStack()
        self.admin = self._client(base_url=f"{server.base_url}/api/v1/admin", headers=admin)

    def queue(self, **settings: Any) -> str:
        name = f"page-{secrets.token_hex(4)}"
        usual = {"admission": "manual", "join_limit_per_ip": 0, "target_url": "https://shop.test/in?a=1"}
        answer = self.admin.post("/queues", json={"id": name, **usual, **settings})
        assert answer.status_code == 201, answer.text
        return name

    def someone(self) -> httpx.Client:
        return self._client(base_url=self.server.base_url, headers=BROWSER)

    def _client(self, **options: Any) -> httpx.Client:
        return self.closing.enter_context(httpx.Client(timeout=60, **options))

    def call(self, queue: str) -> int:
        (called,) = self.admin.post(f"/queues/{queue}/call-next").json()["tickets"]
        number: int = called["ticket"]
        return number

    def act(self, queue: str, number: int, action: str) -> None:
        assert self.admin.post(f"/queues/{queue}/tickets/{number}/{action}").is_success


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageAccess]:
    server = RunningServer(tmp_path_factory.mktemp("pages"), workers=1, environ={"FAIRLINE_LOG_FORMAT": "json"})
    try:
        access = PageAccess(server)
        yield access
        access.closing.close()
    finally:
        server.stop()
    assert server.logs("http.failed") == []


def joined(access: PageAccess, queue: str) -> httpx.Client:
    someone = access.someone()
    answer = someone.post(f"/q/{queue}", data={"do": "join"}, headers={"Sec-Fetch-Site": "same-origin"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
    return someone


def state(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, answer.headers["x-fairline-state"]


# States


def test_each_state_has_its_status_and_its_page(access: PageAccess) -> None:
    queue = access.queue()
    assert state(access.someone().get(f"/q/{queue}")) == (200, "joining")
    me = joined(access, queue)
    assert state(me.get(f"/q/{queue}")) == (200, "waiting")
    access.admin.patch(f"/queues/{queue}", json={"status": "paused"})
    assert state(me.get(f"/q/{queue}")) == (200, "paused")
    access.admin.patch(f"/queues/{queue}", json={"status": "active"})
    number = access.call(queue)
    admitted = me.get(f"/q/{queue}")
    assert state(admitted) == (200, "admitted")
    (way,) = re.findall(r'href="(https://shop.test/in\?a=1&amp;fairline_session=[^"]+)"', admitted.text)
    given = way.rpartition("=")[2]
    verified = httpx.get(
        f"{access.server.base_url}/api/v1/session/verify", headers={"Authorization": f"Bearer {given}"}
    )
    assert verified.headers["x-fairline-ticket"] == str(number)
    assert state(me.get(f"/q/{queue}")) == (200, "inside")
    access.act(queue, number, "complete")
    assert state(me.get(f"/q/{queue}")) == (200, "finished")


def test_closed_queues_say_when_to_come_back(access: PageAccess) -> None:
    closed = access.someone().get(f"/q/{access.queue(status='maintenance', closed_message='Noon.')}")
    assert state(closed) == (503, "maintenance")
    assert closed.headers["retry-after"] == "60"
    assert "Noon." in closed.text
    later = access.someone().get(f"/q/{access.queue(status='maintenance', opens_at='2999-01-01T09:00:00+09:00')}")
    assert state(later) == (503, "not_open")
    assert later.headers["retry-after"] == "300"
    assert '<time datetime="2999-01-01T00:00:00+00:00">' in later.text
    past = access.someone().get(f"/q/{access.queue(status='maintenance', opens_at='2020-01-01T09:00:00Z')}")
    assert state(past) == (503, "maintenance")
    queue = access.queue(max_queue_size=1)
    joined(access, queue)
    full = access.someone().get(f"/q/{queue}")
    assert state(full) == (503, "full")
    assert full.headers["retry-after"] == "30"
    refused = access.someone().post(f"/q/{queue}", data={"do": "join"})
    assert state(refused) == (503, "full")


def test_who_has_left_can_take_the_place_back_and_looking_alone_does_not(access: PageAccess) -> None:
    queue = access.queue(grace_seconds=600)
    me = joined(access, queue)
    left = me.post(f"/q/{queue}", data={"do": "leave"}).headers["location"]
    for _ in range(2):
        leaving = me.get(left)
        assert state(leaving) == (200, "leaving")
        assert "Take my place back" in leaving.text
    me.post(f"/q/{queue}", data={"do": "join"})
    assert state(me.get(left)) == (200, "waiting"), "the mark in the address alone does nothing"
    assert state(access.someone().get(left)) == (200, "joining")


def test_a_place_that_is_gone_is_410_and_had_again_by_one_press(access: PageAccess) -> None:
    queue = access.queue(grace_seconds=0)
    me = joined(access, queue)
    assert me.post(f"/q/{queue}", data={"do": "leave"}).status_code == 303
    gone = me.get(f"/q/{queue}")
    assert state(gone) == (410, "expired")
    assert "You have left the line" in gone.text
    me.post(f"/q/{queue}", data={"do": "join"})
    assert state(me.get(f"/q/{queue}")) == (200, "waiting")
    me.post(f"/q/{queue}", data={"do": "join"})
    assert access.admin.get(f"/queues/{queue}").json()["waiting"] == 1, "a second press joins nobody"


def test_an_unknown_queue_is_404_for_people_and_for_programs(access: PageAccess) -> None:
    for name in ("nowhere", "a%20b", "%3Cscript%3E"):
        answer = access.someone().get(f"/q/{name}")
        assert state(answer) == (404, "unknown")
        assert "<script>" not in answer.text
    told = httpx.get(f"{access.server.base_url}/q/nowhere", headers={"Accept": "application/json"})
    assert told.headers["content-type"] == "application/problem+json"
    assert (told.status_code, told.json()["code"]) == (404, "queue_not_found")


def test_someone_at_the_same_address_is_told_that_there_is_a_place(access: PageAccess) -> None:
    queue = access.queue(one_per="ip")
    joined(access, queue)
    assert state(access.someone().post(f"/q/{queue}", data={"do": "join"})) == (409, "elsewhere")


def test_too_many_joins_are_put_off(access: PageAccess) -> None:
    queue = access.queue(join_limit_per_ip=1)
    joined(access, queue)
    refused = access.someone().post(f"/q/{queue}", data={"do": "join"})
    assert state(refused) == (429, "limited")
    assert int(refused.headers["retry-after"]) > 0


# What is safe


def test_looking_never_joins(access: PageAccess) -> None:
    queue = access.queue()
    someone = access.someone()
    for method in ("GET", "HEAD"):
        answer = someone.request(method, f"/q/{queue}", headers={"Sec-Purpose": "prefetch"})
        assert state(answer) == (200, "joining")
        assert "set-cookie" not in answer.headers
    assert access.admin.get(f"/queues/{queue}").json()["waiting"] == 0


@pytest.mark.parametrize("origin", ["cross-site", "same-site"])
def test_a_form_on_another_site_takes_and_gives_up_no_place(access: PageAccess, origin: str) -> None:
    queue = access.queue()
    answer = access.someone().post(f"/q/{queue}", data={"do": "join"}, headers={"Sec-Fetch-Site": origin})
    assert answer.status_code == 303
    assert "set-cookie" not in answer.headers
    me = joined(access, queue)
    me.post(f"/q/{queue}", data={"do": "leave"}, headers={"Sec-Fetch-Site": origin})
    assert state(me.get(f"/q/{queue}")) == (200, "waiting")
    assert access.admin.get(f"/queues/{queue}").json()["waiting"] == 1


def test_cookies_are_for_us_alone_and_the_policy_lets_nothing_inline_run(access: PageAccess) -> None:
    queue = access.queue(accent_colour="#ffcc00")
    answer = access.someone().post(f"/q/{queue}", data={"do": "join"})
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("HttpOnly" in each and "SameSite=Lax" in each for each in cookies)
    page = access.someone().get(f"/q/{queue}")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert re.search(r"style-src 'self' 'nonce-([\w-]+)'", policy)[1] in page.text  # type: ignore[index]
    assert not re.search(r"<script(?![^>]*(src=|application/json))|\son\w+=|\sstyle=", page.text)
    other = access.someone().get(f"/q/{queue}")
    assert other.headers["content-security-policy"] != policy, "a nonce is used once"


def test_what_people_see_is_never_markup_of_others(access: PageAccess) -> None:
    nasty = "</script><script>alert(1)</script>\"'"
    queue = access.queue(name=nasty, message=nasty, texts={"waiting_title": nasty, "footer": nasty})
    page = joined(access, queue).get(f"/q/{queue}").text
    assert "<script>" not in page
    assert "alert(1)" in page


def test_to_look_without_scripts_is_a_sign_of_life(access: PageAccess) -> None:
    queue = access.queue()
    me = joined(access, queue)
    number = access.admin.get(f"/queues/{queue}/tickets").json()["tickets"][0]["ticket"]
    token = next(value for name, value in me.cookies.items() if name.startswith("fairline_ticket"))
    httpx.post(f"{access.server.base_url}/api/v1/leave", json={"token": token})
    assert access.admin.get(f"/queues/{queue}/tickets/{number}").json()["leaving"]
    me.get(f"/q/{queue}")
    assert not access.admin.get(f"/queues/{queue}/tickets/{number}").json()["leaving"]


# What an operator makes of it


def test_the_operators_words_replace_the_built_in_ones(access: PageAccess) -> None:
    queue = access.queue(texts={"joining_title": "Hello {n}", "joining_title.de": "Grüezi"})
    assert '<h1 data-show="title">Hello {n}</h1>' in access.someone().get(f"/q/{queue}").text
    assert "Grüezi" in access.someone().get(f"/q/{queue}?lang=de").text


def test_an_own_template_draws_the_page_and_may_build_on_ours(access: PageAccess) -> None:
    someone = access.someone()
    whole = access.queue(page_template="<p>{{ page.state }} {{ t('join') }} {{ page.name }}</p>", name="<b>")
    drawn = "<p>joining Join the line &lt;b&gt;</p>"
    # A busy machine may be late to start what draws it; people are shown the built-in page until then.
    wait_until(lambda: someone.get(f"/q/{whole}").text == drawn, "the own template is drawn")
    part = access.queue(page_template="{% extends 'page.html' %}{% block brand %}Ours{% endblock %}")
    wait_until(lambda: "Ours" in someone.get(f"/q/{part}").text, "the block is replaced")
    assert "/static/waiting.js" in someone.get(f"/q/{part}").text


BROKEN = (
    "{{ nothing.there }}",
    "{% extends 'docs.html' %}",
    "{% include '../docs.html' %}",
    "{{ page.__class__.__mro__ }}",
    "{{ page._opens_at }}",
    "{{ ''.__class__.__base__.__subclasses__() }}",
    "{{ t.words.__globals__ }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{{ 'x' * 999999 }}",
    "{{ 1 / 0 }}",
)


def test_a_broken_template_is_refused_with_the_reason(access: PageAccess) -> None:
    for template in ("{{", *BROKEN):
        answer = access.admin.post("/queues", json={"id": "broken", "page_template": template})
        assert (answer.status_code, answer.json()["field"]) == (422, "page_template"), template
        assert "(tried in the state 'joining')" in answer.json()["detail"], template


def test_a_template_that_breaks_later_falls_back_to_the_built_in_page_and_says_so(access: PageAccess) -> None:
    someone = access.someone()
    for template in BROKEN:
        queue = access.queue(page_template=f"{{% if page.lang == 'de' %}}{template}{{% endif %}}")

        def broken(queue: str = queue) -> bool:
            page = someone.get(f"/q/{queue}?lang=de")
            assert state(page) == (200, "joining")
            assert "/static/waiting.js" in page.text
            return any(entry["queue"] == queue for entry in access.server.logs("page.template_broken"))

        wait_until(broken, f"{template} is found to be broken")


@pytest.mark.parametrize("background", ["", "#ffffff", "#000000", "#777777", "#ffe4b5", "#1b2a4a"])
@pytest.mark.parametrize("accent", ["#ffff00", "#0b6bcb", "#000000", "#ffffff", "#808080"])
def test_whatever_colours_are_set_everything_can_be_read(accent: str, background: str) -> None:
    css = style(checked({"accent_colour": accent, "background_colour": background}))
    grounds = [background] if background else ["#ffffff", "#10131a"]
    shown = re.findall("--accent:(#[0-9a-f]{6});--on-accent:(#[0-9a-f]{6})", css)
    assert len(shown) == len(grounds)
    for ground, (colour, text) in zip(grounds, shown, strict=True):
        assert contrast(parsed(colour), parsed(ground)) >= min(CONTRAST, 4.5)
        assert contrast(parsed(colour), parsed(text)) >= 4.5
    for name in ("ink", "soft") if background else ():
        (found,) = re.findall(f"--{name}:(#[0-9a-f]{{6}})", css)
        assert contrast(parsed(found), parsed(background)) >= 4.5
    assert style(QueueSettings()) == ""


# Languages


@pytest.mark.parametrize(
    ("header", "query", "expected"),
    [
        ("", "", "en"),
        ("ko-KR,ko;q=0.9,en;q=0.8", "", "ko"),
        ("nl, pt-BR;q=0.5, fr;q=0.4", "", "pt"),
        ("en;q=0.2, DE;q=0.7", "", "de"),
        ("ja;q=0", "", "en"),
        ("tlh, *;q=0.1", "", "en"),
        ("fr;q=x, ar", "", "ar"),
        ("de", "lang=ja", "ja"),
        ("de", "lang=xx", "de"),
    ],
)
def test_the_language_is_the_one_asked_for(header: str, query: str, expected: str) -> None:
    request = Request(Head("GET", "/q/demo", query.encode(), [(b"accept-language", header.encode())]), None)
    assert preferred(request) == expected


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (None, "We’ll show a wait time soon"),
        ((5, 40), "less than a minute"),
        ((20, 100), "about 1–2 minutes"),
        ((550, 880), "about 10–15 minutes"),
        ((55, 61), "about 1–2 minutes"),
        ((170, 180), "about 3 minutes"),
        ((3000, 7000), "about 1–2 hours"),
        ((50_000, 90_000), "more than 12 hours"),
    ],
)
def test_a_wait_is_said_in_plain_words(span: tuple[int, int] | None, words: str) -> None:
    assert Language("en").wait(span) == words


# Files


def test_only_an_address_with_the_right_digest_is_kept_for_ever(access: PageAccess) -> None:
    page = access.someone().get(f"/q/{access.queue()}").text
    (address,) = re.findall(r'"(/static/fairline\.js\?v=\w+)"', page)[:1]
    assert "immutable" in access.someone().get(address).headers["cache-control"]
    for other in ("/static/fairline.js", "/static/fairline.js?v=123"):
        assert access.someone().get(other).headers["cache-control"] == "public, max-age=300"


def test_a_script_imports_another_one_by_an_address_that_is_kept_for_ever(access: PageAccess) -> None:
    page = access.someone().get(f"/q/{access.queue()}").text
    (script,) = re.findall(r'src="(/static/waiting\.js\?v=\w+)"', page)
    (imported,) = re.findall(r'from "\.(/format\.js\?v=\w+)"', access.someone().get(script).text)
    assert f'rel="modulepreload" href="/static{imported}"' in page
    assert "immutable" in access.someone().get(f"/static{imported}").headers["cache-control"]


def test_the_client_is_small(access: PageAccess) -> None:
    packed = access.someone().get("/static/fairline.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.num_bytes_downloaded < 6 * 1024
    plain = access.someone().get("/static/fairline.js", headers={"Accept-Encoding": "identity"})
    assert plain.text == packed.text
