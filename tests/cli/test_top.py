"""`fairline top`: what it shows is what happened, and a server that goes away is waited for."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from fairline.cli.app import app
from fairline.cli.client import Api
from fairline.cli.top import frame
from fairline.cli.watch import MOST_QUEUES, EventRun, Watch
from fairline.errors import FairlineError
from tests.backends import PATIENCE_SECONDS
from tests.cli.typed import fairline
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("top"), workers=1)
    settings = {"id": "sale", "admission_rate": 0, "join_limit_per_ip": 0}
    headers = {"authorization": f"Bearer {running.admin_key}"}
    httpx.post(f"{running.base_url}/api/v1/admin/queues", json=settings, headers=headers).raise_for_status()
    yield running
    running.stop()


def watch(server: RunningServer, queue: str | None = None) -> Watch:
    return Watch(Api(server.base_url, server.admin_key, server.data), queue)


def join(server: RunningServer, count: int) -> None:
    for _ in range(count):
        httpx.post(f"{server.base_url}/api/v1/queues/sale/join").raise_for_status()


def shown(seen: Watch, width: int = 140) -> str:
    console = Console(width=width, height=30, no_color=True)
    with console.capture() as captured:
        console.print(frame(seen, width, 30))
    return captured.get()


def test_one_look_is_printed_for_scripts(server: RunningServer) -> None:
    done = fairline("top", "--once", FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^demo +active ", done.stdout, re.MULTILINE)
    assert re.search(r"^sale +active ", done.stdout, re.MULTILINE)
    assert re.search(r"store ok +keeper ok", done.stdout)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere", "--once"), "no queue"),
        (("--once", "--key", "wrong"), "not valid"),
        (("--once", "--server", "http://127.0.0.1:9"), "fairline serve"),
        (("--once", "--every", "0s"), "0.2s"),
    ],
)
def test_a_mistake_is_said_at_once(server: RunningServer, words: tuple[str, ...], said: str) -> None:
    environ = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data), "COLUMNS": "200"}
    done = CliRunner().invoke(app, ["top", *words], env=environ)
    assert done.exit_code in (1, 2)
    assert said in (done.exception.message if isinstance(done.exception, FairlineError) else done.output)


def test_it_shows_the_line_as_it_grows_and_what_happens(server: RunningServer) -> None:
    seen = watch(server, "sale")
    seen.read()
    before = seen.queues["sale"].stats["waiting"]
    join(server, 5)
    seen.read()
    assert list(seen.queues) == ["sale"]
    assert seen.queues["sale"].stats["waiting"] == before + 5
    assert list(seen.queues["sale"].line) == [before, before + 5]
    (happened,) = seen.events
    assert (happened.queue, happened.last["type"], happened.count) == ("sale", "joined", 5)
    text = shown(seen)
    assert "(5)" in text
    assert "▁█" in text or "█" in text
    assert max(map(len, shown(seen, 80).splitlines())) <= 80


def test_a_server_that_goes_away_is_waited_for(server: RunningServer) -> None:
    seen = watch(server)
    seen.read()
    server.stop()
    seen.try_to_read()
    text = shown(seen)
    assert re.search(r"no answer since \d\d:\d\d:\d\d", text)
    assert "keeper ok" not in text
    assert "sale" in text  # what was last seen stays
    server.start()
    join(server, 1)
    seen.try_to_read()
    assert seen.error == ""
    assert "no answer" not in shown(seen)
    join(server, 1)
    seen.read()
    assert seen.events[-1].last["type"] == "joined"


def test_a_rush_of_the_same_is_one_row_and_another_thing_is_the_next() -> None:
    joined = {"type": "joined", "detail": None, "ticket": 1}
    happened = EventRun("sale", joined, joined)
    assert happened.continues("sale", {**joined, "ticket": 2})
    assert not happened.continues("desk", joined)
    assert not happened.continues("sale", {**joined, "type": "expired", "detail": "left"})


class _Many:
    """An API with more queues than a screen can show."""

    url = "http://many.test"

    def ready(self) -> dict[str, Any]:
        return {"checks": {"store": "does not answer"}}

    def get(self, path: str, **_: object) -> Any:
        if path == "/queues":
            plain = {"status": "active", "admission": "auto", "admission_rate": 1, "max_active": 5}
            return {"queues": [{"id": f"q{n:02d}", "waiting": n, **plain} for n in range(30)]}
        if path.endswith("/events"):
            return {"events": [], "after": None}
        zeros = ("admitted", "active", "joins_per_minute", "admissions_per_minute", "completed", "expired")
        plain = dict.fromkeys(zeros, 0) | {"wait_p50_seconds": None, "wait_p90_seconds": None}
        return {"waiting": int(path.split("/")[2][1:]), **plain}


def test_of_many_queues_the_busiest_are_shown_and_the_rest_is_counted() -> None:
    seen = Watch(_Many())  # type: ignore[arg-type]
    seen.read()
    assert list(seen.queues) == [f"q{n:02d}" for n in range(30 - MOST_QUEUES, 30)]
    text = shown(seen)
    assert "10 more" in text
    assert "does not answer" in text


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_on_a_terminal_a_key_ends_it_and_leaves_the_terminal_as_it_was(server: RunningServer, key: bytes) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "fairline", "top", "--server", server.base_url, "--data", str(server.data)]
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "30"}
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True, close_fds=True
    )
    try:
        written = _read_until(ours, b"q ends it")
        assert b"\x1b[?1049h" in written  # a screen of its own
        os.write(ours, key) if key == b"q" else process.send_signal(2)
        written = _read_until(ours, b"\x1b[?1049l")
        assert process.wait(PATIENCE_SECONDS) == 0
        assert b"Traceback" not in written
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
        os.close(theirs)


def _read_until(terminal: int, wanted: bytes) -> bytes:
    found = b""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while wanted not in found:
        assert time.monotonic() < deadline, found
        if select.select([terminal], [], [], 0.2)[0]:
            found += os.read(terminal, 65536)
    return found
