"""Calling people by hand."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from concurrent.futures import ThreadPoolExecutor

import httpx
import msgspec

from fairline.store import Role
from tests.web.admin.desk import (
    Join,
    MakeQueue,
    client_of_each_worker,
    public_status,
)
from tests.web.running import RunningServer


def test_people_are_called_in_order_to_the_desk_named(
    admin: httpx.Client, make_queue: MakeQueue, join: Join, server: RunningServer
) -> None:
    queue = make_queue(ticket_prefix="BAR")
    people = [join(queue, name=name) for name in ("Ann", "Ben", "Cat")]
    answer = admin.post(f"/queues/{queue}/call-next", json={"count": 2, "desk": "Desk 2"})
    assert answer.status_code == 200
    called = answer.json()["tickets"]
    assert [(one["label"], one["name"], one["desk"], one["status"]) for one in called] == [
        ("RBAR-000001", "Ann", "Desk 2", "admitted"),
        ("RBAR-000002", "Ben", "Desk 2", "admitted"),
    ]
    assert public_status(server, people[0]["token"]).json()["status"] == "admitted"
    assert public_status(server, people[2]["token"]).json()["position"] == 1
    assert [one["ticket"] for one in admin.post(f"/queues/{queue}/call-next").json()["tickets"]] == [3]


def test_calling_where_nobody_waits_calls_nobody(admin: httpx.Client, queue: str) -> None:
    answer = admin.post(f"/queues/{queue}/call-next", json={})
    assert (answer.status_code, answer.json()) == (200, {"tickets": []})


def test_two_desks_never_call_the_same_person(server: RunningServer, queue: str, join: Join) -> None:
    for _ in range(40):
        join(queue)
    desks = client_of_each_worker(server, server.admin_key)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda n: desks[n % 2].post(f"/queues/{queue}/call-next").json(), range(40)))
    assert sorted(one["ticket"] for answer in answers for one in answer["tickets"]) == [*range(1, 41)]
    for desk in desks:
        desk.close()


def test_retried_presses_of_two_desks_at_once_call_one_person_each(
    server: RunningServer, queue: str, join: Join, keys: dict[Role, str]
) -> None:
    for _ in range(10):
        join(queue)
    # The same Idempotency-Key from two members of staff is two presses: it counts for its caller alone.
    desks = [
        client_of_each_worker(server, keys[Role.OPERATOR]),
        client_of_each_worker(server, server.admin_key),
    ]

    def press(number: int) -> list[int]:
        desk = desks[number % 2][number // 2 % 2]
        answer = desk.post(f"/queues/{queue}/call-next", json={"desk": "1"}, headers={"idempotency-key": "press-1"})
        assert answer.status_code == 200, answer.text
        return [one["ticket"] for one in answer.json()["tickets"]]

    with ThreadPoolExecutor(12) as pool:
        called = list(pool.map(press, range(24)))
    first, second = called[::2], called[1::2]
    assert all(one == first[0] for one in first)
    assert all(one == second[0] for one in second)
    assert sorted(first[0] + second[0]) == [1, 2]
    assert desks[0][0].get(f"/queues/{queue}").json()["admitted"] == 2
    for desk in (*desks[0], *desks[1]):
        desk.close()


def test_an_idempotency_key_with_another_press_is_a_conflict(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue)
    headers = {"idempotency-key": "once"}
    assert admin.post(f"/queues/{queue}/call-next", json={"desk": "1"}, headers=headers).status_code == 200
    answer = admin.post(f"/queues/{queue}/call-next", json={"desk": "2"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")


def test_a_paused_queue_calls_nobody(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue)
    admin.patch(f"/queues/{queue}", json={"status": "paused"})
    for path in ("call-next", "tickets/1/call"):
        answer = admin.post(f"/queues/{queue}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "queue_paused")


def test_who_is_called_again_has_a_session_token_that_lasts_from_that_call_on(
    admin: httpx.Client, make_queue: MakeQueue, join: Join, server: RunningServer
) -> None:
    queue = make_queue(claim_seconds=60, target_url="https://shop.test/")
    token = join(queue)["token"]

    def pass_ends() -> float:
        claims = public_status(server, token).json()["session_token"].split(".")[1]
        return float(msgspec.json.decode(urlsafe_b64decode(claims + "=="))["exp"])

    admin.post(f"/queues/{queue}/call-next")
    first = pass_ends()
    assert admin.post(f"/queues/{queue}/tickets/1/return").status_code == 200
    admin.patch(f"/queues/{queue}", json={"claim_seconds": 600})
    admin.post(f"/queues/{queue}/call-next")
    assert pass_ends() > first + 500
