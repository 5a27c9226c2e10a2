"""The command line against a running server, as an operator types it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("cli"))
    yield running
    running.stop()


def fairline(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
    return subprocess.run(
        [sys.executable, "-m", "fairline", *words],
        capture_output=True,
        text=True,
        timeout=30,
        env={**ours, "COLUMNS": "200", "NO_COLOR": "1", **environ},
        check=False,
    )


@pytest.fixture
def run(server: RunningServer) -> object:
    def run(*words: str) -> str:
        done = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_night_of_a_sale(run: object, server: RunningServer) -> None:
    assert callable(run)
    assert "made" in run("queue", "create", "night", "admission=manual", "name=Night sale", "stock=3")
    assert "paused" in run("queue", "pause", "night")
    assert "active" in run("queue", "resume", "night")
    assert "40 a second" in run("queue", "set", "night", "admission_rate=40", "stock=none")
    shown = json.loads(run("queue", "show", "night", "--json"))
    assert (shown["settings"]["admission_rate"], shown["settings"]["stock"]) == (40, None)
    assert "night" in run("queue", "list")
    assert "Nobody could be called" in run("ticket", "call-next", "night")
    run("queue", "set", "night", "heartbeat_timeout_seconds=0")
    assert f"{server.base_url}/join/night/kiosk?token=" in run("queue", "kiosk", "night", "--print")
    assert "is gone" in run("queue", "delete", "night", "--yes")


def test_a_person_is_called_served_and_done(run: object, server: RunningServer) -> None:
    import httpx

    assert callable(run)
    run("queue", "create", "desk", "admission=manual", "ticket_prefix=DESK")
    for name in ("Ada", "Grace"):
        httpx.post(f"{server.base_url}/api/v1/queues/desk/join", json={"name": name}).raise_for_status()
    listed = run("ticket", "list", "desk")
    assert listed.index("Ada") < listed.index("Grace")
    assert "RDESK-000001" in run("ticket", "call-next", "desk", "--counter", "Desk 2")
    assert "is active" in run("ticket", "start", "desk", "1")
    assert "is completed" in run("ticket", "complete", "desk", "1")
    assert "is expired (cancelled)" in run("ticket", "cancel", "desk", "2")
    assert json.loads(run("ticket", "show", "desk", "1", "--json"))["counter"] == "Desk 2"


def test_a_line_at_a_counter(run: object, server: RunningServer) -> None:
    import httpx

    assert callable(run)
    run("queue", "create", "office", "admission=manual", 'series=["A"]', 'opening_hours={"monday": ["00:00-24:00"]}')
    run("queue", "set", "office", "opening_hours={}")
    run("queue", "create", "annex", "admission=manual")
    for _ in range(3):
        httpx.post(f"{server.base_url}/api/v1/queues/office/join", json={}).raise_for_status()
    assert "ROFFICE-A0001 is held." in run("ticket", "hold", "office", "1")
    assert "at position 1" in run("ticket", "release", "office", "1")
    assert "at position 3" in run("ticket", "pass", "office", "1", "--places", "2")
    run("ticket", "call-next", "office")
    run("ticket", "no-show", "office", "2")
    assert "is admitted" in run("ticket", "reinstate", "office", "2")
    assert "RANNEX-000001 in annex now" in run("ticket", "transfer", "office", "3", "--to", "annex")


def test_keys_are_made_listed_taken_away_and_rotated(run: object, server: RunningServer) -> None:
    assert callable(run)
    made = json.loads(run("keys", "create", "--role", "viewer", "--name", "the board", "--json"))
    assert "the board" in run("keys", "list")
    seen = fairline("queue", "--key", made["key"], "--server", server.base_url, "list")
    assert seen.returncode == 0
    refused = fairline("queue", "--key", made["key"], "--server", server.base_url, "create", "mine")
    assert refused.returncode == 1
    assert "admin" in refused.stderr
    run("keys", "remove", made["id"])
    gone = fairline("queue", "--key", made["key"], "--server", server.base_url, "list")
    assert gone.returncode == 1
    assert "not valid" in gone.stderr
    assert "generation 2" in run("keys", "rotate")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("queue", "set", "demo", "admission_rate=fast"), "admission_rate"),
        (("queue", "set", "demo", "admission_rate"), "name=value"),
        (("queue", "set", "demo", "speed=3"), "speed"),
        (("queue", "show", "nowhere"), "no queue"),
        (("ticket", "show", "demo", "4711"), "no ticket 4711"),
        (("keys", "remove", "nobody"), "no admin key"),
    ],
)
def test_a_mistake_is_one_clear_line(server: RunningServer, words: tuple[str, ...], said: str) -> None:
    done = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_server_or_a_key_it_says_what_to_do(tmp_path: Path) -> None:
    away = fairline("queue", "--key", "k", "--server", "http://127.0.0.1:9", "list")
    assert away.returncode == 1
    assert "fairline serve" in away.stderr
    keyless = fairline("queue", "list", FAIRLINE_DATA=str(tmp_path))
    assert keyless.returncode == 1
    assert "--key" in keyless.stderr


def test_a_port_in_use_is_said_at_once(server: RunningServer, tmp_path: Path) -> None:
    done = fairline("serve", "--port", str(server.port), "--data", str(tmp_path))
    assert done.returncode == 1
    assert "--port" in done.stderr


def test_a_folder_in_use_is_said_at_once(server: RunningServer) -> None:
    done = fairline("serve", "--port", "0", "--data", str(server.data))
    assert done.returncode == 1
    assert str(server.process.pid) in done.stderr


def test_the_doctor_finds_what_would_hurt(tmp_path: Path) -> None:
    well = fairline("doctor", "--data", str(tmp_path / "fresh"))
    assert well.returncode == 0, well.stdout
    assert "Ready" in well.stdout
    assert "FAIRLINE_PUBLIC_URL" in well.stdout
    told = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_PUBLIC_URL="https://wait.example")
    assert "https://wait.example" in told.stdout
    (tmp_path / "secret").write_text("open to all", encoding="utf-8")
    (tmp_path / "secret").chmod(0o644)
    ill = fairline("doctor", "--data", str(tmp_path))
    assert ill.returncode == 1
    assert f"chmod 600 {tmp_path / 'secret'}" in ill.stdout
    away = fairline("doctor", "--store", "valkey://127.0.0.1:9", "--data", str(tmp_path / "fresh"))
    assert away.returncode == 1
    assert "The store is away" in away.stdout
    weak = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_SECRET="short")
    assert "openssl rand" in weak.stdout


def test_secrets_are_for_the_owner_alone(server: RunningServer) -> None:
    for name in ("secret", "admin-key"):
        assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600


def test_help_teaches(tmp_path: Path) -> None:
    for words in ((), ("queue",), ("ticket",), ("keys",), ("serve",), ("doctor",)):
        done = fairline(*words, "--help")
        assert done.returncode == 0
        assert "Usage:" in done.stdout
    assert "fairline queue set sale admission_rate=40" in " ".join(fairline("queue", "--help").stdout.split())
