"""People who wait, over HTTP, as the contract says it: who is known again, and what is said of a place that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from fairline.domain.tokens import Keyring
from fairline.keeper.keeper import Keeper
from fairline.service.fairline import Fairline
from fairline.settings import ServerRole, ServerSettings
from fairline.store import Store
from fairline.web.api.public import Public
from fairline.web.context import Context
from fairline.web.description.examples import BODIES
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.backends import FakeClock
from tests.web.running import RunningServer


@pytest.fixture
def operator(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{server.base_url}/api/v1/admin", headers={"authorization": f"Bearer {server.admin_key}"}
    ) as client:
        yield client


def make(operator: httpx.Client, name: str, **settings: object) -> str:
    answer = operator.post("/queues", json={"id": name, "admission": "manual", "join_limit_per_ip": 0, **settings})
    assert answer.status_code == 201, answer.text
    return f"/api/v1/queues/{name}/join"


def test_a_browser_that_joins_again_keeps_its_place(server: RunningServer, operator: httpx.Client) -> None:
    join = make(operator, "browser-again")
    with httpx.Client(base_url=server.base_url) as browser, httpx.Client(base_url=server.base_url) as other:
        first, again, stranger = browser.post(join), browser.post(join), other.post(join)
    assert [answer.status_code for answer in (first, again, stranger)] == [201, 200, 201]
    assert first.json()["ticket"] == again.json()["ticket"] != stranger.json()["ticket"]
    visitor = next(cookie for cookie in first.headers.get_list("set-cookie") if "fairline_visitor" in cookie)
    assert "HttpOnly" in visitor
    assert "SameSite=Lax" in visitor


def test_where_everyone_may_join_often_the_cookie_holds_nobody_back(
    server: RunningServer, operator: httpx.Client
) -> None:
    join = make(operator, "browser-often", one_per="none")
    with httpx.Client(base_url=server.base_url) as browser:
        assert [browser.post(join).status_code for _ in range(3)] == [201, 201, 201]


def test_a_named_client_goes_before_the_cookie(server: RunningServer, operator: httpx.Client) -> None:
    join = make(operator, "named-client")
    with httpx.Client(base_url=server.base_url) as browser:
        answers = [browser.post(join, json={"client_id": name}) for name in ("ada", "grace", "ada")]
        tickets = [answer.json()["ticket"] for answer in answers]
        assert "fairline_visitor" not in browser.cookies
    assert tickets[0] == tickets[2] != tickets[1]


def test_text_is_the_same_however_json_writes_it(server: RunningServer, operator: httpx.Client) -> None:
    join = server.base_url + make(operator, "escaped")
    first = httpx.post(join, content='{"client_id":"Zoë"}')
    again = httpx.post(join, content=r'{"client_id":"Zo\u00eb"}')
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["ticket"] == first.json()["ticket"]


@pytest.mark.parametrize("field", ["client_id", "user_id", "name", "idempotency_key"])
def test_text_that_no_store_can_keep_is_refused_and_its_field_named(
    server: RunningServer, operator: httpx.Client, field: str
) -> None:
    join = make(operator, f"nul-{field.replace('_', '-')}")
    answer = httpx.post(server.base_url + join, content=f'{{"{field}":"a\\u0000b"}}')
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert field in answer.json()["detail"]
    assert operator.get(f"/queues/{join.split('/')[4]}/stats").json()["joined_total"] == 0


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/v1/status"), ("POST", "/api/v1/heartbeat"), ("GET", "/api/v1/stream")]
)
def test_the_place_is_gone_with_its_queue(
    server: RunningServer, operator: httpx.Client, method: str, path: str
) -> None:
    name = f"deleted-{path[-4:]}"
    token = httpx.post(server.base_url + make(operator, name)).json()["token"]
    assert operator.delete(f"/queues/{name}").status_code == 204
    answer = httpx.request(method, server.base_url + path, headers={"authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["code"]) == (410, "ticket_expired")
    left = httpx.post(f"{server.base_url}/api/v1/leave", json={"token": token, "final": True})
    assert left.status_code == 204


def test_a_token_in_the_address_goes_before_a_cookie(server: RunningServer, operator: httpx.Client) -> None:
    join = make(operator, "address-first")
    with httpx.Client(base_url=server.base_url) as browser:
        mine = browser.post(join).json()
        other = httpx.post(server.base_url + join).json()
        assert other["ticket"] != mine["ticket"]
        assert browser.get("/api/v1/status").json()["ticket"] == mine["ticket"]
        asked = browser.get("/api/v1/status", params={"token": other["token"]})
        assert asked.json()["ticket"] == other["ticket"]


@pytest.mark.parametrize("call", ["start", "activity", "complete", "leave"])
def test_what_is_said_of_a_session_is_nothing_yet(server: RunningServer, operator: httpx.Client, call: str) -> None:
    token = httpx.post(server.base_url + make(operator, f"nothing-{call}")).json()["token"]
    operator.post(f"/queues/nothing-{call}/call-next")
    status = httpx.get(f"{server.base_url}/api/v1/status", headers={"authorization": f"Bearer {token}"}).json()
    headers = {"authorization": f"Bearer {status['session_token']}"}
    for body in (b'{"unknown":1}', b"no json"):
        answer = httpx.post(f"{server.base_url}/api/v1/session/{call}", content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert operator.get(f"/queues/nothing-{call}/tickets/1").json()["status"] == "admitted"


@pytest.mark.parametrize("call", ["start", "activity", "complete", "leave"])
def test_a_session_is_gone_with_its_queue(server: RunningServer, operator: httpx.Client, call: str) -> None:
    token = httpx.post(server.base_url + make(operator, f"over-{call}")).json()["token"]
    operator.post(f"/queues/over-{call}/call-next")
    status = httpx.get(f"{server.base_url}/api/v1/status", headers={"authorization": f"Bearer {token}"}).json()
    assert operator.delete(f"/queues/over-{call}").status_code == 204
    headers = {"authorization": f"Bearer {status['session_token']}"}
    answers = [httpx.post(f"{server.base_url}/api/v1/session/{call}", headers=headers)]
    make(operator, f"over-{call}")  # and whose ticket is not kept any more
    answers.append(httpx.post(f"{server.base_url}/api/v1/session/{call}", headers=headers))
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(410, "ticket_expired")] * 2


def test_ready_means_that_the_queues_are_kept(server: RunningServer) -> None:
    checks = httpx.get(f"{server.base_url}/readyz").json()["checks"]
    assert checks == {"store": "ok", "keeper": "ok"}


async def test_a_machine_without_a_keeper_is_ready_only_while_one_goes_round_elsewhere(
    store: Store, clock: FakeClock
) -> None:
    clock.advance(3_000_000_000)  # long after any keeper of other tests on this store
    context = Context(ServerSettings(role=ServerRole.WEB), Fairline(store, Keyring(b"a secret of these tests")))
    public = Public(context, keeper=None)
    request = Request(Head("GET", "/readyz"), None)
    alone = await public.readyz(request)
    assert (alone.status, b"has not run recently" in alone.body) == (503, True)
    await Keeper(store).sweep()
    assert (await public.readyz(request)).status == 200


def test_every_answer_says_until_when_the_place_is_held(server: RunningServer, operator: httpx.Client) -> None:
    join = make(operator, "held", heartbeat_timeout_seconds=60, grace_seconds=30)
    with httpx.Client(base_url=server.base_url) as browser:
        joined = browser.post(join).json()
        since = datetime.fromisoformat(joined["joined_at"])
        assert datetime.fromisoformat(joined["held_until"]) == since + timedelta(seconds=90)
        beaten = datetime.fromisoformat(browser.post("/api/v1/heartbeat?queue=held").json()["held_until"])
        assert beaten > since + timedelta(seconds=90)
        assert browser.post("/api/v1/leave?queue=held", json={"closed": True, "final": True}).status_code == 422
        assert browser.post("/api/v1/leave?queue=held", json={"closed": True}).status_code == 204
        status = browser.get("/api/v1/status?queue=held").json()
        assert datetime.fromisoformat(status["held_until"]) >= since + timedelta(seconds=300)
    join = make(operator, "held-for-ever", heartbeat_timeout_seconds=0)
    assert "held_until" not in httpx.post(f"{server.base_url}{join}").json()


def test_a_browser_asks_to_be_told_only_at_a_public_address_over_https(
    server: RunningServer, operator: httpx.Client
) -> None:
    join = make(operator, "told")
    good = BODIES["PushRequest"]
    wrong: dict[str, dict[str, Any]] = {
        "endpoint": {**good, "endpoint": "http://push.example/1"},
        "a private address": {**good, "endpoint": "https://127.0.0.1/1"},
        "keys": {**good, "p256dh": "A" * 87},
        "both": {**good, "minutes": 5},
        "neither": {**good, "place": None},
    }
    with httpx.Client(base_url=server.base_url) as browser:
        assert browser.post("/api/v1/push?queue=told", json=good).status_code == 401
        browser.post(join)
        for what, body in wrong.items():
            assert browser.post("/api/v1/push?queue=told", json=body).status_code == 422, what
        assert browser.post("/api/v1/push?queue=told", json=good).status_code == 204


def test_nobody_is_promised_a_mail_by_a_server_that_sends_none(server: RunningServer, operator: httpx.Client) -> None:
    join = make(operator, "mailed")
    with httpx.Client(base_url=server.base_url) as browser:
        assert browser.post("/api/v1/mail?queue=mailed", json=BODIES["MailRequest"]).status_code == 401
        assert 'name="email"' not in browser.get("/q/mailed").text
        browser.post(join)
        refused = browser.post("/api/v1/mail?queue=mailed", json=BODIES["MailRequest"])
    assert (refused.status_code, refused.json()["field"]) == (422, "email")
    assert "smtp_url" in refused.json()["detail"]
