"""The wheel, as someone installs it who has no checkout: it serves, on every Python that is there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import fairline
from tests.backends import HOST, free_ports, wait_until
from tests.package.conftest import ROOT
from tests.package.pythons import RUNNING, VERSIONS, find_python

ENVIRON = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("FAIRLINE_", "PYTHON")) and name != "VIRTUAL_ENV"
}
STATIC = re.compile(r'(?:src|href)="(/static/[^"]+)"')


@pytest.mark.timeout(600)  # forty packages come from a registry
@pytest.mark.parametrize(
    "version", [pytest.param(each, marks=[] if each == RUNNING else pytest.mark.long) for each in VERSIONS]
)
def test_who_installs_the_wheel_has_a_server_with_a_waiting_page(version: str, wheel: Path, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    venv = tmp_path / "venv"
    _run(python, "-m", "venv", "--without-pip", venv, cwd=tmp_path)
    pip = (sys.executable, "-m", "pip", "--python", venv / "bin/python", "--disable-pip-version-check")
    _run(*pip, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)

    command = venv / "bin/fairline"
    assert _run(command, "--version", cwd=tmp_path) == f"fairline {fairline.__version__}\n"
    with _served(command, tmp_path) as client:
        joined = client.post("/api/v1/queues/demo/join")
        assert joined.is_success, joined.text
        assert joined.json()["ticket"] == 1, joined.text
        page = client.get("/q/demo", headers={"accept": "text/html", "accept-language": "de"})
        assert page.status_code == 200, page.text
        assert '<html lang="de"' in page.text
        used = STATIC.findall(page.text)
        assert used
        for path in used:
            assert client.get(path).status_code == 200, path


@contextmanager
def _served(command: Path, folder: Path) -> Iterator[httpx.Client]:
    """A server with what a user has: the command, and a folder of their own. It is ended by Ctrl-C."""
    (port,) = free_ports(1)
    log = folder / "server.log"
    with log.open("wb") as lines:
        server = subprocess.Popen(
            [command, "serve", "--port", str(port), "--data", folder / "data", "--workers", "1"],
            cwd=folder,
            env=ENVIRON,
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
            start_new_session=True,
        )
    try:
        with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
            try:
                wait_until(lambda: _is_ready(client, server, log), "the server is not ready", 60)
            except AssertionError as error:
                raise AssertionError(f"{error}:\n{log.read_text()}") from None
            yield client
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0, log.read_text()
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _is_ready(client: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> bool:
    assert server.poll() is None, log.read_text()
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; fails with all it said where it fails."""
    done = subprocess.run(command, cwd=cwd, env=ENVIRON, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
