"""Roles on several processes: each says what it is and what it waits for, and the doctor finds what does not fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import redis

from fairline.store.valkey.embedded import EmbeddedValkey
from tests.backends import HOST, end, free_ports, wait_until
from tests.cli.typed import fairline

SECRET = "one-secret-for-all-servers-0123456789"
OWN = {"FAIRLINE_SECRET": SECRET, "FAIRLINE_ADMIN_KEY": "k" * 32, "FAIRLINE_SWEEP_SECONDS": "0.5"}
#: Run before everything else in a process: its clock is a minute ahead.
AHEAD = "import time\nclock = time.time\ntime.time = lambda: clock() + 60\n"


class Process:
    """`fairline serve` in one role, on a store that others use too."""

    def __init__(self, folder: Path, store: str, role: str, environ: dict[str, str]) -> None:
        folder.mkdir()
        (self.port,) = free_ports(1)
        self._log = folder / "log"
        ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
        words = ["--role", role, "--store", store, "--data", folder / "data", "--port", self.port, "--workers", 1]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairline", "serve", *map(str, words)],
                cwd=folder,
                env=ours | OWN | environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self) -> str:
        """All that it has printed and logged so far."""
        return self._log.read_text(encoding="utf-8")

    def says(self, text: str, times: int = 1) -> None:
        """Wait until it has said this so often."""
        wait_until(lambda: self.said().count(text) >= times, f"{text!r} is not in {self._log}")

    def logs(self, event: str) -> list[dict[str, Any]]:
        """The structured lines of one event."""
        entries = [msgspec.json.decode(line) for line in self.said().splitlines() if line.startswith("{")]
        return [entry for entry in entries if entry["event"] == event]

    def end(self) -> None:
        end(self.process, 25)


Start = Callable[..., Process]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """A Valkey that is nobody's own."""
    with EmbeddedValkey(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
def start(tmp_path: Path, store: EmbeddedValkey) -> Iterator[Start]:
    with ExitStack() as ending:

        def start(name: str, role: str, **environ: str) -> Process:
            process = Process(tmp_path / name, store.url, role, environ)
            ending.callback(process.end)
            return process

        yield start


def doctor(store: str, data: Path, **environ: str) -> tuple[int, str]:
    """What the doctor finds, as plain words."""
    (port,) = free_ports(1)
    done = fairline("doctor", "--store", store, "--data", str(data), **{**OWN, "FAIRLINE_PORT": str(port), **environ})
    assert done.stderr == ""
    return done.returncode, re.sub(r"\s+", " ", done.stdout)


def test_a_web_server_without_a_keeper_says_so_and_is_ready_once_one_comes(
    store: EmbeddedValkey, start: Start, tmp_path: Path
) -> None:
    web = start("web", "web")
    web.says("Waiting for a keeper.")
    web.says("role.waits")
    assert "fairline serve --role keeper" in web.said()
    assert "Fairline is ready." not in web.said()
    (started,) = web.logs("role.started")
    assert started["role"] == "web"
    assert "a keeper on the same store with the same secret" in started["needs"]
    assert web.logs("role.waits")[0]["part"] == "keeper"
    assert httpx.get(f"http://{HOST}:{web.port}/readyz").status_code == 503
    code, found = doctor(store.url, tmp_path / "data")
    assert code == 1
    assert re.search(r"fix keeper none has run recently, and \S+:\d+ cannot let anybody in", found), found

    keeper = start("keeper", "keeper")
    web.says("Fairline is ready.")
    web.says("role.found")
    assert httpx.get(f"http://{HOST}:{web.port}/readyz").status_code == 200
    keeper.says("The keeper of Fairline is running.")
    keeper.says("role.found")
    assert keeper.logs("role.started")[0]["role"] == "keeper"
    code, found = doctor(store.url, tmp_path / "data")
    assert code == 0, found
    assert "ok keeper runs:" in found
    assert "ok secrets one for all servers on this store (2 processes)" in found

    web.end()
    keeper.says("role.waits")
    assert keeper.logs("role.waits")[-1]["part"] == "web"


def test_the_doctor_finds_servers_with_different_secrets_and_clocks(
    store: EmbeddedValkey, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "ahead").mkdir()
    (tmp_path / "ahead" / "sitecustomize.py").write_text(AHEAD, encoding="utf-8")
    one = start("one", "all", PYTHONPATH=str(tmp_path / "ahead"))
    one.says("Fairline is ready.")
    code, found = doctor(store.url, tmp_path / "data")
    assert code == 1
    assert re.search(r"fix clocks compared with the store, \S+ is 60\.\d s ahead", found), found
    assert "ok secrets" in found
    code, found = doctor(store.url, tmp_path / "data", FAIRLINE_SECRET="x" * 32)
    assert "fix secrets this machine has another one than" in found
    two = start("two", "web", FAIRLINE_SECRET="another-secret-0123456789abcdef")
    two.says("Fairline is ready.")
    code, found = doctor(store.url, tmp_path / "data")
    assert code == 1
    assert "fix secrets servers on this store have 2 different ones" in found
    assert "Set the same FAIRLINE_SECRET on all" in found


def test_the_doctor_finds_a_store_that_loses_places(store: EmbeddedValkey, tmp_path: Path) -> None:
    client: Any = redis.Redis.from_url(store.url.replace("valkey+unix", "unix"))
    hidden = store.url.replace("valkey+unix://", "valkey+unix://managed:password@")
    client.execute_command("ACL", "SETUSER", "managed", "on", ">password", "~*", "&*", "+@all", "-config")
    for url in (store.url, hidden):
        for policy, code, says in (
            ("allkeys-lru", 1, "fix maxmemory-policy maxmemory-policy is allkeys-lru It would delete people's places"),
            ("volatile-ttl", 0, "warn maxmemory-policy maxmemory-policy is volatile-ttl It would forget counts"),
            ("noeviction", 0, "Ready."),
        ):
            client.config_set("maxmemory-policy", policy)
            found = doctor(url, tmp_path / "data")
            assert found[0] == code, found
            assert says in found[1]
    client.config_set("appendfsync", "everysec")
    found = doctor(store.url, tmp_path / "data")
    assert "warn appendfsync appendfsync is everysec A crash of the server may lose" in found[1]
    client.config_set("appendonly", "no")
    assert "warn appendonly appendonly is no" in doctor(hidden, tmp_path / "data")[1]
    client.close()


def test_a_role_on_a_store_that_nobody_else_can_use_is_warned_about(tmp_path: Path) -> None:
    web = Process(tmp_path / "alone", "embedded", "web", {})
    try:
        web.says("No other server can use the store embedded, so a web finds no counterpart.")
    finally:
        web.end()
