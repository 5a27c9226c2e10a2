"""`fairline ready`, as health checks run it: it ends with 0 only where the server can serve."""

from __future__ import annotations

import os
import signal

from tests.backends import wait_until
from tests.cli.typed import fairline, other_program
from tests.web.running import RunningServer


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


def test_a_keeper_has_nobody_to_ask_and_passes() -> None:
    keeper = fairline("ready", FAIRLINE_ROLE="keeper")
    assert (keeper.returncode, keeper.stdout) == (0, "A keeper has no port: there is nothing to ask.\n")
