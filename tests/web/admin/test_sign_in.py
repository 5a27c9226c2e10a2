"""Signing in to the dashboard: the cookie, what it opens, and what another site can do with it, which is nothing."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fairline.store import Role
from fairline.web.admin.access import TRIES
from fairline.web.pages.languages import catalogue
from tests.web.admin.desk import ADMIN
from tests.web.running import RunningServer

OWN = {"x-fairline-admin": "1"}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server behind a proxy that says where calls come from, so that each test has an address of its own."""
    running = RunningServer(tmp_path_factory.mktemp("house"), environ={"FAIRLINE_TRUSTED_PROXIES": "127.0.0.1"})
    yield running
    running.stop()


@pytest.fixture(scope="module")
def keys(house: RunningServer) -> dict[Role, str]:
    made = {}
    for role in Role:
        answer = httpx.post(
            f"{house.base_url}{ADMIN}/keys",
            headers={"authorization": f"Bearer {house.admin_key}"},
            json={"role": role, "name": f"a {role}"},
        )
        made[role] = answer.json()["key"]
    return made


class Browser:
    """Someone at an address of their own, with cookies."""

    def __init__(self, house: RunningServer, **headers: str) -> None:
        address = f"10.{secrets.randbelow(256)}.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
        self.http = httpx.Client(base_url=house.base_url, headers={"x-forwarded-for": address, **headers}, timeout=20)

    def sign_in(self, key: str, **more: Any) -> httpx.Response:
        return self.http.post("/admin/sign-in", data={"key": key, "next": "/admin/queues/demo"}, **more)

    def patch(self, **headers: str) -> httpx.Response:
        return self.http.patch(f"{ADMIN}/queues/demo", json={"message": secrets.token_hex(4)}, headers=headers)


@pytest.fixture
def someone(house: RunningServer) -> Iterator[Browser]:
    browser = Browser(house)
    yield browser
    browser.http.close()


def test_a_key_is_taken_for_a_cookie_that_no_script_and_no_other_site_has(
    someone: Browser, keys: dict[Role, str]
) -> None:
    answer = someone.sign_in(keys[Role.OPERATOR])
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/queues/demo")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("fairline_admin=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert keys[Role.OPERATOR] not in cookie
    assert someone.http.get(f"{ADMIN}/session").json()["role"] == "operator"
    page = someone.http.get("/admin/queues/demo")
    assert page.status_code == 200
    assert 'id="key"' not in page.text
    assert page.headers["cache-control"] == "no-store"


def test_over_https_the_cookie_never_goes_over_http(someone: Browser, keys: dict[Role, str]) -> None:
    answer = someone.sign_in(keys[Role.VIEWER], headers={"x-forwarded-proto": "https"})
    assert "; Secure" in answer.headers["set-cookie"]


def test_who_is_not_signed_in_is_shown_the_form_and_nothing_else(someone: Browser) -> None:
    for path in ("/admin", "/admin/queues/demo", "/admin/queues/nothing", "/admin/keys", "/admin/audit"):
        page = someone.http.get(path)
        assert page.status_code == 200
        assert 'action="/admin/sign-in"' in page.text
        assert f'value="{path}"' in page.text
    assert someone.http.get(f"{ADMIN}/queues").json()["code"] == "key_missing"


def test_after_signing_in_one_only_ever_goes_to_the_dashboard(someone: Browser, keys: dict[Role, str]) -> None:
    for wanted in ("https://evil.example/admin", "//evil.example", "/admin/../q/demo\\x", "/adminx", "/admin/sign-out"):
        answer = someone.http.post("/admin/sign-in", data={"key": keys[Role.VIEWER], "next": wanted})
        location = answer.headers["location"]
        assert location == "/admin" or (location.startswith("/admin/") and "\\" not in location), wanted


