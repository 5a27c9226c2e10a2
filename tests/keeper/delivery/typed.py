"""Commands as an operator types them on the machine of a running server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from typer.testing import CliRunner

from fairline.cli.app import app
from tests.web.running import RunningServer

Run: TypeAlias = Callable[..., str]


def command(server: RunningServer, name: str) -> Run:
    """Runs the command `name` with other words behind it, expects an exit code, and answers what it prints."""
    environ = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data), "FAIRLINE_ADMIN_KEY": None}

    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [name, *words], env={**environ, "COLUMNS": "200", "NO_COLOR": "1"})
        assert done.exit_code == code, done.output
        return done.output

    return run
