"""`python -m examples.shop` as a newcomer runs it: in a terminal, or with its output in a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import urllib.request
from pathlib import Path
from typing import Any

from tests.backends import HOST, children_of, free_ports, wait_until

ROOT = Path(__file__).parents[2]
END_SECONDS = 30


class Demonstration:
    """The server with the shop next to it, until it is ended as the test says. With `terminal` it runs in one of its
    own, and Ctrl-C goes to all that run there."""

    def __init__(self, folder: Path, *options: str, terminal: bool = False) -> None:
        (port,) = free_ports(1)
        self.data = folder / "data"
        self.server = f"http://{HOST}:{port}"
        self.said = ""
        words = ["-m", "examples.shop", "--port", str(port), "--data", str(self.data), "--workers", "1", *options]
        ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
        self._keyboard = -1
        if terminal:
            self._keyboard, screen = pty.openpty()
            reading: int = self._keyboard
        else:
            reading, screen = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env={**ours, "NO_COLOR": "1", "COLUMNS": "200"},
            stdin=screen if terminal else subprocess.PIPE,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
            preexec_fn=_take_terminal if terminal else None,  # noqa: PLW1509 - it runs one system call
        )
        os.close(screen)
        self._reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._reader.start()

    def _read(self, file: int) -> None:
        try:
            while piece := os.read(file, 65536):
                self.said += piece.decode(errors="replace")
        except OSError:  # a terminal that nobody has open any more
            pass
        finally:
            os.close(file)

    def until_told(self) -> None:
        """Wait until it has said all there is to open."""
        wait_until(lambda: "data folder" in self.said or self.process.poll() is not None, "it is not ready", 60)

    def until_open(self) -> str:
        """Wait until the shop takes visitors; its address."""
        self.until_told()
        found = re.search(rf"http://{HOST}:\d+/(?=\s)", self.said)
        assert found, self.said
        wait_until(lambda: _answers(f"{found[0]}report"), f"the shop does not answer: {self.said}", 60)
        return found[0]

    def pids(self) -> set[int]:
        """It, and all that it has started."""
        found: set[int] = set()
        new = {self.process.pid}
        while new:
            found |= new
            new = {pid for each in new for pid in children_of(each)} - found
        return found

    def press_ctrl_c(self) -> None:
        """As someone at the terminal."""
        os.write(self._keyboard, b"\x03")

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the server, or to all of its group."""
        (os.killpg if group else os.kill)(self.process.pid, number)

    def ended(self) -> int:
        """The exit code, once it has ended and everything it said is read: nobody has its output open any more."""
        code = self.process.wait(END_SECONDS)
        self._reader.join(END_SECONDS)
        assert not self._reader.is_alive(), f"somebody still has its output open: {self.said}"
        return code

    def ask(self, path: str, **body: Any) -> dict[str, Any]:
        """A call to the server: with a body a POST. The admin key goes along."""
        key = (self.data / "admin-key").read_text(encoding="utf-8").strip()
        headers = {"authorization": f"Bearer {key}"} if "/admin/" in path else {}
        request = urllib.request.Request(f"{self.server}{path}", json.dumps(body).encode() if body else None, headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))

    def stats(self) -> dict[str, Any]:
        """The statistics of the shop's queue."""
        return self.ask("/api/v1/admin/queues/shop/stats")

    def __enter__(self) -> Demonstration:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids() if self.process.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def _take_terminal() -> None:
    """The terminal becomes the one whose Ctrl-C this session receives."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True


def is_there(pid: int) -> bool:
    """Whether a process runs. One that has ended and that nobody has looked after yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
