"""The command line as an operator types it, and what else may answer where a server is looked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TypeAlias

import pytest

from tests.backends import serving_http
from tests.cli import quick

#: Runs a command that must end well; what it printed.
Run: TypeAlias = Callable[..., str]
#: Runs a command in this process; what it printed, and its error.
Here: TypeAlias = Callable[..., tuple[str, str]]


def fairline(*words: str, before: Sequence[str] = (), **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command, with none of this process's own settings; `before` is what runs it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
    whole = {**ours, "COLUMNS": "200", "NO_COLOR": "1", **environ}
    if not before and not any(name.startswith("PYTHON") for name in environ):  # Python reads those when it starts
        return quick.run(words, whole)
    return subprocess.run(
        [*before, sys.executable, "-m", "fairline", *words],
        capture_output=True,
        text=True,
        timeout=quick.MOST_SECONDS,
        env=whole,
        check=False,
    )


def as_anyone(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as someone whom the modes of files stop, as they do not stop root."""
    if os.geteuid() != 0:
        return fairline(*words, **environ)
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    return fairline(*words, before=("setpriv", "--bounding-set", "-dac_override,-dac_read_search"), **environ)


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>It works!</h1>")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def other_program() -> Iterator[int]:
    """A server that is no Fairline; its port."""
    with serving_http(_Page) as port:
        yield port
