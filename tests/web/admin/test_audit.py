"""The audit log, and how the store and the processes are."""

from __future__ import annotations

import time
from typing import Any

import httpx
from structlog.testing import capture_logs

from fairline.store import AdminKey, Role
from fairline.store.valkey.client import connect
from fairline.store.valkey.store import ValkeyStore
from fairline.web.admin.audit_record import AuditRecorder
from tests.web.admin.desk import Join, client, moment
from tests.web.running import RunningServer


def entries(admin: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    answer = admin.get("/audit", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def test_every_change_is_in_the_audit_log_with_who_did_it(
    server: RunningServer, admin: httpx.Client, queue: str, join: Join
) -> None:
    made = admin.post("/keys", json={"role": "operator", "name": "Desk 7"}).json()
    join(queue)
    one = f"/queues/{queue}"
    with client(server, made["key"]) as desk:
        desk.patch(one, json={"name": "Secret name"})
        desk.post(f"{one}/stock", json={"total": 9})
        desk.post(f"{one}/message", json={"text": "Secret words"})
        version = desk.get(one).json()["version"]
        desk.post(f"{one}/history/{version - 1}/restore")
        ticket = desk.post(f"{one}/join", json={"name": "Ann", "phone": "+44 20 7946 0000", "user_id": "ann"}).json()
        desk.post(f"{one}/tickets/{ticket['ticket']}/prioritise", json={"level": 3})
        desk.post(f"{one}/call-next", json={"desk": "7"})
        desk.post(f"{one}/tickets/1/call", json={"desk": "7"})
        desk.post(f"{one}/tickets/1/start")
        desk.post(f"{one}/tickets/1/complete")
        desk.post(f"{one}/revoke", json={"ticket": ticket["ticket"], "reason": "abuse"})
        given = desk.post(f"{one}/passes", json={"level": 2}).json()
        last = desk.delete(f"{one}/passes/{given['id']}")
    found = entries(admin, queue=queue)
    done = [(entry["action"], entry["ticket"], entry["detail"].get("action")) for entry in reversed(found)]
    assert done == [
        ("queue.set_up", None, None),
        ("queue.configured", None, None),
        ("queue.configured", None, None),
        ("queue.configured", None, None),
        ("queue.restored", None, None),
        ("queue.created", 2, None),
        ("queue.prioritised", 2, None),
        ("queue.called", None, None),
        ("queue.called", None, None),
        ("queue.status_changed", 1, "start"),
        ("queue.status_changed", 1, "complete"),
        ("queue.status_changed", 2, "revoke"),
        ("pass.issued", None, None),
        ("pass.withdrawn", None, None),
    ]
    assert all(entry["key"] == {"id": made["id"], "name": "Desk 7", "role": "operator"} for entry in found[:-1])
    assert found[0]["request_id"] == last.headers["x-request-id"]
    assert found[0]["detail"] == {"id": given["id"]}
    assert abs(moment(found[0]["at"]).timestamp() - time.time()) < 60
    for secret in ("Ann", "7946", "ann", "Secret", given["pass"], ticket["token"], made["key"]):
        assert secret not in str([{**entry, "key": None} for entry in found])


def test_keys_are_in_it_too_and_outlive_themselves(admin: httpx.Client) -> None:
    made = admin.post("/keys", json={"role": "admin", "name": "brief"}).json()
    admin.delete(f"/keys/{made['id']}")
    ours = [entry for entry in entries(admin, limit=20) if entry["detail"].get("id") == made["id"]]
    assert [entry["action"] for entry in ours] == ["key.removed", "key.created"]
    assert [entry["queue"] for entry in ours] == [None, None]
    assert made["key"] not in str(ours)


def test_the_link_of_a_kiosk_is_in_it_without_the_link(admin: httpx.Client, queue: str) -> None:
    admin.patch(f"/queues/{queue}", json={"heartbeat_timeout_seconds": 0})
    made = admin.post(f"/queues/{queue}/kiosk", json={"print": True}).json()
    newest = entries(admin, queue=queue)[0]
    assert newest["action"] == "kiosk.created"
    assert newest["detail"]["prints"] is True
    assert moment(newest["detail"]["expires_at"]) == moment(made["expires_at"])
    assert made["url"].partition("token=")[2] not in str(newest)


def test_what_was_done_to_a_queue_that_is_gone_is_still_told(admin: httpx.Client, queue: str) -> None:
    admin.delete(f"/queues/{queue}")
    assert [entry["action"] for entry in entries(admin, queue=queue)] == ["queue.deleted", "queue.set_up"]
    assert entries(admin, queue="nobody-made-this") == []


def test_what_changed_nothing_is_not_in_it(
    server: RunningServer, admin: httpx.Client, queue: str, keys: dict[Role, str]
) -> None:
    one = f"/queues/{queue}"
    with client(server, keys[Role.VIEWER]) as viewer:
        assert viewer.patch(one, json={"name": "x"}).status_code == 403
    assert admin.patch(one, json={"max_active": 0}).status_code == 422
    assert admin.post(f"{one}/tickets/1/cancel").status_code == 404
    assert admin.post(f"{one}/call-next").json() == {"tickets": []}
    body = {"name": "Ada", "idempotency_key": "once"}
    assert [admin.post(f"{one}/join", json=body).status_code for _ in range(2)] == [201, 200]
    assert [entry["action"] for entry in entries(admin, queue=queue)] == ["queue.created", "queue.set_up"]


def test_it_is_read_a_page_at_a_time(admin: httpx.Client, queue: str) -> None:
    for number in range(4):
        admin.patch(f"/queues/{queue}", json={"max_active": number + 1})
    whole = entries(admin, queue=queue)
    assert len(whole) == 5
    for query in ({"queue": queue}, {}):
        seen: list[dict[str, Any]] = []
        cursor = None
        while len(seen) < 5:
            page = admin.get("/audit", params={**query, "limit": 2, **({"before": cursor} if cursor else {})}).json()
            seen += page["entries"]
            cursor = page["cursor"]
            assert (cursor is None) == (query != {} and len(seen) == 5)
        assert seen[:5] == whole


def test_the_health_of_store_and_processes_is_told(
    server: RunningServer, admin: httpx.Client, keys: dict[Role, str]
) -> None:
    with client(server, keys[Role.VIEWER]) as viewer:
        health = viewer.get("/health").json()
    store = health["store"]
    assert store["kind"] == ("postgresql" if "postgres" in server.store else "valkey")
    assert 0 < store["round_trip_ms"] < 5000
    assert all(caution.keys() == {"what", "found", "advice"} for caution in store["cautions"])
    assert 0 <= health["keeper_seconds_ago"] < 30
    seen = {(worker["part"], int(worker["name"].rpartition(":")[2])) for worker in health["workers"]}
    assert seen >= {(part, pid) for pid in server.worker_pids() for part in ("web", "keeper")}
    assert all(0 <= worker["seen_seconds_ago"] <= 61 for worker in health["workers"])


async def test_what_was_done_stands_where_it_cannot_be_recorded() -> None:
    away = ValkeyStore(connect("valkey://127.0.0.1:9", 1), None, None)
    key = AdminKey(id="k1", role=Role.OPERATOR, name="Ops", digest="", created=1)
    with capture_logs() as told:
        await AuditRecorder(away.registry).record(key, "queue.deleted", request_id="r-1", queue="sale")
    await away.close()
    done, lost = told
    assert (done["event"], done["by"], done["queue"]) == ("queue.deleted", "k1", "sale")
    assert (lost["event"], lost["log_level"], lost["action"]) == ("audit.not_recorded", "error", "queue.deleted")
    assert (lost["by"], lost["request_id"]) == ("k1", "r-1")
    assert "unavailable" in lost["error"]
