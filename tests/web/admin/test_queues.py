"""Queues and their settings, their stock and their message."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import msgspec
import pytest

from fairline.domain.queue_settings import SETTINGS, Settings
from tests.web.admin.desk import (
    ADMIN,
    Join,
    client_of_each_worker,
    public_status,
)
from tests.web.running import RunningServer


def test_a_new_queue_has_the_settings_given_and_the_defaults(admin: httpx.Client) -> None:
    name = f"q{secrets.token_hex(5)}"
    answer = admin.post("/queues", json={"id": name, "name": "Sale", "stock": 7, "admission_rate": 2})
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{ADMIN}/queues/{name}"
    content = answer.json()
    expected = msgspec.json.decode(msgspec.json.encode(Settings(name="Sale", stock=7, admission_rate=2)))
    assert {field: content[field] for field in SETTINGS} == expected
    assert (content["id"], content["waiting"], content["admitted"], content["active"]) == (name, 0, 0, 0)
    assert content["stock_left"] == 7
    assert answer.headers["etag"] == f'"{content["version"]}"'
    again = admin.get(answer.headers["location"].removeprefix(ADMIN))
    assert (again.status_code, again.json(), again.headers["etag"]) == (200, content, answer.headers["etag"])
    assert content in admin.get("/queues").json()["queues"]


def test_a_queue_is_made_once(admin: httpx.Client, queue: str) -> None:
    answer = admin.post("/queues", json={"id": queue, "name": "another"})
    assert (answer.status_code, answer.json()["code"]) == (409, "queue_exists")
    assert admin.get(f"/queues/{queue}").json()["name"] == ""


def test_a_queue_counts_who_is_where(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(4):
        join(queue)
    admin.post(f"/queues/{queue}/call-next", json={"count": 2})
    admin.post(f"/queues/{queue}/tickets/1/start")
    content = admin.get(f"/queues/{queue}").json()
    assert (content["waiting"], content["admitted"], content["active"]) == (2, 1, 1)


def test_a_change_touches_only_what_is_given(admin: httpx.Client, queue: str) -> None:
    before = admin.patch(f"/queues/{queue}", json={"stock": 9, "burst": 4.5, "name": "A"}).json()
    after = admin.patch(f"/queues/{queue}", json={"name": "B", "admission_rate": 3.5})
    assert after.status_code == 200
    changed = {"name": "B", "admission_rate": 3.5, "version": before["version"] + 1}
    assert after.json() == before | changed
    assert after.headers["etag"] == f'"{before["version"] + 1}"'
    assert admin.get(f"/queues/{queue}").json() == before | changed


def test_a_change_of_nothing_changes_nothing(admin: httpx.Client, queue: str) -> None:
    before = admin.get(f"/queues/{queue}").json()
    for content in (b"", b"{}"):
        answer = admin.patch(f"/queues/{queue}", content=content)
        assert answer.status_code == 200
        assert answer.json() | {"version": before["version"]} == before


def test_null_unsets_what_is_optional(admin: httpx.Client, queue: str) -> None:
    admin.patch(f"/queues/{queue}", json={"stock": 9, "burst": 4.5})
    content = admin.patch(f"/queues/{queue}", json={"stock": None, "burst": None}).json()
    assert (content["stock"], content["burst"], content["stock_left"]) == (None, None, None)
    assert admin.get(f"/queues/{queue}").json() == content


def test_a_change_made_on_old_settings_is_refused(admin: httpx.Client, queue: str) -> None:
    etag = admin.get(f"/queues/{queue}").headers["etag"]
    new = admin.patch(f"/queues/{queue}", json={"name": "first"}, headers={"if-match": etag})
    assert new.status_code == 200
    late = admin.patch(f"/queues/{queue}", json={"name": "second"}, headers={"if-match": etag})
    assert (late.status_code, late.json()["code"]) == (412, "settings_changed")
    assert f'"{late.json()["version"]}"' == new.headers["etag"]
    assert admin.get(f"/queues/{queue}").json()["name"] == "first"


def test_of_many_changes_made_on_the_same_settings_one_is_done(server: RunningServer, queue: str) -> None:
    desks = client_of_each_worker(server, server.admin_key)
    version = desks[0].get(f"/queues/{queue}").json()["version"]

    def change(number: int) -> int:
        headers = {"if-match": f'"{version}"'}
        return desks[number % 2].patch(f"/queues/{queue}", json={"name": str(number)}, headers=headers).status_code

    with ThreadPoolExecutor(12) as pool:
        statuses = sorted(pool.map(change, range(12)))
    assert statuses == [200] + [412] * 11
    assert desks[0].get(f"/queues/{queue}").json()["version"] == version + 1
    for desk in desks:
        desk.close()


def test_changes_of_different_settings_at_once_are_all_done(server: RunningServer, queue: str) -> None:
    changes: list[dict[str, Any]] = [{"name": "N"}, {"max_active": 5}, {"claim_seconds": 9.0}, {"ticket_prefix": "P"}]
    desks = client_of_each_worker(server, server.admin_key)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: desks[n % 2].patch(f"/queues/{queue}", json=changes[n % 4]), range(16)))
    for desk in desks:
        content = desk.get(f"/queues/{queue}").json()
        for change in changes:
            assert change.items() <= content.items()
        desk.close()


@pytest.mark.parametrize(
    ("if_match", "status"),
    [
        ("*", 200),
        ('"{version}"', 200),
        ("{version}", 200),
        ('"1", "{version}"', 200),
        ('"1"', 412),
        ('"1", "2"', 412),
        ('W/"{version}"', 412),
        ('"abc"', 412),
        ('""', 412),
        ("abc", 422),
        ('"unclosed', 422),
        ("1, 2", 422),
    ],
)
def test_if_match_is_read_as_http_says(admin: httpx.Client, queue: str, if_match: str, status: int) -> None:
    version = admin.get(f"/queues/{queue}").json()["version"]
    headers = {"if-match": if_match.format(version=version)}
    for method, body in (("PATCH", b'{"name":"x"}'), ("DELETE", b"")):
        if status == 200 and method == "DELETE":
            headers = {"if-match": if_match.format(version=version + 1)}
        answer = admin.request(method, f"/queues/{queue}", content=body, headers=headers)
        assert answer.status_code == (204 if status == 200 and method == "DELETE" else status), answer.text


def test_a_removed_queue_is_gone_with_everyone_in_it(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    token = join(queue)["token"]
    answer = admin.delete(f"/queues/{queue}")
    assert (answer.status_code, answer.content) == (204, b"")
    for gone in (admin.get(f"/queues/{queue}"), admin.delete(f"/queues/{queue}")):
        assert (gone.status_code, gone.json()["code"]) == (404, "queue_not_found")
    assert queue not in [each["id"] for each in admin.get("/queues").json()["queues"]]
    assert public_status(server, token).status_code == 410
    admin.post("/queues", json={"id": queue, "admission": "manual"})
    assert admin.get(f"/queues/{queue}/tickets").json()["tickets"] == []


def test_new_settings_hold_on_every_worker_at_once(server: RunningServer, queue: str, join: Join) -> None:
    join(queue)
    desks = client_of_each_worker(server, server.admin_key)
    for number in range(6):
        prefix = f"P{number}"
        desks[number % 2].patch(f"/queues/{queue}", json={"ticket_prefix": prefix})
        for desk in desks:
            assert desk.get(f"/queues/{queue}/tickets/1").json()["label"] == f"R{prefix}-000001"
    for desk in desks:
        desk.close()


def test_a_message_is_shown_to_those_who_wait_until_it_is_emptied(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    token = join(queue)["token"]
    answer = admin.post(f"/queues/{queue}/message", json={"text": "Back at 14:00 ☕"})
    assert (answer.status_code, answer.json()["message"]) == (200, "Back at 14:00 ☕")
    assert public_status(server, token).json()["message"] == "Back at 14:00 ☕"
    assert admin.post(f"/queues/{queue}/message", json={"text": ""}).json()["message"] == ""
    assert "message" not in public_status(server, token).json()


def test_stock_says_how_many_can_still_be_called(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(4):
        join(queue)
    answer = admin.post(f"/queues/{queue}/stock", json={"total": 1})
    assert (answer.status_code, answer.json()["stock"], answer.json()["stock_left"]) == (200, 1, 1)
    assert len(admin.post(f"/queues/{queue}/call-next", json={"count": 4}).json()["tickets"]) == 1
    assert admin.get(f"/queues/{queue}").json()["stock_left"] == 0
    refused = admin.post(f"/queues/{queue}/tickets/3/call")
    assert (refused.status_code, refused.json()["code"]) == (409, "at_capacity")
    assert admin.post(f"/queues/{queue}/stock", json={"total": None}).json()["stock"] is None
    assert len(admin.post(f"/queues/{queue}/call-next", json={"count": 4}).json()["tickets"]) == 3
