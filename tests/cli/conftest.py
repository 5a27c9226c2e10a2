"""A server for the commands of each module, and two ways to run a command on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from rich.console import Console

from fairline.cli import show
from fairline.cli.app import main
from tests.cli.typed import Here, Run, fairline
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("cli"), workers=1)
    yield running
    running.stop()


@pytest.fixture
def run(server: RunningServer) -> Run:
    def run(*words: str) -> str:
        done = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def here(server: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in this process, which is quicker; answers what it said, on which of the two."""
    monkeypatch.setenv("FAIRLINE_URL", server.base_url)
    monkeypatch.setenv("FAIRLINE_DATA", str(server.data))
    monkeypatch.setattr(show, "console", Console(highlight=False, width=200, no_color=True))

    def here(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["fairline", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code == 0) == (err == ""), err
        return out, err

    return here
