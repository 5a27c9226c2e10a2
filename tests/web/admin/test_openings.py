"""Openings by the API, from the plan to the end, and what is published of a draw, checked from the scheme alone."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.web.admin.desk import Join, MakeQueue, moment
from tests.web.running import RunningServer

#: Longer than any step takes on a busy machine.
PATIENCE = 60.0


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def plan(admin: httpx.Client, queue: str, **fields: Any) -> dict[str, Any]:
    answer = admin.post(f"/queues/{queue}/openings", json=fields)
    assert answer.status_code == 201, answer.text
    content: dict[str, Any] = answer.json()
    return content


def until(what: str, found: Callable[[], Any]) -> Any:
    """Wait until something is found, and return it."""
    ends, last = time.monotonic() + PATIENCE, None
    while time.monotonic() < ends:
        if last := found():
            return last
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come in {PATIENCE:g} s")


@pytest.fixture
def public(server: RunningServer) -> Any:
    with httpx.Client(base_url=f"{server.base_url}/api/v1", timeout=20) as opened:
        yield opened


def phase_is(public: httpx.Client, queue: str, phase: str | None) -> Callable[[], bool]:
    return lambda: public.get(f"/queues/{queue}").json()["phase"] == phase


def own(public: httpx.Client, path: str, token: str) -> dict[str, Any]:
    answer = public.get(path, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check_receipt(receipt: dict[str, Any], draw: dict[str, Any], entries: list[list[Any]]) -> None:
    """The receipt of a person, by the scheme fairline-draw-1."""
    assert (receipt["draw"], receipt["count"]) == (draw["id"], draw["count"])
    leaf = sha(b"\0" + receipt["label"].encode() + b"\0" + bytes.fromhex(receipt["nonce"]))
    assert leaf == receipt["leaf"]
    node = leaf
    for side, sibling in receipt["path"]:
        pair = sibling + node if side == "left" else node + sibling
        node = sha(b"\1" + bytes.fromhex(pair))
    assert node == draw["root"]
    randomness = bytes.fromhex(draw["randomness"] or "")
    key = hmac.digest(bytes.fromhex(draw["secret"]), randomness + bytes.fromhex(draw["root"]), "sha256")
    assert hmac.digest(key, bytes.fromhex(leaf) + b"\1", "sha256").hex() == receipt["value"]
    assert entries[receipt["rank"] - 1] == [leaf, receipt["value"], receipt["level"]]


def test_an_opening_from_its_plan_to_its_end(
    admin: httpx.Client, public: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(admission="auto", status="maintenance", admission_rate=0.5, burst=1)
    opening = plan(
        admin,
        queue,
        name="Tickets",
        prequeue_at=in_seconds(0.5),
        starts_at=in_seconds(4),
        ends_at=in_seconds(7),
        draw="random",
        settings={"message": "Good luck"},
        after="close",
    )
    assert (opening["state"], opening["draw_id"]) == ("scheduled", None)
    until("the pre-queue", phase_is(public, queue, "prequeue"))
    tickets = [join(queue, client_id=f"person {i}") for i in range(11)]
    shown = tickets[0]
    assert (shown["status"], shown["phase"], shown["position"]) == ("waiting", "prequeue", None)
    assert moment(shown["starts_at"]) == moment(opening["starts_at"])
    assert (shown["estimated_wait_seconds"], shown["message"]) == (None, "Good luck")
    draw_id = admin.get(f"/queues/{queue}/openings/{opening['id']}").json()["draw_id"]
    before = public.get(f"/draws/{draw_id}").json()
    assert len(before["commitment"]) == 64
    assert [before[name] for name in ("root", "count", "secret", "randomness", "entries_url")] == [None] * 5
    refused = admin.post(f"/queues/{queue}/call-next", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_held_back")
    too_early = public.get("/draw/receipt", headers={"authorization": f"Bearer {shown['token']}"})
    assert (too_early.status_code, "ask again after the start" in too_early.json()["detail"]) == (404, True)

    until("the start", phase_is(public, queue, "open"))
    late = join(queue, client_id="late")
    assert late["position"] is None or late["position"] > 5
    draw = public.get(f"/draws/{draw_id}").json()
    assert (draw["scheme"], draw["count"], draw["commitment"]) == ("fairline-draw-1", 11, before["commitment"])
    assert sha(bytes.fromhex(draw["secret"])) == draw["commitment"]
    entries = public.get(f"/draws/{draw_id}/entries").json()
    assert [value for _, value, _ in entries] == sorted(value for _, value, _ in entries)
    assert len({leaf for leaf, _, _ in entries}) == 11
    receipts = [own(public, "/draw/receipt", each["token"]) for each in tickets]
    for receipt in receipts:
        check_receipt(receipt, draw, entries)
    assert sorted(receipt["rank"] for receipt in receipts) == list(range(1, 12))
    answers = [own(public, "/status", each["token"]) for each in tickets]
    waiting = {each["draw"]["rank"]: each["position"] for each in answers if each["status"] == "waiting"}
    ahead = 11 - len(waiting)
    assert waiting == {rank: rank - ahead for rank in waiting}
    assert min(waiting) == ahead + 1
    unknown = public.get("/draw/receipt", headers={"authorization": f"Bearer {late['token']}"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "draw_not_found")

    until("the end", phase_is(public, queue, None))
    after = admin.get(f"/queues/{queue}").json()
    assert (after["status"], after["message"]) == ("maintenance", "")
    ended = admin.get(f"/queues/{queue}/openings").json()["openings"]
    assert [(each["state"], each["count"]) for each in ended] == [("ended", 11)]
    types = [event["type"] for event in admin.get(f"/queues/{queue}/events").json()["events"]]
    steps = [each for each in types if each.startswith(("prequeue", "opening"))]
    assert steps == ["prequeue_opened", "prequeue_closed", "opening_started", "opening_ended"]


def test_a_queue_opens_at_its_opens_at(admin: httpx.Client, public: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(status="maintenance", opens_at=in_seconds(1.5))
    assert public.post(f"/queues/{queue}/join", json={}).json()["code"] == "queue_maintenance"
    until("the opening", lambda: public.get(f"/queues/{queue}").json()["status"] == "active")
    assert public.post(f"/queues/{queue}/join", json={}).status_code == 201
    assert admin.get(f"/queues/{queue}").json()["opens_at"] == ""


def test_what_cannot_be_planned_is_refused_in_words(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue()
    first = plan(admin, queue, name="First", starts_at=in_seconds(600), ends_at=in_seconds(1200))
    refused = [
        ({"starts_at": in_seconds(-5)}, 422, "starts_at: must be in the future"),
        ({"starts_at": "2050-01-01T10:00:00"}, 422, "with its offset"),
        ({"starts_at": "9999-12-31T23:59:59-12:00"}, 422, "starts_at: must be in the years 1970 to 8999"),
        ({"starts_at": in_seconds(60), "prequeue_at": "0001-01-01T00:00:00+12:00"}, 422, "prequeue_at: must be in"),
        ({"starts_at": in_seconds(60), "prequeue_at": in_seconds(90)}, 422, "prequeue_at: must be at least a second"),
        ({"starts_at": in_seconds(60), "ends_at": in_seconds(50)}, 422, "ends_at: must be"),
        ({"starts_at": in_seconds(60), "ends_at": in_seconds(90), "draw": "random"}, 422, "prequeue_at: is needed"),
        ({"starts_at": in_seconds(60), "draw_grace_seconds": 5}, 422, "draw_grace_seconds: is for a draw"),
        ({"starts_at": in_seconds(60), "settings": {"admission_rat": 5}}, 422, "is not a queue setting"),
        ({"starts_at": in_seconds(60), "settings": {"admission_rate": -5}}, 422, "admission_rate: must be"),
        ({"starts_at": in_seconds(60), "settings": {"status": "paused"}}, 422, "status: must be active"),
        ({"starts_at": in_seconds(60), "settings": {"openings": []}}, 422, "is not a queue setting"),
        ({"starts_at": in_seconds(700)}, 409, "overlaps with the opening 'First'"),
        ({"starts_at": in_seconds(60)}, 409, "overlaps with the opening 'First'"),
        ({"name": "no start"}, 422, "starts_at"),
        ({"starts_at": in_seconds(60), "colour": "red"}, 422, "unknown field"),
    ]
    for fields, status, words in refused:
        answer = admin.post(f"/queues/{queue}/openings", json=fields)
        assert (answer.status_code, words in answer.json()["detail"]) == (status, True), (fields, answer.text)
    far = admin.patch(f"/queues/{queue}", json={"opens_at": "9999-12-31T23:59:59-12:00"})
    assert (far.status_code, far.json()["field"]) == (422, "opens_at"), far.text
    assert [each["id"] for each in admin.get(f"/queues/{queue}/openings").json()["openings"]] == [first["id"]]
    for method, path in (("GET", "none"), ("PATCH", "none"), ("DELETE", "none"), ("GET", "none/preview")):
        missing = admin.request(method, f"/queues/{queue}/openings/{path}", json={} if method == "PATCH" else None)
        assert (missing.status_code, missing.json()["code"]) == (404, "opening_not_found")


def test_an_opening_is_changed_previewed_deleted_and_restored(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(admission_rate=1)
    opening = plan(admin, queue, starts_at=in_seconds(600), settings={"admission_rate": 7, "message": "Now"})
    path = f"/queues/{queue}/openings/{opening['id']}"
    preview = admin.get(f"{path}/preview").json()
    assert (preview["admission_rate"], preview["message"], preview["max_active"]) == (7, "Now", 1000)
    assert admin.get(f"/queues/{queue}").json()["admission_rate"] == 1
    version = admin.get(f"/queues/{queue}").json()["version"]
    changed = admin.patch(path, json={"name": "Renamed", "settings": {}}, headers={"If-Match": f'"{version}"'})
    assert (changed.json()["name"], changed.json()["settings"]) == ("Renamed", {})
    stale = admin.patch(path, json={"name": "Again"}, headers={"If-Match": f'"{version}"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "settings_changed")
    assert admin.get(f"{path}/preview").json()["admission_rate"] == 1

    planned = admin.get(f"/queues/{queue}").json()["version"]
    assert admin.delete(path).status_code == 204
    assert admin.get(f"/queues/{queue}/openings").json() == {"openings": []}
    newest = admin.get(f"/queues/{queue}/history").json()["revisions"][0]["changes"]["openings"]
    assert (newest["from"][0]["name"], newest["to"]) == ("Renamed", [])
    assert admin.post(f"/queues/{queue}/history/{planned}/restore", json={}).status_code == 200
    assert [each["name"] for each in admin.get(f"/queues/{queue}/openings").json()["openings"]] == ["Renamed"]
    refused = admin.patch(f"/queues/{queue}", json={"openings": []})
    assert (refused.status_code, refused.json()["field"]) == (422, "openings")


def test_an_opening_that_is_deleted_in_its_pre_queue_leaves_people_in_line(
    admin: httpx.Client, public: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(message="before")
    opening = plan(
        admin, queue, prequeue_at=in_seconds(0.3), starts_at=in_seconds(600), draw="random", settings={"message": "in"}
    )
    until("the pre-queue", phase_is(public, queue, "prequeue"))
    tickets = [join(queue, client_id=f"person {i}") for i in range(3)]
    rate = admin.patch(f"/queues/{queue}/openings/{opening['id']}", json={"settings": {"message": "changed"}})
    assert rate.status_code == 200, rate.text
    assert own(public, "/status", tickets[0]["token"])["message"] == "changed"
    assert admin.delete(f"/queues/{queue}/openings/{opening['id']}").status_code == 204
    answers = [own(public, "/status", each["token"]) for each in tickets]
    assert [(each["position"], "phase" in each, each["message"]) for each in answers] == [
        (1, False, "before"),
        (2, False, "before"),
        (3, False, "before"),
    ]
    called = admin.post(f"/queues/{queue}/call-next", json={}).json()["tickets"]
    assert [each["ticket"] for each in called] == [tickets[0]["ticket"]]


def test_at_the_start_sessions_of_before_end_and_stock_is_added(
    admin: httpx.Client, public: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(admission="auto", admission_rate=100, stock=1)
    early = join(queue, client_id="early")
    until("the admission", lambda: own(public, "/status", early["token"])["status"] == "admitted")
    plan(admin, queue, starts_at=in_seconds(1.5), add_stock=5, recheck_inside=True)
    until("the start", phase_is(public, queue, "open"))
    gone = own(public, "/status", early["token"])
    assert (gone["status"], gone["reason"]) == ("expired", "terminated")
    assert admin.get(f"/queues/{queue}").json()["stock"] == 6


def test_a_client_without_a_stream_asks_again_just_after_the_start(
    server: RunningServer, admin: httpx.Client, public: httpx.Client, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(heartbeat_interval_seconds=10, heartbeat_timeout_seconds=60)
    opening = plan(admin, queue, prequeue_at=in_seconds(0.3), starts_at=in_seconds(3600), draw="random")
    until("the pre-queue", phase_is(public, queue, "prequeue"))
    token = join(queue, client_id="someone")["token"]

    def next_heartbeat(**changes: Any) -> float:
        answer = admin.patch(f"/queues/{queue}/openings/{opening['id']}", json=changes)
        assert answer.status_code == 200, answer.text
        beat = public.post("/heartbeat", headers={"authorization": f"Bearer {token}"})
        return float(beat.json()["next_heartbeat_seconds"])

    assert next_heartbeat(starts_at=in_seconds(3600)) == 20
    assert next_heartbeat(starts_at=in_seconds(300)) == 10
    assert 1 <= next_heartbeat(starts_at=in_seconds(7)) < 9.1