def test_the_pages_speak_the_language_that_was_chosen_or_that_of_the_browser(
    someone: Browser, keys: dict[Role, str]
) -> None:
    korean = {"accept-language": "ko-KR,ko;q=0.9,en;q=0.1"}
    assert '<html lang="ko" dir="ltr">' in someone.http.get("/admin", headers=korean).text
    chosen = someone.http.post("/admin/language", data={"lang": "ar", "next": "/admin/audit?page=2"}, headers=korean)
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/admin/audit?page=2")
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(chosen.headers["set-cookie"].split("; "))
    page = someone.http.get("/admin", headers=korean)
    assert '<html lang="ar" dir="rtl">' in page.text
    assert str(catalogue("ar", "staff")["admin_key"]) in page.text
    assert str(catalogue("ar", "staff")["key_invalid"]) in someone.sign_in("fl_wrong", headers=korean).text
    someone.sign_in(keys[Role.VIEWER])
    page = someone.http.get("/admin/queues/demo")
    words = json.loads(page.text.partition('id="fairline">')[2].partition("</script>")[0])
    assert (words["lang"], words["words"]["try_again_now"]) == ("ar", catalogue("ar", "staff")["try_again_now"])
    for nothing in ({"lang": "xx"}, {"next": "//evil.example"}, {"lang": "ar", "next": "https://evil.example/admin"}):
        answer = someone.http.post("/admin/language", data=nothing)
        assert answer.headers["location"] == "/admin"
        assert ("set-cookie" in answer.headers) is ("ar" in nothing.values())
    foreign = someone.http.post("/admin/language", data={"lang": "fr"}, headers={"origin": "https://evil.example"})
    assert "set-cookie" not in foreign.headers


