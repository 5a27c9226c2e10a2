"""Logs: what is promised is there on a running server, with how long it took and without who it was."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairline.web.server.fast_cycle import FastCycle
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.backends import wait_until
from tests.web.running import RunningServer

PERSON = {
    "name": "Ada Lovelace",
    "phone": "+44 20 7946 0123",
    "user_id": "ada@example.test",
    "metadata": {"seat": "12A"},
}


@pytest.fixture
def staff(server: RunningServer) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=headers, timeout=20) as client:
        yield client


@pytest.fixture
def people(server: RunningServer) -> Iterator[httpx.Client]:
    headers = {"user-agent": "Lovelace/1.0"}
    with httpx.Client(base_url=f"{server.base_url}/api/v1", headers=headers, timeout=20) as client:
        yield client


def make(staff: httpx.Client, **settings: Any) -> str:
    name = f"log{secrets.token_hex(4)}"
    assert staff.post("/queues", json={"id": name, "join_limit_per_ip": 0, **settings}).status_code == 201
    return name


def test_a_day_at_the_desk_is_logged_without_who_came(
    server: RunningServer, staff: httpx.Client, people: httpx.Client
) -> None:
    queue = make(staff, admission="manual", join_limit_per_phone=2)
    key = secrets.token_hex(8)
    join = people.build_request("POST", f"/queues/{queue}/join", json=PERSON, headers={"idempotency-key": key})
    _, again = people.send(join), people.send(join)
    token = again.json()["token"]
    people.cookies.clear()
    other = people.post(f"/queues/{queue}/join", json={"client_id": "another-secret"}).json()
    people.post("/leave", json={"final": True}, headers={"authorization": f"Bearer {other['token']}"})
    staff.post(f"/queues/{queue}/call-next", json={"desk": "Desk 2"})
    staff.post(f"/queues/{queue}/tickets/1/no-show")
    for number in range(3):
        people.cookies.clear()
        people.post(f"/queues/{queue}/join", json={"phone": PERSON["phone"], "client_id": f"again-{number}"})
        staff.post(f"/queues/{queue}/tickets/{number + 3}/cancel")
    noted = [
        server.logged("queue.created", queue=queue, ticket=1, position=1),
        server.logged("queue.idempotency_reuse", queue=queue, ticket=1),
        server.logged("queue.called", queue=queue, tickets=[1], desk="Desk 2"),
        server.logged("queue.status_changed", queue=queue, ticket=1, status="expired", reason="no_show"),
        server.logged("queue.status_changed", queue=queue, ticket=2, action="leave", reason="left"),
        server.logged("rate_limit.hit", queue=queue, who="phone"),
    ]
    for entry in noted:
        assert 0 < entry["duration_ms"] < 10_000
        assert entry["request_id"]
        assert entry["timestamp"].endswith("Z")
    lines = [line for line in server._log.read_text(encoding="utf-8").splitlines() if queue in line]
    for private in ("Lovelace", "7946", "ada@", "12A", "127.0.0.1", token, key, "another-secret"):
        assert not [line for line in lines if private in line]


def test_a_rush_is_not_logged_person_by_person(
    server: RunningServer, staff: httpx.Client, people: httpx.Client
) -> None:
    queue = make(staff, admission_rate=0)
    joined = people.post(f"/queues/{queue}/join").json()
    people.post("/leave", json={"final": True}, headers={"authorization": f"Bearer {joined['token']}"})
    staff.patch(f"/queues/{queue}", json={"admission_rate": 1})
    server.logged("queue.configured", queue=queue)  # later than the others would be
    assert not [entry for name in ("queue.created", "queue.status_changed") for entry in _of(server, name, queue)]


def _of(server: RunningServer, event: str, queue: str) -> list[dict[str, Any]]:
    return [entry for entry in server.logs(event) if entry.get("queue") == queue]


_FAILS = """
import structlog
from fairline.logs import set_up_logs
from fairline.settings import LogFormat
set_up_logs(LogFormat("{kind}"))
log = structlog.get_logger()
log.info("queue.called", queue="sale", duration_ms=1.5)
def fails(phone, token):
    raise ValueError("it broke")
try:
    fails("+44 20 " + "7946", "sec" + "ret")
except ValueError as error:
    log.error("http.failed", exc_info=error)
"""


@pytest.mark.parametrize("kind", ["json", "text"])
def test_logs_are_json_or_readable_and_a_traceback_tells_no_values(kind: str) -> None:
    words = [sys.executable, "-c", _FAILS.format(kind=kind)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True, env=None).stderr
    assert "it broke" in said
    assert "fails" in said
    assert "+44 20 7946" not in said
    assert "'secret'" not in said
    first = said.splitlines()[0]
    if kind == "json":
        assert [json.loads(line)["event"] for line in said.splitlines()] == ["queue.called", "http.failed"]
        assert json.loads(first)["duration_ms"] == 1.5
    else:
        assert "queue.called" in first
        assert "duration_ms" in first


@pytest.mark.parametrize("kind", [Request, FastCycle])
def test_a_request_that_is_logged_tells_nothing_of_its_body(kind: type[Request]) -> None:
    inner: dict[str, Any] = {"protocol": None, "handler": None} if kind is FastCycle else {}
    request = kind(Head("POST", "/api/v1/queues/demo/join"), None, body=json.dumps(PERSON).encode(), **inner)
    assert "Lovelace" not in repr(request) + repr(request.decode)


def test_lines_that_nobody_takes_stop_nothing(tmp_path: Path) -> None:
    server = RunningServer(tmp_path, log=Path("/dev/full"))
    workers = server.worker_pids()
    try:
        answer = httpx.post(f"{server.base_url}/api/v1/queues/demo/join")
        assert answer.status_code == 201
        # The supervisor still runs, also after it has said that it is ready.
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len({*server.worker_pids()} - {workers[0]}) == 2, "there are two workers again")
        workers = server.worker_pids()
        server.process.kill()  # what the workers say of it is taken by nobody, either
        server.process.wait()
        wait_until(lambda: not any(map(_is_there, workers)), "the workers end with their supervisor")
    finally:
        for pid in filter(_is_there, workers):
            os.kill(pid, signal.SIGKILL)


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
