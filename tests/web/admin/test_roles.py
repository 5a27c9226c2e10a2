"""Who may make which call, what is missing, and what is recorded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from fairline.settings import ServerSettings
from fairline.store import Role
from fairline.web.admin import admin_operations
from fairline.web.context import Context
from fairline.web.pages.drawing import Drawing
from fairline.web.server.assets import Assets
from tests.web.admin.desk import (
    ADMIN,
    CALLS,
    Join,
    at,
    client,
)
from tests.web.running import RunningServer


def test_the_table_of_calls_is_this_one_and_each_has_its_role() -> None:
    service = SimpleNamespace(store=SimpleNamespace(registry=None), keyring=SimpleNamespace(digest_key=b""))
    context = Context(ServerSettings(), cast(Any, service))
    rows = admin_operations(context, Drawing(Assets(), context.renderer))
    assert {f"{row.method} {row.path.removeprefix(ADMIN)}": row.role for row in rows} == CALLS


@pytest.mark.parametrize("call", CALLS)
def test_no_call_answers_without_a_key(server: RunningServer, call: str) -> None:
    method, path = at(call)
    for key, code in ((None, "key_missing"), ("fl_wrong-wrong-wrong", "key_invalid")):
        with client(server, key) as nobody:
            answer = nobody.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (401, code)
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("call", CALLS)
def test_a_call_answers_to_its_role_and_above_only(server: RunningServer, keys: dict[Role, str], call: str) -> None:
    method, path = at(call)
    order = list(Role)
    for role in Role:
        with client(server, keys[role]) as someone:
            # A body that fits no call: one that is let through changes nothing.
            answer = someone.request(method, path, content=b"[]" if method in ("POST", "PATCH") else b"")
        if order.index(role) < order.index(CALLS[call]):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
            assert CALLS[call] in answer.json()["detail"]
        else:
            assert answer.status_code in (200, 404, 422), answer.text


def test_the_public_has_no_use_for_a_ticket_token_here(server: RunningServer, queue: str, join: Join) -> None:
    with client(server, join(queue)["token"]) as someone:
        assert someone.get("/queues").json()["code"] == "key_invalid"


def test_what_is_not_there_is_said_to_be_missing(admin: httpx.Client, queue: str) -> None:
    for call in CALLS:
        method, path = at(call)
        if "{queue}" in call:
            body = {"join": {}, "revoke": {"ticket": 1, "reason": "x"}, "stock": {"total": 1}, "message": {"text": ""}}
            body |= {"prioritise": {"level": 1}, "passes": {"level": 1}, "transfer": {"queue": "demo"}}
            body |= {"desks": {"name": "Desk 1", "open": True}, "openings": {"starts_at": "2050-01-01T10:00:00Z"}}
            content = body.get(path.rpartition("/")[2], {}) if method in ("POST", "PATCH") else None
            for name in ("nobody-made-this", "not.a%20name", "%2e%2e", "x" * 80):
                answer = admin.request(method, at(call, name)[1], json=content)
                assert (answer.status_code, answer.json()["code"]) == (404, "queue_not_found"), (call, name)
        if "{version}" in call:
            answer = admin.request(method, at(call, queue)[1])
            assert (answer.status_code, answer.json()["code"]) == (404, "revision_not_found"), call
        if "{ticket}" in call:
            content = {"prioritise": {"level": 1}, "transfer": {"queue": "demo"}}.get(call.rpartition("/")[2])
            answer = admin.request(method, at(call, queue)[1], json=content)
            assert (answer.status_code, answer.json()["code"]) == (404, "ticket_not_found"), call
    assert admin.post(f"/queues/{queue}/tickets/1/fly").json()["code"] == "not_found"
    assert admin.post(f"/queues/{queue}/revoke", json={"ticket": 1, "reason": "x"}).json()["code"] == "ticket_not_found"


@pytest.mark.parametrize("path", ["/queues", "/queues/demo", "/keys"])
def test_a_method_that_is_not_there_names_those_that_are(admin: httpx.Client, path: str) -> None:
    answer = admin.put(path)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    there = {call.split()[0] for call in CALLS if at(call, "demo")[1] == path}
    assert set(answer.headers["allow"].split(", ")) == there | {"HEAD"}


def test_what_operators_do_is_logged_with_who_and_how_long(
    server: RunningServer, admin: httpx.Client, queue: str, keys: dict[Role, str]
) -> None:
    made = admin.post("/keys", json={"role": "operator", "name": "noted"}).json()
    with client(server, made["key"]) as desk:
        desk.post(f"/queues/{queue}/join", json={"name": "Ann", "phone": "+44 20 7946 0000"})
        desk.post(f"/queues/{queue}/call-next", json={"desk": "Desk 7"})
        desk.post(f"/queues/{queue}/tickets/1/start")
        desk.post(f"/queues/{queue}/message", json={"text": "hello"})
    by = {"by": made["id"], "queue": queue}
    noted = [
        server.logged("queue.created", ticket=1, position=1, **by),
        server.logged("queue.called", tickets=[1], desk="Desk 7", **by),
        server.logged("queue.status_changed", ticket=1, action="start", status="active", **by),
        server.logged("queue.configured", settings=["message"], **by),
        server.logged("key.created", id=made["id"], role="operator"),
    ]
    for entry in noted:
        assert entry["level"] == "info"
        assert 0 < entry["duration_ms"] < 10_000
        assert entry["request_id"]
    lines = [
        line for event in ("queue.created", "queue.called") for line in server.logs(event) if line["queue"] == queue
    ]
    assert "7946" not in str(lines)
    assert made["key"] not in str(server.logs("key.created"))
