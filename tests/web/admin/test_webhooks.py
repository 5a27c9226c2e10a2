"""The operators' calls about webhooks that come to nothing: each with an answer that says why."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from fairline.domain.webhook import Topic

URL = "https://shop.example/fairline"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "url"),
        ({"url": ""}, "url"),
        ({"url": 5}, "url"),
        ({"url": "ftp://shop.example/"}, "url"),
        ({"url": "https://me:secret@shop.example/"}, "password"),
        ({"url": "http://127.0.0.1:9/"}, "webhook_private_addresses"),
        ({"url": "http://[::1]:9/"}, "webhook_private_addresses"),
        ({"url": "http://169.254.169.254/latest/meta-data"}, "webhook_private_addresses"),
        ({"url": "http://localhost/"}, "webhook_private_addresses"),
        ({"url": URL, "events": ["born"]}, "events"),
        ({"url": URL, "secret": "mine"}, "secret"),
    ],
)
def test_what_cannot_be_a_webhook_is_refused(admin: httpx.Client, body: dict[str, Any], problem: str) -> None:
    answer = admin.post("/webhooks", json=body)
    assert answer.status_code == 422
    assert problem in answer.json()["detail"]


def test_an_event_that_there_is_not_is_answered_with_those_there_are(admin: httpx.Client) -> None:
    made = admin.post("/webhooks", json={"url": URL, "active": False}).json()
    for answer in (
        admin.post("/webhooks", json={"url": URL, "events": ["joined", "calld"]}),
        admin.patch(f"/webhooks/{made['id']}", json={"events": ["joined", "calld"]}),
    ):
        problem = answer.json()
        assert (answer.status_code, problem["field"]) == (422, "events[1]")
        assert f"must be one of {', '.join(Topic)}; got 'calld'" in problem["detail"]
    assert admin.delete(f"/webhooks/{made['id']}").status_code == 204
    role = admin.post("/keys", json={"role": "boss"}).json()["detail"]
    assert role == "role: must be one of viewer, operator, admin; got 'boss'"


@pytest.mark.parametrize("queue", ["nowhere", "../etc", ""])
def test_a_queue_that_is_not_there_is_said(admin: httpx.Client, queue: str) -> None:
    answer = admin.post("/webhooks", json={"url": URL, "queue": queue})
    assert (answer.status_code, answer.json()["code"]) == (404, "queue_not_found")


def test_a_change_is_checked_like_the_making(admin: httpx.Client) -> None:
    made = admin.post("/webhooks", json={"url": URL, "active": False}).json()
    path = f"/webhooks/{made['id']}"
    for body in ({"url": "http://10.0.0.1/"}, {"queue": "demo"}, {"events": "all"}, {"active": None}):
        assert admin.patch(path, json=body).status_code == 422
    assert admin.patch(path, json={}).json() == {name: made[name] for name in made if name != "secret"}
    for query in ("state=lost", "cursor=nonsense", "limit=0", "limit=101"):
        assert admin.get(f"{path}/deliveries?{query}").status_code == 422
    assert admin.get(f"{path}/deliveries").json() == {"deliveries": [], "cursor": None}
    answer = admin.post(f"{path}/deliveries/none/replay")
    assert (answer.status_code, answer.json()["code"]) == (404, "delivery_not_found")
    assert admin.delete(path).status_code == 204
    answer = admin.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
