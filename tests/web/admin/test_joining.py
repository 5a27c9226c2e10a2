"""Staff put someone in line."""

from __future__ import annotations

import httpx
import pytest

from fairline.store import Role
from tests.web.admin.desk import (
    Join,
    MakeQueue,
    check_answer,
    public_status,
)
from tests.web.running import RunningServer


def test_whom_staff_put_in_line_holds_a_token(admin: httpx.Client, queue: str, server: RunningServer) -> None:
    body = {"name": "Ann", "phone": "+44 20 7946 0000", "party_size": 2, "priority": 2, "metadata": {"note": "x"}}
    answer = admin.post(f"/queues/{queue}/join", json=body)
    assert answer.status_code == 201
    told = answer.json()
    assert (told["ticket"], told["status"], told["priority"]) == (1, "waiting", 2)
    assert public_status(server, told["token"]).json()["ticket"] == 1
    assert "set-cookie" not in answer.headers
    kept = admin.get(f"/queues/{queue}/tickets/1").json()
    assert (kept["name"], kept["party_size"], kept["metadata"]) == ("Ann", 2, {"note": "x"})
    assert (kept["address"], kept["user_agent"]) == (None, None)  # those of the desk are not the guest's


@pytest.mark.parametrize("one_per", ["client", "ip", "phone"])
def test_staff_have_no_limits_and_everyone_gets_a_place(
    admin: httpx.Client, make_queue: MakeQueue, one_per: str
) -> None:
    queue = make_queue(join_limit_per_ip=1, join_limit_per_phone=1, one_per=one_per)
    tickets = [admin.post(f"/queues/{queue}/join").json()["ticket"] for _ in range(5)]
    assert tickets == [1, 2, 3, 4, 5]


def test_a_retried_staff_join_makes_one_ticket(admin: httpx.Client, queue: str, keys: dict[Role, str]) -> None:
    headers = {"idempotency-key": "guest-1"}
    first = admin.post(f"/queues/{queue}/join", json={"name": "Ann"}, headers=headers)
    again = admin.post(f"/queues/{queue}/join", json={"name": "Ann"}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["ticket"] == again.json()["ticket"]
    other = admin.post(f"/queues/{queue}/join", json={"name": "Ann", "priority": 1}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    admin.headers["authorization"], mine = f"Bearer {keys[Role.OPERATOR]}", admin.headers["authorization"]
    try:
        assert admin.post(f"/queues/{queue}/join", json={"name": "Ann"}, headers=headers).status_code == 201
    finally:
        admin.headers["authorization"] = mine


def test_staff_are_not_given_the_place_of_someone_in_line(
    admin: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(one_per="user")
    join(queue, user_id="ann", client_id="ann's own secret")
    answer = admin.post(f"/queues/{queue}/join", json={"user_id": "ann"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_in_line")
    assert "token" not in answer.json()


def test_staff_put_nobody_into_a_queue_in_maintenance(admin: httpx.Client, queue: str) -> None:
    admin.event_hooks = {"response": []}  # a 503 that is meant
    try:
        admin.patch(f"/queues/{queue}", json={"status": "maintenance"})
        answer = admin.post(f"/queues/{queue}/join")
    finally:
        admin.event_hooks = {"response": [check_answer]}
    assert (answer.status_code, answer.json()["code"]) == (503, "queue_maintenance")
    assert int(answer.headers["retry-after"]) > 0
