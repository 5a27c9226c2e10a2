"""Embedded servers as their owners have them, and what can be seen of their processes and files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from fairline.store.valkey import embedded
from fairline.store.valkey.embedded import EmbeddedValkey

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends a server with its owner on Linux only")

# Another Fairline: starts a server, says its pid and URL, and goes on until its input closes.
OWNER = """
import sys
from pathlib import Path
from fairline.store import embedded as any_embedded
from fairline.store.valkey import embedded
{before}
server = embedded.EmbeddedValkey(Path(sys.argv[1]))
url = server.start()
print(server.pid, url, flush=True)
sys.stdin.read()
{after}
"""
# What it is where the system has no PR_SET_PDEATHSIG.
UNBOUND = "any_embedded.BIND_TO_OWNER = 'import os, sys; os.execv(sys.argv[3], sys.argv[3:])'"


class Owner:
    """Another process that owns an embedded server."""

    def __init__(self, folder: Path, before: str = "", after: str = "server.stop()") -> None:
        script = OWNER.format(before=before, after=after)
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        server, self.url = self.process.stdout.readline().split()
        self.server = int(server)

    def end(self, by: signal.Signals | None = None) -> None:
        """Close its input, or kill it, and wait until it is gone."""
        if by:
            self.process.send_signal(by)
        self.process.communicate(timeout=30)


StartOwner = Callable[..., Owner]
Make = Callable[..., EmbeddedValkey]


def use_redis_from_path(monkeypatch: pytest.MonkeyPatch) -> str:
    found = shutil.which("redis-server")
    if found is None:
        assert "CI" not in os.environ, "CI must have a redis-server to test against"
        pytest.skip("no redis-server on PATH")
    monkeypatch.setattr(embedded, "_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(Path(found).parent))
    return found


@contextlib.contextmanager
def client(url: str) -> Iterator[redis.Redis]:
    path = unquote(url.removeprefix("valkey+unix://"))
    with redis.Redis(unix_socket_path=path, decode_responses=True, retry=Retry(NoBackoff(), 0)) as connected:
        yield connected


def running(pid: int) -> bool:
    """Whether a process lives; one that ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return sys.platform != "linux" or ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def comes_true(condition: Callable[[], bool], within: float = 30) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def newest_part(folder: Path) -> Path:
    """The part of the append-only file that is written to."""
    return max((folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)


def leftovers(folder: Path) -> list[str]:
    return [name for name in ("valkey.sock", "valkey.pid") if os.path.lexists(folder / name)]
