"""A desk of the tests: every operators' call there is, and clients that make them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, TypeAlias

import httpx

from fairline.store import Role
from tests.web.running import RunningServer

ADMIN = "/api/v1/admin"

MakeQueue: TypeAlias = Callable[..., str]
Join: TypeAlias = Callable[..., dict[str, Any]]

#: Every call of api.md, and the least role it needs.
CALLS = {
    "GET /queues": Role.VIEWER,
    "POST /queues": Role.ADMIN,
    "GET /queues/{queue}": Role.VIEWER,
    "PATCH /queues/{queue}": Role.OPERATOR,
    "DELETE /queues/{queue}": Role.ADMIN,
    "GET /queues/{queue}/screens": Role.VIEWER,
    "POST /queues/{queue}/page-preview": Role.OPERATOR,
    "GET /queues/{queue}/history": Role.VIEWER,
    "POST /queues/{queue}/history/{version}/restore": Role.OPERATOR,
    "GET /queues/{queue}/openings": Role.VIEWER,
    "POST /queues/{queue}/openings": Role.OPERATOR,
    "GET /queues/{queue}/openings/{opening}": Role.VIEWER,
    "PATCH /queues/{queue}/openings/{opening}": Role.OPERATOR,
    "DELETE /queues/{queue}/openings/{opening}": Role.OPERATOR,
    "GET /queues/{queue}/openings/{opening}/preview": Role.VIEWER,
    "GET /queues/{queue}/openings/{opening}/checklist": Role.VIEWER,
    "POST /queues/{queue}/openings/{opening}/rehearsal": Role.OPERATOR,
    "GET /queues/{queue}/openings/{opening}/rehearsal": Role.VIEWER,
    "POST /queues/{queue}/call-next": Role.OPERATOR,
    "POST /queues/{queue}/join": Role.OPERATOR,
    "POST /queues/{queue}/revoke": Role.OPERATOR,
    "POST /queues/{queue}/stock": Role.OPERATOR,
    "POST /queues/{queue}/message": Role.OPERATOR,
    "GET /queues/{queue}/tickets": Role.VIEWER,
    "GET /queues/{queue}/tickets/{ticket}": Role.VIEWER,
    "POST /queues/{queue}/tickets/{ticket}/call": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/recall": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/return": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/start": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/complete": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/no-show": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/cancel": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/terminate": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/prioritise": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/hold": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/release": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/step-back": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/reinstate": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/put-back": Role.OPERATOR,
    "POST /queues/{queue}/tickets/{ticket}/transfer": Role.OPERATOR,
    "GET /queues/{queue}/floor": Role.VIEWER,
    "GET /queues/{queue}/desks": Role.VIEWER,
    "POST /queues/{queue}/desks": Role.OPERATOR,
    "GET /queues/{queue}/stats/desks": Role.VIEWER,
    "GET /queues/{queue}/stats": Role.VIEWER,
    "GET /stats/waiting": Role.VIEWER,
    "GET /queues/{queue}/stats/hourly": Role.VIEWER,
    "GET /queues/{queue}/stats/series": Role.VIEWER,
    "GET /queues/{queue}/preview": Role.VIEWER,
    "GET /queues/{queue}/report": Role.VIEWER,
    "GET /queues/{queue}/events": Role.VIEWER,
    "POST /queues/{queue}/kiosk": Role.OPERATOR,
    "GET /queues/{queue}/user-token-key": Role.ADMIN,
    "POST /queues/{queue}/passes": Role.OPERATOR,
    "GET /queues/{queue}/passes": Role.VIEWER,
    "DELETE /queues/{queue}/passes/{pass_id}": Role.OPERATOR,
    "GET /live": Role.VIEWER,
    "GET /queues/{queue}/live": Role.VIEWER,
    "GET /session": Role.VIEWER,
    "POST /keys": Role.ADMIN,
    "GET /keys": Role.ADMIN,
    "DELETE /keys/{key_id}": Role.ADMIN,
    "POST /keys/rotate": Role.ADMIN,
    "GET /audit": Role.OPERATOR,
    "GET /health": Role.VIEWER,
    "POST /webhooks": Role.ADMIN,
    "GET /webhooks": Role.VIEWER,
    "GET /webhooks/{webhook}": Role.VIEWER,
    "PATCH /webhooks/{webhook}": Role.ADMIN,
    "DELETE /webhooks/{webhook}": Role.ADMIN,
    "POST /webhooks/{webhook}/test": Role.OPERATOR,
    "GET /webhooks/{webhook}/deliveries": Role.VIEWER,
    "POST /webhooks/{webhook}/deliveries/{delivery}/replay": Role.OPERATOR,
    "POST /webhooks/{webhook}/replay": Role.OPERATOR,
    "GET /mail": Role.VIEWER,
    "POST /mail/test": Role.ADMIN,
    "GET /mail/deliveries": Role.VIEWER,
    "POST /mail/deliveries/{delivery}/replay": Role.OPERATOR,
    "POST /mail/replay": Role.OPERATOR,
}


def check_answer(answer: httpx.Response) -> None:
    """What holds for every answer: never a server error, never kept by a cache, and a problem document if refused."""
    answer.read()
    assert answer.status_code < 500, answer.text
    assert answer.headers["cache-control"] == "no-store"
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["request_id"] == answer.headers["x-request-id"]
        assert len(problem["detail"]) > 10


def client(server: RunningServer, key: str | None) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    hooks = {"response": [check_answer]}
    return httpx.Client(base_url=server.base_url + ADMIN, headers=headers, event_hooks=hooks, timeout=20)


def client_of_each_worker(server: RunningServer, key: str) -> list[httpx.Client]:
    """One kept connection to each worker: a request's id begins with the process that answered it."""
    found: dict[int, httpx.Client] = {}
    spare: list[httpx.Client] = []
    with ThreadPoolExecutor(8) as pool:
        while len(found) < 2:
            opened = [client(server, key) for _ in range(8)]
            for each, answer in zip(opened, pool.map(lambda c: c.get("/queues/demo"), opened), strict=True):
                pid = int(answer.headers["x-request-id"].partition("-")[0], 16)
                spare.append(each) if pid in found else found.setdefault(pid, each)
            assert len(spare) < 400, "one worker answers everything"
    for each in spare:
        each.close()
    assert set(found) == set(server.worker_pids())
    return [*found.values()]


def public_status(server: RunningServer, token: str) -> httpx.Response:
    return httpx.get(f"{server.base_url}/api/v1/status", headers={"authorization": f"Bearer {token}"})


def moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


def events_of(admin: httpx.Client, queue: str) -> list[tuple[str, int | None]]:
    return [(event["type"], event["ticket"]) for event in admin.get(f"/queues/{queue}/events").json()["events"]]


def at(call: str, queue: str = "nobody-made-this") -> tuple[str, str]:
    method, _, path = call.partition(" ")
    named = dict.fromkeys(("pass_id", "key_id", "webhook", "delivery", "opening"), "none")
    named |= {"ticket": "999999", "version": "1"}
    return method, path.format(queue=queue, **named)
