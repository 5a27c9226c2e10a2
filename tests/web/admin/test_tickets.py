"""Looking people up, and acting on one."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import pytest

from tests.backends import wait_until
from tests.web.admin.desk import (
    Join,
    MakeQueue,
    client_of_each_worker,
    events_of,
    moment,
    public_status,
)
from tests.web.running import RunningServer


def test_a_ticket_is_shown_with_all_that_is_kept_but_no_secret(
    admin: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(ticket_prefix="T")
    told: dict[str, Any] = {
        "user_id": "u-1",
        "name": "Ann",
        "phone": "+442079460000",
        "party_size": 3,
        "metadata": {"a": [1]},
    }
    told["metadata"] = {"a": [1]}
    joined = join(queue, client_id="a-secret-of-the-client", **told)
    answer = admin.get(f"/queues/{queue}/tickets/1")
    assert answer.status_code == 200
    content = answer.json()
    assert told.items() <= content.items()
    assert content == content | {
        "queue": queue,
        "ticket": 1,
        "label": "RT-000001",
        "status": "waiting",
        "reason": None,
        "position": 1,
        "priority": 0,
        "joined_at": joined["joined_at"],
        "admitted_at": None,
        "started_at": None,
        "ended_at": None,
        "desk": None,
        "page_views": 0,
        "leaving": False,
    }
    assert content["user_agent"].startswith("python-httpx")
    assert len(content["address"]) == 24
    claims = msgspec.json.decode(_payload(joined["token"]))
    assert claims["c"]  # the token names the digest of the client id
    for secret in ("a-secret", claims["c"], "127.0.0.1", joined["token"]):
        assert secret not in answer.text
    assert "client" not in content


def _payload(token: str) -> bytes:

    body = token.split(".")[1]
    return urlsafe_b64decode(body + "=" * (-len(body) % 4))


def test_last_seen_is_the_last_sign_of_life(
    admin: httpx.Client, make_queue: MakeQueue, join: Join, server: RunningServer
) -> None:
    queue = make_queue(heartbeat_timeout_seconds=40, grace_seconds=7)
    joined = join(queue)
    before = admin.get(f"/queues/{queue}/tickets/1").json()
    assert before["last_seen"] == before["joined_at"]
    assert moment(before["deadline"]) - moment(before["last_seen"]) == timedelta(seconds=47)
    headers = {"authorization": f"Bearer {joined['token']}"}
    httpx.post(f"{server.base_url}/api/v1/heartbeat", headers=headers)

    def was_seen() -> bool:
        return moment(admin.get(f"/queues/{queue}/tickets/1").json()["last_seen"]) > moment(before["last_seen"])

    wait_until(was_seen, "the heartbeat was not written")
    httpx.post(f"{server.base_url}/api/v1/leave", headers=headers)
    leaving = admin.get(f"/queues/{queue}/tickets/1").json()
    assert (leaving["leaving"], leaving["last_seen"], leaving["status"]) == (True, None, "waiting")


def test_a_listing_goes_through_everyone_once_in_order(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(11):
        join(queue)
    admin.post(f"/queues/{queue}/call-next", json={"count": 3})
    admin.post(f"/queues/{queue}/tickets/2/start")
    admin.post(f"/queues/{queue}/tickets/7/cancel")
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page = admin.get(f"/queues/{queue}/tickets", params={"limit": 4, "cursor": cursor}).json()
        assert len(page["tickets"]) <= 4
        seen += [one["ticket"] for one in page["tickets"]]
        cursor = page["cursor"]
    assert seen == [4, 5, 6, 8, 9, 10, 11, 1, 3, 2, 7]
    for status, expected in {"waiting": seen[:7], "admitted": [1, 3], "active": [2], "expired": [7]}.items():
        found = admin.get(f"/queues/{queue}/tickets", params={"status": status}).json()["tickets"]
        assert [(one["ticket"], one["status"]) for one in found] == [(number, status) for number in expected]
    positions = [one["position"] for one in admin.get(f"/queues/{queue}/tickets?status=waiting").json()["tickets"]]
    assert positions == [*range(1, 8)]


def test_a_ticket_goes_through_its_life_at_the_desk(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue)
    join(queue)
    steps: list[tuple[str, dict[str, Any] | None, dict[str, Any]]] = [
        ("call", {"desk": "A"}, {"status": "admitted", "desk": "A", "position": None}),
        ("recall", None, {"status": "admitted", "desk": "A"}),
        ("return", None, {"status": "waiting", "position": 2, "desk": None, "admitted_at": None}),
        ("call", None, {"status": "admitted", "desk": None}),
        ("start", None, {"status": "active", "page_views": 0}),
        ("complete", None, {"status": "completed", "reason": None}),
    ]
    for action, body, expected in steps:
        answer = admin.post(f"/queues/{queue}/tickets/2/{action}", json=body)
        assert answer.status_code == 200, answer.text
        content = answer.json()
        assert expected.items() <= content.items(), (action, content)
        assert admin.get(f"/queues/{queue}/tickets/2").json() == content
    last = admin.get(f"/queues/{queue}/tickets/2").json()
    times = [moment(last[name]) for name in ("joined_at", "admitted_at", "started_at", "ended_at", "deadline")]
    assert times == sorted(times)
    happened = ["joined", "called", "recalled", "returned", "called", "started", "completed"]
    assert [kind for kind, ticket in events_of(admin, queue) if ticket == 2] == happened


@pytest.mark.parametrize(
    ("before", "action", "reason"),
    [
        ([], "cancel", "cancelled"),
        (["call"], "cancel", "cancelled"),
        (["call"], "no-show", "no_show"),
        (["call"], "terminate", "terminated"),
        (["call", "start"], "terminate", "terminated"),
    ],
)
def test_staff_end_a_ticket_and_the_reason_is_kept(
    admin: httpx.Client, queue: str, join: Join, before: list[str], action: str, reason: str
) -> None:
    join(queue)
    for step in before:
        assert admin.post(f"/queues/{queue}/tickets/1/{step}").status_code == 200
    content = admin.post(f"/queues/{queue}/tickets/1/{action}").json()
    assert (content["status"], content["reason"]) == ("expired", reason)
    assert moment(content["ended_at"]) >= moment(content["joined_at"])


@pytest.mark.parametrize(
    ("before", "actions", "found"),
    [
        ([], ["recall", "return", "start", "complete", "no-show", "terminate"], "waiting"),
        (["call"], ["call", "complete", "prioritise"], "admitted"),
        (["call", "start"], ["call", "recall", "return", "start", "no-show", "cancel", "prioritise"], "active"),
        (["call", "start", "complete"], ["call", "start", "complete", "cancel", "terminate", "revoke"], "completed"),
        (["cancel"], ["call", "recall", "return", "start", "complete", "no-show", "cancel", "terminate"], "expired"),
    ],
)
def test_what_a_state_does_not_allow_is_refused_with_the_state(
    admin: httpx.Client, queue: str, join: Join, before: list[str], actions: list[str], found: str
) -> None:
    join(queue)
    for step in before:
        assert admin.post(f"/queues/{queue}/tickets/1/{step}").status_code == 200
    was = admin.get(f"/queues/{queue}/tickets/1").json()
    for action in actions:
        if action == "revoke":
            answer = admin.post(f"/queues/{queue}/revoke", json={"ticket": 1, "reason": "x"})
        else:
            body = {"level": 1} if action == "prioritise" else None
            answer = admin.post(f"/queues/{queue}/tickets/1/{action}", json=body)
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["found"]) == (409, "transition_refused", found), action
    assert admin.get(f"/queues/{queue}/tickets/1").json() == was


def session_token_of_the_called(admin: httpx.Client, queue: str, join: Join, server: RunningServer) -> str:
    """Someone joins and is called; the token with which their browser begins the session."""
    token = join(queue)["token"]
    admin.post(f"/queues/{queue}/call-next")
    session: str = public_status(server, token).json()["session_token"]
    return session


def test_a_session_begun_by_its_browser_is_not_begun_again_by_staff(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    session = session_token_of_the_called(admin, queue, join, server)
    started = httpx.post(f"{server.base_url}/api/v1/session/start", headers={"authorization": f"Bearer {session}"})
    assert started.status_code == 200
    answer = admin.post(f"/queues/{queue}/tickets/1/start")
    assert (answer.status_code, answer.json()["found"]) == (409, "active")


def test_two_desks_cannot_both_begin_serving_one_person(server: RunningServer, queue: str, join: Join) -> None:
    desks = client_of_each_worker(server, server.admin_key)
    for number in range(1, 6):
        join(queue)
        desks[0].post(f"/queues/{queue}/call-next")
        path = f"/queues/{queue}/tickets/{number}/start"
        with ThreadPoolExecutor(4) as pool:
            statuses = sorted(pool.map(lambda n, path=path: desks[n % 2].post(path).status_code, range(4)))
        assert statuses == [200, 409, 409, 409]
    for desk in desks:
        desk.close()


def test_someone_who_is_prioritised_moves_up(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(10):
        join(queue)
    answer = admin.post(f"/queues/{queue}/tickets/10/prioritise", json={"level": 3})
    assert (answer.status_code, answer.json()["position"], answer.json()["priority"]) == (200, 1, 3)
    assert admin.post(f"/queues/{queue}/call-next").json()["tickets"][0]["ticket"] == 10


def test_a_revoked_session_token_stops_working_at_once(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    session = session_token_of_the_called(admin, queue, join, server)

    def verify() -> int:
        headers = {"authorization": f"Bearer {session}"}
        return httpx.get(f"{server.base_url}/api/v1/session/verify", headers=headers).status_code

    assert verify() == 200
    answer = admin.post(f"/queues/{queue}/revoke", json={"ticket": 1, "reason": "abuse_detected"})
    assert answer.status_code == 200
    content = answer.json()
    assert (content["status"], content["reason"], content["revoked_reason"]) == ("expired", "revoked", "abuse_detected")
    assert [verify() for _ in range(6)] == [401] * 6
    assert admin.get(f"/queues/{queue}/tickets?status=expired").json()["tickets"] == [content]
