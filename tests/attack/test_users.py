"""Who someone says to be: without proof anybody can say it, with the word of the site nobody else can."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import httpx
import pytest

from fairline.gate import user_token
from tests.attack.conftest import MakeQueue
from tests.web.raw import slow
from tests.web.running import RunningServer

Someone: TypeAlias = Callable[[], httpx.Client]
SITE = "https://shop.test/"


@pytest.fixture
def someone(server: RunningServer) -> Iterator[Someone]:
    """Someone with a browser of their own."""
    with ExitStack() as open_ones:
        yield lambda: open_ones.enter_context(httpx.Client(base_url=server.base_url))


def key_of(operator: httpx.Client, queue: str) -> str:
    answer = operator.get(f"/api/v1/admin/queues/{queue}/user-token-key")
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    told: dict[str, str] = answer.json()
    assert told.keys() == {"key", "algorithm"}
    return told["key"]


def join(client: httpx.Client, queue: str, **said: Any) -> httpx.Response:
    headers = said.pop("headers", None)
    return client.post(f"/api/v1/queues/{queue}/join", json=said, headers=headers)


def told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def named(operator: httpx.Client, queue: str, ticket: int) -> str | None:
    found: dict[str, str | None] = operator.get(f"/api/v1/admin/queues/{queue}/tickets/{ticket}").json()
    return found["user_id"]


def jwt(key: str, claims: Any, head: Any = None) -> str:
    parts = [json.dumps(part).encode() for part in (head or {"alg": "HS256", "typ": "JWT"}, claims)]
    begin = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    signature = hmac.digest(key.encode(), begin.encode(), "sha256")
    return f"{begin}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_a_stranger_cannot_join_as_someone_whom_the_site_has_to_name(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(one_per="user", require_user_token=True, admission="manual", join_limit_per_ip=0)
    key = key_of(operator, queue)
    stranger, ada = someone(), someone()
    for said in ({"user_id": "ada"}, {}, {"user_id": "ada", "client_id": "a secret of Eve"}):
        answer = join(stranger, queue, **said)
        assert told(answer) == (403, "user_token_missing"), said
        assert "set-cookie" not in answer.headers
    assert told(join(stranger, queue, user_token=user_token("ada", "a guess" * 8))) == (403, "user_token_invalid")
    answer = join(ada, queue, user_token=user_token("ada", key))
    assert answer.status_code == 201
    assert named(operator, queue, answer.json()["ticket"]) == "ada"
    back = join(ada, queue, user_token=user_token("ada", key))
    assert (back.status_code, back.json()["ticket"]) == (200, answer.json()["ticket"])
    again = join(someone(), queue, user_token=user_token("ada", key))
    assert told(again) == (409, "already_in_line")
    assert join(someone(), queue, user_token=user_token("ben", key)).status_code == 201
    assert operator.get(f"/api/v1/admin/queues/{queue}/stats").json()["joined_total"] == 2


def test_no_way_in_is_without_the_word_of_the_site(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(require_user_token=True, passthrough=True, target_url=SITE, join_limit_per_ip=0)
    browser = someone()
    own = {"origin": server.base_url}
    for path in (f"/q/{queue}", f"/join/{queue}"):
        for answer in (browser.get(path), browser.post(path, data={"do": "join", "user_id": "ada"}, headers=own)):
            assert (answer.status_code, answer.headers["x-fairline-state"]) == (403, "unnamed"), answer.request
            assert "fairline_ticket" not in answer.headers.get("set-cookie", "")
    for path in (f"/api/v1/queues/{queue}/join", slow(f"/api/v1/queues/{queue}/join")):
        assert told(browser.post(path, json={})) == (403, "user_token_missing")
        assert told(browser.post(path, json={}, headers={"idempotency-key": "1"})) == (403, "user_token_missing")
    gate = browser.get("/api/v1/session/verify", params={"queue": queue}, headers={"x-original-uri": "/"})
    assert gate.status_code == 401
    assert operator.get(f"/api/v1/admin/queues/{queue}/stats").json()["joined_total"] == 0
    by_staff = operator.post(f"/api/v1/admin/queues/{queue}/join", json={"user_id": "carl"})
    assert by_staff.status_code == 201
    bad = operator.post(f"/api/v1/admin/queues/{queue}/join", json={"user_token": "x.y.z"})
    assert told(bad) == (403, "user_token_invalid")


def test_a_link_of_the_site_says_who_someone_is_on_every_page(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(
        require_user_token=True, one_per="user", admission="manual", join_limit_per_ip=0, target_url=SITE
    )
    form = make_queue(require_user_token=True, one_per="user", admission="manual", join_limit_per_ip=0)
    own = {"origin": server.base_url}
    ways = [
        (queue, f"/q/{queue}", f"/api/v1/queues/{queue}/join", {}),
        (queue, f"/q/{queue}", f"/q/{queue}", {"do": "join"}),
        (form, f"/join/{form}", f"/join/{form}", {"name": "Ada"}),
    ]
    for n, (at, page, to, fields) in enumerate(ways):
        who, token = someone(), user_token(f"ada {n}", key_of(operator, at))
        answer = who.get(page, params={"lang": "de", "user_token": token, "return": "/a?b=c&d=é"})
        assert (answer.status_code, answer.headers["cache-control"]) == (303, "no-store")
        assert answer.headers["location"] == f"{page}?lang=de&return=%2Fa%3Fb%3Dc%26d%3D%C3%A9"
        (cookie,) = answer.headers.get_list("set-cookie")
        assert cookie.startswith(f"fairline_user_{at}={token}; Max-Age=")
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
        assert int(cookie.partition("Max-Age=")[2].partition(";")[0]) <= 300
        shown = who.get(answer.headers["location"])
        assert shown.status_code == 200
        assert token not in shown.text
        assert who.post(to, data=fields, headers=own).status_code in (201, 303)
        newest = operator.get(f"/api/v1/admin/queues/{at}/tickets").json()["tickets"][-1]
        assert newest["user_id"] == f"ada {n}", page


def test_who_has_a_place_comes_back_to_it_without_the_word_of_the_site(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(require_user_token=True, admission="manual", join_limit_per_ip=0, target_url=SITE)
    ada = someone()
    first = join(ada, queue, user_token=user_token("ada", key_of(operator, queue)))
    again = join(ada, queue)
    assert [first.status_code, again.status_code] == [201, 200]
    assert first.json()["ticket"] == again.json()["ticket"]
    assert ada.get(f"/q/{queue}").headers["x-fairline-state"] == "waiting"


def test_a_link_with_a_bad_token_leaves_nothing_and_leads_nowhere_else(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue, other = make_queue(require_user_token=True), make_queue()
    key = key_of(operator, queue)
    for token in ("", "x", user_token("ada", key_of(operator, other)), user_token("ada", key, seconds=-1)):
        who = someone()
        answer = who.get(f"/q/{queue}", params={"user_token": token})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
        assert "set-cookie" not in answer.headers
        assert who.get(f"/q/{queue}").status_code == 403
    answer = someone().get(f"/q/{queue}?a=%0d%0aset-cookie:x=1&user%5Ftoken=x&b=//evil.test")
    assert answer.headers["location"] == f"/q/{queue}?a=%0d%0aset-cookie:x=1&b=//evil.test"
    assert "set-cookie" not in answer.headers


def test_a_foreign_page_cannot_use_the_word_that_a_site_has_left(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(require_user_token=True, join_limit_per_ip=0)
    who = someone()
    who.get(f"/q/{queue}", params={"user_token": user_token("ada", key_of(operator, queue))})
    assert f"fairline_user_{queue}" in who.cookies
    for headers in ({"origin": "http://elsewhere.test"}, {"sec-fetch-site": "cross-site"}):
        answer = who.post(
            f"/api/v1/queues/{queue}/join", content="{}", headers={"content-type": "text/plain", **headers}
        )
        assert told(answer) == (403, "user_token_missing")
        assert who.post(f"/q/{queue}", data={"do": "join"}, headers=headers).status_code == 303
    assert operator.get(f"/api/v1/admin/queues/{queue}/stats").json()["joined_total"] == 0


def test_a_token_is_believed_only_as_the_site_of_this_queue_signs_it(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    for required in (True, False):
        queue, other = make_queue(require_user_token=required, join_limit_per_ip=0), make_queue()
        key, now = key_of(operator, queue), time.time()
        good = {"sub": "ada", "exp": int(now) + 300}
        begin, body, signature = jwt(key, good).split(".")
        strange = {
            "another queue's key": jwt(key_of(operator, other), good),
            "no signature": f"{begin}.{body}.",
            "another body": f"{begin}.{jwt(key, {**good, 'sub': 'eve'}).split('.')[1]}.{signature}",
            "padded": f"{begin}.{body}.{signature}=",
            "none": jwt(key, good, {"alg": "none"}),
            "another algorithm": jwt(key, good, {"alg": "HS512", "typ": "JWT"}),
            "critical": jwt(key, good, {"alg": "HS256", "crit": ["b64"], "b64": False}),
            "another kind": jwt(key, good, {"alg": "HS256", "typ": "fairline-ticket"}),
            "no end": jwt(key, {"sub": "ada"}),
            "an end in words": jwt(key, {**good, "exp": "tomorrow"}),
            "a year": jwt(key, {**good, "exp": now + 31_536_000}),
            "not yet": jwt(key, {**good, "nbf": now + 600}),
            "nobody": jwt(key, {"exp": good["exp"]}),
            "no name": jwt(key, {**good, "sub": ""}),
            "a long name": jwt(key, {**good, "sub": "a" * 201}),
            "a number": jwt(key, {**good, "sub": 7}),
            "no text": jwt(key, {**good, "sub": "a\0b"}),
            "another audience": jwt(key, {**good, "aud": other}),
            "a list": jwt(key, [good]),
            "not text": "\N{SNOWMAN}.é.x",
        }
        for what, token in strange.items():
            assert told(join(someone(), queue, user_token=token)) == (403, "user_token_invalid"), (what, required)
        over = jwt(key, {**good, "exp": now - 1})
        assert told(join(someone(), queue, user_token=over)) == (403, "user_token_expired")
        assert told(join(someone(), queue, user_token="x" * 2049)) == (422, "invalid_request")
        for claims in (good, {**good, "exp": now + 3600.5, "nbf": now, "aud": [queue], "more": {"a": 1}}):
            answer = join(someone(), queue, user_token=jwt(key, claims), user_id="ada")
            assert answer.status_code == 201, answer.text
            assert named(operator, queue, answer.json()["ticket"]) == "ada"
        another = join(someone(), queue, user_token=jwt(key, good), user_id="eve")
        assert told(another) == (403, "user_token_invalid")


def test_where_none_is_required_a_user_id_is_what_a_caller_says_and_a_stale_cookie_does_no_harm(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(join_limit_per_ip=0)
    assert join(someone(), queue, user_id="ada").status_code == 201
    who = someone()
    who.cookies.set(f"fairline_user_{queue}", user_token("ben", key_of(operator, queue), seconds=-1))
    answer = join(who, queue, user_id="carl")
    assert answer.status_code == 201
    assert named(operator, queue, answer.json()["ticket"]) == "carl"


def test_the_same_call_again_with_a_newer_token_is_the_same_join(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(require_user_token=True, one_per="none", join_limit_per_ip=0)
    key = key_of(operator, queue)
    sent = {"client_id": "a secret of Ada", "headers": {"idempotency-key": "b7f0"}}
    first, again = (join(someone(), queue, user_token=user_token("ada", key, seconds=n), **sent) for n in (60, 120))
    assert [first.status_code, again.status_code] == [201, 200]
    other = join(someone(), queue, user_token=user_token("ben", key), **sent)
    assert told(other) == (409, "idempotency_conflict")


def test_the_key_of_a_queue_is_for_admins_alone_and_asking_for_it_is_recorded(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue()
    key = key_of(operator, queue)
    assert key == key_of(operator, queue)
    assert key != key_of(operator, make_queue())
    assert len(key) == 64
    entries = operator.get("/api/v1/admin/audit").json()["entries"]
    assert "queue.user_token_key" in {entry["action"] for entry in entries if entry["queue"] == queue}
    path = f"/api/v1/admin/queues/{queue}/user-token-key"
    for role in ("viewer", "operator"):
        made = operator.post("/api/v1/admin/keys", json={"role": role}).json()["key"]
        answer = httpx.get(f"{server.base_url}{path}", headers={"authorization": f"Bearer {made}"})
        assert told(answer) == (403, "forbidden"), role
    assert httpx.get(f"{server.base_url}{path}").status_code == 401
    assert told(operator.get("/api/v1/admin/queues/nowhere/user-token-key")) == (404, "queue_not_found")
    assert key not in "".join(server.lines())
    assert key not in operator.get(f"/api/v1/admin/queues/{queue}").text


def test_keys_are_rotated_without_a_moment_at_which_a_good_token_is_refused(
    operator: httpx.Client, make_queue: MakeQueue, someone: Someone
) -> None:
    queue = make_queue(require_user_token=True, join_limit_per_ip=0)
    before = key_of(operator, queue)
    operator.post("/api/v1/admin/keys/rotate", json={}).raise_for_status()
    deadline = time.monotonic() + 30
    while key_of(operator, queue) == before:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    for key in (before, key_of(operator, queue)):
        assert join(someone(), queue, user_token=user_token("ada", key)).status_code == 201
