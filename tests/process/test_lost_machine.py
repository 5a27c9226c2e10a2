"""A machine is lost: a backup that was taken while people joined brings everyone back, on every embedded store."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backends import children_of, wait_until
from tests.cli.typed import fairline
from tests.web.running import RunningServer

QUEUE = "hall"
#: A webhook whose receiver is away: its deliveries stay open.
HOOK = "http://127.0.0.1:9/hook"
PRIVATE = {"FAIRLINE_WEBHOOK_PRIVATE_ADDRESSES": "allow"}


class Joining:
    """Many people join, until they are told to stop."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/api/v1/queues/{QUEUE}/join"
        self._over = threading.Event()
        self.tokens: list[str] = []
        self._threads = [threading.Thread(target=self._join) for _ in range(2)]
        for each in self._threads:
            each.start()

    def _join(self) -> None:
        with httpx.Client() as client:
            while not self._over.wait(0.02):  # at the pace of people, so that the backup comes amid them
                answer = client.post(self._url, json={"client_id": secrets.token_hex(8)})
                self.tokens.append(answer.raise_for_status().json()["token"])

    def until(self, count: int) -> None:
        """Wait until this many more have joined."""
        wanted = len(self.tokens) + count
        wait_until(lambda: len(self.tokens) >= wanted, "nobody joins")

    def stop(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join()


@pytest.fixture(params=["embedded", "embedded-postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path, workers=1, store=request.param, environ=PRIVATE)
    yield running
    running.stop()


def lose(server: RunningServer) -> None:
    """Everything that runs is killed at once, and the disk is gone."""
    pids = [server.process.pid, *children_of(server.process.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    wait_until(lambda: not any(is_running(pid) for pid in pids), "a process does not end")
    shutil.rmtree(server.data)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def told(base_url: str, token: str) -> dict[str, Any]:
    answer = httpx.get(f"{base_url}/api/v1/status", headers={"authorization": f"Bearer {token}"}, timeout=30)
    return dict(answer.json())


def line(admin: httpx.Client) -> list[int]:
    """Who waits, in order."""
    found: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page: dict[str, str | int] = {"status": "waiting", "limit": 500, **({"cursor": cursor} if cursor else {})}
        answer = admin.get(f"/queues/{QUEUE}/tickets", params=page).raise_for_status().json()
        found += [each["ticket"] for each in answer["tickets"]]
        cursor = answer["cursor"]
    return found


def test_people_keep_their_places_and_tokens_when_the_machine_is_lost_during_joins(
    server: RunningServer, tmp_path: Path
) -> None:
    key = server.admin_key
    admin = httpx.Client(
        base_url=f"{server.base_url}/api/v1/admin", headers={"authorization": f"Bearer {key}"}, timeout=30
    )
    settings = {"admission": "manual", "heartbeat_timeout_seconds": 60, "claim_seconds": 600, "join_limit_per_ip": 0}
    admin.post("/queues", json={"id": QUEUE, **settings}).raise_for_status()
    hook = admin.post("/webhooks", json={"url": HOOK, "events": ["called"]})
    hook.raise_for_status()
    early = Joining(server.base_url)
    early.until(30)
    early.stop()
    called = admin.post(f"/queues/{QUEUE}/call-next", json={"count": 3}).raise_for_status().json()
    assert len(called["tickets"]) == 3
    first = called["tickets"][0]
    admin.post(f"/queues/{QUEUE}/tickets/{first['ticket']}/start").raise_for_status()
    given = admin.post(f"/queues/{QUEUE}/passes", json={"level": 2, "uses": 5}).raise_for_status().json()
    before = {token: told(server.base_url, token) for token in early.tokens}

    late = Joining(server.base_url)
    late.until(20)
    file = tmp_path / "fairline.backup"
    options = ("--store", server.store, "--data", str(server.data))
    done = fairline("backup", str(file), *options)
    assert done.returncode == 0, done.stderr
    late.until(20)
    late.stop()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    header = json.loads(file.read_bytes().partition(b"\n")[0])
    assert "the secret that signs tokens" in header["contains"]
    assert "names, phone numbers and e-mail addresses" in " ".join(header["contains"])

    lose(server)
    back = fairline("restore", str(file), *options)
    assert back.returncode == 0, back.stderr
    assert QUEUE in back.stdout
    again = fairline("restore", str(file), *options)
    assert again.returncode == 1
    assert "not empty" in again.stderr
    server.start()

    assert server.admin_key == key
    after = {token: told(server.base_url, token) for token in early.tokens}
    kept = ("status", "label", "ticket", "position", "priority", "reason")
    for token, was in before.items():
        now = after[token]
        assert {name: now.get(name) for name in kept} == {name: was.get(name) for name in kept}
    # Those who joined during the backup are in it up to one moment, and in order; the others have to join again.
    found = [told(server.base_url, token) for token in late.tokens]
    there = [each for each in found if each["status"] == "waiting"]
    gone = [each for each in found if each["status"] != "waiting"]
    assert there
    assert gone
    assert {each["code"] for each in gone} == {"ticket_expired"}
    numbers = sorted(each["ticket"] for each in there)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    places = line(admin)
    assert places == sorted(set(places))

    # A person who joins now comes behind all others, and a token that is lost never shows the place of another.
    new = httpx.post(f"{server.base_url}/api/v1/queues/{QUEUE}/join", json={}).raise_for_status().json()
    assert new["ticket"] == places[-1] + 1
    assert new["position"] == len(places) + 1
    lost = [token for token, each in zip(late.tokens, found, strict=True) if each["status"] != "waiting"]
    assert {told(server.base_url, token)["code"] for token in lost} <= {"ticket_expired", "token_invalid"}
    by_pass = {"priority_pass": given["pass"]}
    ahead = httpx.post(f"{server.base_url}/api/v1/queues/{QUEUE}/join", json=by_pass).raise_for_status().json()
    assert ahead["priority"] == 2
    (webhook,) = admin.get("/webhooks").raise_for_status().json()["webhooks"]
    assert (webhook["id"], webhook["pending"]) == (hook.json()["id"], 3)
    admin.close()
