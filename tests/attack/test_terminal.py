"""What strangers write never steers the terminal of the operator who reads it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import httpx
import pytest

from fairline.settings import LogFormat
from tests.attack.conftest import MakeQueue
from tests.backends import HOST, serving_http
from tests.cli.typed import fairline
from tests.web.running import RunningServer

#: Clears the screen, writes over a line, changes the title by C1, turns the direction of writing, paints it red.
HOSTILE = "\x1b[2J\r\x9b31m\u202egpj\x07 [red]Eve[/red] :skull:"
WRITTEN_OUT = r"\x1b[2J\r\x9b31m\u202egpj\x07 [red]Eve[/red] :skull:"
#: What steers a terminal. Lines end, and nothing else of it is left.
STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def test_what_strangers_write_is_shown_as_text_by_every_command(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(admission="manual", name=HOSTILE, message=HOSTILE, one_per="none")
    person = {"user_id": HOSTILE, "metadata": {"note": HOSTILE}}
    for _ in range(3):
        httpx.post(f"{server.base_url}/api/v1/queues/{queue}/join", json=person).raise_for_status()
    path = f"/api/v1/admin/queues/{queue}"
    operator.post(f"{path}/call-next", json={"desk": "[red]Desk[/red]"}).raise_for_status()
    operator.post("/api/v1/admin/keys", json={"role": "viewer", "name": HOSTILE}).raise_for_status()
    written_by_strangers = {
        ("ticket", "show", queue, "2"): True,
        ("queue", "show", queue): True,
        ("keys", "list"): True,
        ("queue", "history", queue): False,  # it makes one space of what is between two words
        ("ticket", "list", queue): False,
        ("ticket", "recall", queue, "1"): False,
        ("audit",): False,
        ("top", "--once"): False,
        ("queue", "list"): False,
    }
    for words, has_all in written_by_strangers.items():
        said = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data), COLUMNS="500")
        assert said.returncode == 0, (words, said.stderr)
        assert not STEERS.search(said.stdout + said.stderr), words
        assert not has_all or WRITTEN_OUT in said.stdout, words
    on_terminal = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data), "TTY_COMPATIBLE": "1"}
    assert WRITTEN_OUT in fairline("report", queue, "--csv", **on_terminal).stdout
    for words in (("ticket", "list", queue, "--json"), ("ticket", "show", queue, "2", "--json")):
        said = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
        assert not STEERS.search(said.stdout), words
        found = json.loads(said.stdout)
        assert found.get("tickets", [found])[-1]["user_id"] == HOSTILE


def test_what_another_server_answers_is_shown_as_text() -> None:
    with hostile_server() as url:
        for words in (("queue", "pause", "sale"), ("top", "--once"), ("keys", "create"), ("report", "sale", "--csv")):
            said = fairline(*words, FAIRLINE_URL=url, FAIRLINE_ADMIN_KEY="k" * 16, COLUMNS="500")
            assert said.returncode == 1, words
            assert WRITTEN_OUT in said.stderr, words
            assert not STEERS.search(said.stdout + said.stderr), words


@pytest.mark.parametrize("kind", LogFormat)
def test_what_strangers_write_is_text_in_a_log_too(kind: LogFormat) -> None:
    code = (
        "import logging, structlog\n"
        "from fairline.logs import set_up_logs\n"
        "from fairline.settings import LogFormat\n"
        f"set_up_logs(LogFormat({kind.value!r}))\n"
        f"hostile = {HOSTILE!r}\n"
        "log = structlog.get_logger()\n"
        "log.warning('probe', reason=hostile, short=hostile[:4], names=[hostile])\n"
        "logging.getLogger('uvicorn').warning('bad request %s', hostile)\n"
        "try:\n    raise ValueError(hostile)\nexcept ValueError as error:\n    log.error('failed', exc_info=error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    own_colours = re.compile(r"\x1b\[[0-9;]*m")
    assert not STEERS.search(own_colours.sub("", done.stderr) if kind is LogFormat.TEXT else done.stderr)
    assert done.stderr.count("Eve") == 4
    assert "\x1b[2J" not in done.stderr


class _Hostile(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        content = json.dumps({"detail": HOSTILE}).encode()
        self.send_response(400)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET, do_POST, do_PATCH = _refuse, _refuse, _refuse  # noqa: N815 - the names are http.server's

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hostile_server() -> Iterator[str]:
    with serving_http(_Hostile) as port:
        yield f"http://{HOST}:{port}"
