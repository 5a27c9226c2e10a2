"""`fairline ready`, as health checks run it: it ends with 0 only where the server can serve."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from fairline.store.valkey.embedded import find_server
from tests.backends import HOST, Node, wait_until
from tests.cli.typed import fairline, other_program
from tests.web.running import RunningServer

IDLE = "Error: The keeper is not ready: it has made no round of late.\n"


def test_a_server_is_ready_only_while_its_store_answers(server: RunningServer) -> None:
    well = fairline("ready", FAIRLINE_HOST="0.0.0.0", FAIRLINE_PORT=str(server.port))
    assert (well.returncode, well.stdout) == (0, "Ready.\n"), well.stderr
    store = server.store_pid()
    os.kill(store, signal.SIGSTOP)
    try:
        ill = fairline("ready", "--server", server.base_url)
    finally:
        os.kill(store, signal.SIGCONT)
    assert (ill.returncode, ill.stderr) == (1, "Error: The server is not ready: store does not answer.\n")
    wait_until(lambda: fairline("ready", "--server", server.base_url).returncode == 0, "never ready again")


def test_a_server_that_is_away_or_is_another_is_not_ready() -> None:
    away = fairline("ready", "--server", "http://127.0.0.1:1")
    assert away.returncode == 1
    assert "No server answers at http://127.0.0.1:1" in away.stderr
    with other_program() as port:
        other = fairline("ready", "--server", f"http://127.0.0.1:{port}")
        assert other.returncode == 1
        assert "not as a Fairline would" in other.stderr


def test_a_keeper_is_ready_while_it_makes_rounds(tmp_path: Path) -> None:
    with ExitStack() as ending:
        node = Node(tmp_path / "valkey", find_server(), ending=ending)
        environ = {
            "FAIRLINE_ROLE": "keeper",
            "FAIRLINE_STORE": f"valkey://{HOST}:{node.port}/0",
            "FAIRLINE_DATA": str(tmp_path / "data"),
            "FAIRLINE_SWEEP_SECONDS": "0.5",
        }
        before = fairline("ready", **environ)
        assert (before.returncode, before.stderr) == (1, IDLE)
        keeper = subprocess.Popen([sys.executable, "-m", "fairline", "serve"], env=os.environ | environ)
        try:
            wait_until(lambda: fairline("ready", **environ).returncode == 0, "the keeper is never ready")
            assert fairline("ready", **environ).stdout == "Ready.\n"
        finally:
            keeper.terminate()
            keeper.wait(30)
        wait_until(lambda: fairline("ready", **environ).stderr == IDLE, "ready without a keeper")
    away = fairline("ready", **environ)
    assert (away.returncode, away.stderr) == (1, "Error: The keeper is not ready: store does not answer.\n")


def test_a_keeper_with_a_store_that_nobody_else_reaches_is_not_ready() -> None:
    keeper = fairline("ready", FAIRLINE_ROLE="keeper")
    assert keeper.returncode == 1
    assert "its store is embedded" in keeper.stderr