def test_the_pages_run_nothing_but_our_scripts(someone: Browser, keys: dict[Role, str]) -> None:
    someone.sign_in(keys[Role.ADMIN])
    for path in ("/admin", "/admin/queues/demo", "/admin/keys", "/admin/webhooks", "/admin/audit"):
        page = someone.http.get(path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert " style=" not in page.text
        assert " onclick=" not in page.text


def test_with_the_cookie_changes_come_from_the_dashboard_or_not_at_all(
    someone: Browser, keys: dict[Role, str], house: RunningServer
) -> None:
    someone.sign_in(keys[Role.OPERATOR])
    host = house.base_url.removeprefix("http://")
    assert someone.patch(**OWN).status_code == 200
    assert someone.patch(**OWN, origin=house.base_url).status_code == 200
    assert someone.patch(**OWN, **{"sec-fetch-site": "same-origin"}, origin=house.base_url).status_code == 200
    attempts: list[dict[str, str]] = [
        {},
        {"x-fairline-admin": "0"},
        {"origin": house.base_url},
        {**OWN, "sec-fetch-site": "cross-site"},
        {**OWN, "sec-fetch-site": "same-site"},
        {**OWN, "origin": "https://evil.example"},
        {**OWN, "origin": f"https://{host}.evil.example"},
        {**OWN, "origin": "null"},
        {**OWN, "origin": "http://[foo"},
    ]
    for headers in attempts:
        answer = someone.patch(**headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site"), headers
    form = someone.http.post(
        f"{ADMIN}/queues/demo/message",
        content=b'{"text":"hello"}',
        headers={"content-type": "text/plain", "sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    )
    assert form.status_code == 403
    read = someone.http.get(f"{ADMIN}/queues", headers={"sec-fetch-site": "cross-site"})
    assert read.json()["code"] == "cross_site"
    # A program with a key of its own needs none of it.
    program = httpx.patch(
        f"{house.base_url}{ADMIN}/queues/demo",
        json={"message": ""},
        headers={"authorization": f"Bearer {keys[Role.OPERATOR]}", "origin": "https://evil.example"},
    )
    assert program.status_code == 200


def test_another_site_can_sign_nobody_in_or_out(someone: Browser, keys: dict[Role, str]) -> None:
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        answer = someone.sign_in(keys[Role.VIEWER], headers=headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    someone.sign_in(keys[Role.VIEWER])
    someone.http.post("/admin/sign-out", headers={"origin": "https://evil.example"})
    assert someone.http.get(f"{ADMIN}/session").status_code == 200


def test_signed_out_is_signed_out(someone: Browser, keys: dict[Role, str]) -> None:
    someone.sign_in(keys[Role.VIEWER])
    assert someone.http.post("/admin/sign-out").status_code == 303
    assert someone.http.get(f"{ADMIN}/session").json()["code"] == "key_missing"


def test_a_cookie_that_was_signed_out_is_good_no_more_wherever_it_was_copied_to(
    house: RunningServer, someone: Browser, keys: dict[Role, str]
) -> None:
    someone.sign_in(keys[Role.OPERATOR])
    copied = {"fairline_admin": someone.http.cookies["fairline_admin"]}
    other = Browser(house)
    other.sign_in(keys[Role.OPERATOR])
    with (
        httpx.Client(base_url=house.base_url, cookies=copied, headers=OWN) as thief,
        thief.stream("GET", f"{ADMIN}/live", headers={"accept": "text/event-stream"}) as stream,
    ):
        assert thief.get(f"{ADMIN}/session").status_code == 200
        assert someone.http.post("/admin/sign-out").status_code == 303
        for _ in range(4):  # whichever worker takes it
            answer = thief.get(f"{ADMIN}/session", headers={"connection": "close"})
            assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")
            assert 'action="/admin/sign-in"' in thief.get("/admin", headers={"connection": "close"}).text
        for _ in stream.iter_raw():  # what was open ends with the session
            pass
    assert other.http.get(f"{ADMIN}/session").status_code == 200, "their other browser was not signed out"
    other.http.close()


def test_a_cookie_is_worth_no_more_than_its_key(house: RunningServer, someone: Browser) -> None:
    root = {"authorization": f"Bearer {house.admin_key}"}
    made = httpx.post(f"{house.base_url}{ADMIN}/keys", headers=root, json={"role": "operator"}).json()
    someone.sign_in(made["key"])
    assert someone.http.get(f"{ADMIN}/keys").json()["code"] == "forbidden"
    assert someone.http.get(f"{ADMIN}/session").status_code == 200
    httpx.delete(f"{house.base_url}{ADMIN}/keys/{made['id']}", headers=root)
    assert someone.http.get(f"{ADMIN}/session").json()["code"] == "signed_out"
    assert "You were signed out" in someone.http.get("/admin").text


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "fl_wrong"])
def test_a_cookie_that_we_did_not_sign_opens_nothing(house: RunningServer, token: str) -> None:
    answer = httpx.get(f"{house.base_url}{ADMIN}/session", headers={"cookie": f"fairline_admin={token}"})
    assert answer.json()["code"] == ("signed_out" if token else "key_missing")


def test_a_token_of_another_kind_is_no_session(house: RunningServer) -> None:
    joined = httpx.post(f"{house.base_url}/api/v1/queues/demo/join").json()
    answer = httpx.get(f"{house.base_url}{ADMIN}/session", headers={"cookie": f"fairline_admin={joined['token']}"})
    assert answer.json()["code"] == "signed_out"


def test_wrong_keys_are_slowed_down_whichever_worker_takes_them(
    house: RunningServer, someone: Browser, keys: dict[Role, str]
) -> None:
    for _ in range(TRIES):
        answer = someone.sign_in("fl_guess", headers={"connection": "close"})  # any worker may take the next one
        assert answer.status_code == 401
        assert "This key is not valid." in answer.text
    for key in ("fl_guess", keys[Role.ADMIN]):
        limited = someone.sign_in(key)
        assert limited.status_code == 429
        assert 0 < int(limited.headers["retry-after"]) <= 60
        assert "Too many tries" in limited.text
        assert "set-cookie" not in limited.headers
    elsewhere = Browser(house)
    assert elsewhere.sign_in(keys[Role.VIEWER]).status_code == 303
    elsewhere.http.close()


def test_a_network_of_ipv6_has_the_tries_of_one_address(house: RunningServer, someone: Browser) -> None:
    network = f"2001:db8:{secrets.randbelow(65536):x}:{secrets.randbelow(65536):x}"
    tries = [someone.sign_in("fl_guess", headers={"x-forwarded-for": f"{network}::{n:x}"}) for n in range(1, TRIES + 3)]
    assert [answer.status_code for answer in tries] == [401] * TRIES + [429] * 2


def test_a_form_without_a_key_is_told_to_have_one(someone: Browser) -> None:
    answer = someone.sign_in("  ")
    assert answer.status_code == 401
    assert "Enter an admin key." in answer.text
