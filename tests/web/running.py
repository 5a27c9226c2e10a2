"""A whole server as an operator starts it: a supervisor, its workers and its embedded store, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairline.process.supervisor import ready_worker
from fairline.web.metrics.metrics_folder import FOLDER
from tests.backends import HOST, PATIENCE_SECONDS, children_of, end, free_ports, wait_until

READY_SECONDS = 60
END_SECONDS = 25


class RunningServer:
    """`python -m fairline serve` on a free port, with its data in one folder. `environ` adds FAIRLINE_* variables, in
    which `{base_url}` stands for the server's own address; `log` is where its lines go, if not into that folder."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        store: str = "embedded",
        environ: dict[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.host = HOST
        (self.port,) = free_ports(1)
        self.base_url = f"http://{self.host}:{self.port}"
        self.data = folder / "data"
        self.store = store
        self.process: subprocess.Popen[bytes]
        self._folder = folder
        self._log = log or folder / "server.log"
        self._workers = workers
        self._ready: set[int] = set()
        ours = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")}
        theirs = {name: value.replace("{base_url}", self.base_url) for name, value in (environ or {}).items()}
        # All tests have one address: what one of them tries is nothing to the others.
        self._environ = ours | {"FAIRLINE_STORE": store, "FAIRLINE_WRONG_KEYS_PER_MINUTE": "0"} | theirs
        self.start()

    @property
    def admin_key(self) -> str:
        """The first admin key."""
        given = self._environ.get("FAIRLINE_ADMIN_KEY")
        return given or (self.data / "admin-key").read_text(encoding="utf-8").strip()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        options = ["--host", self.host, "--port", self.port, "--data", self.data, "--workers", self._workers]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairline", "serve", *map(str, options)],
                cwd=self._folder,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_until(self._is_ready, f"the server is not ready; see {self._log}", READY_SECONDS)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it in order; its data stays."""
        end(self.process, END_SECONDS)

    def restart(self) -> None:
        """End it and start it again, on the same port and data."""
        self.stop()
        self.start()

    def worker_pids(self) -> list[int]:
        """The HTTP processes that run now."""
        return [pid for pid in children_of(self.process.pid) if b"fairline.process.worker" in _command(pid)]

    def store_pid(self) -> int:
        """The process of the embedded store."""
        (pid,) = (pid for pid in children_of(self.process.pid) if b"fairline.process.worker" not in _command(pid))
        return pid

    def metrics_folder(self) -> Path:
        """Where the workers write what they count."""
        said = Path(f"/proc/{self.worker_pids()[0]}/environ").read_bytes().split(b"\0")
        (folder,) = (each.partition(b"=")[2] for each in said if each.startswith(f"{FOLDER}=".encode()))
        return Path(os.fsdecode(folder))

    def lines(self) -> list[str]:
        """All that it has written so far."""
        return self._log.read_text(encoding="utf-8").splitlines()

    def logs(self, event: str) -> list[dict[str, Any]]:
        """The structured log lines of one event so far, oldest first."""
        entries = [json.loads(line) for line in self.lines() if line.startswith("{")]
        return [entry for entry in entries if entry.get("event") == event]

    def logged(self, event: str, seconds: float = PATIENCE_SECONDS, **fields: object) -> dict[str, Any]:
        """The newest log line of an event with these fields; fails where none comes."""
        deadline = time.monotonic() + seconds
        while True:
            found = [entry for entry in self.logs(event) if fields.items() <= entry.items()]
            if found:
                return found[-1]
            assert time.monotonic() < deadline, f"no {event} with {fields} in {self._log}"
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, f"the server ended at once; see {self._log}"
        pids = self.worker_pids()
        if len(pids) == self._workers and (pid := ready_worker(self.host, self.port)):
            self._ready.add(pid)
        return self._ready.issuperset(pids) and len(pids) == self._workers


@contextmanager
def running_server(folder: Path, **options: Any) -> Iterator[RunningServer]:
    """A server that ends with the block."""
    server = RunningServer(folder, **options)
    try:
        yield server
    finally:
        server.stop()


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
