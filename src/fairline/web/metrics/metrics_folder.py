"""Where the workers of one server write what they count, in files that are mapped into their memory.

Whoever adds to a mapped file on a full disk is killed for it. So the files are in a folder that is itself in memory,
where there is one with enough room.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: By which prometheus_client knows where the files of all workers are; the supervisor sets it.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: A folder whose files are in memory, on Linux.
IN_MEMORY = Path("/dev/shm")
PREFIX = "fairline-metrics-"
#: Enough for a worker to count what happens in five thousand queues.
BYTES_A_WORKER = 16 << 20


class MetricsFolder:
    """A folder of its own for each server. It is locked for as long as the server runs: that tells it from what is left
    of one that was killed."""

    def __init__(self, data: Path, workers: int) -> None:
        self._on_disk = data / "metrics"
        self._bytes = workers * BYTES_A_WORKER
        self._path: Path | None = None
        self._lock: int | None = None

    def made(self) -> Path:
        """The folder, made when it is first asked for, and again where something cleared it away since."""
        if self._path is not None and self._path.is_dir():
            return self._path
        try:
            home = self._home()
            _clear(home)
            self.remove()
            self._path, self._lock = _make(home, self._path)
        except OSError:
            if self._path is None:
                raise
            # Later on it is the workers that fail without it, and are started again; the server goes on.
        return self._path

    def remove(self) -> None:
        """Remove it with all that was counted."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _home(self) -> Path:
        with contextlib.suppress(OSError):
            room = os.statvfs(IN_MEMORY)
            if room.f_bavail * room.f_frsize >= self._bytes and os.access(IN_MEMORY, os.W_OK):
                return IN_MEMORY
        self._on_disk.mkdir(parents=True, exist_ok=True)
        return self._on_disk


def _make(home: Path, path: Path | None) -> tuple[Path, int]:
    """A new folder, or the one of before again, for workers that run know it by its name; and its lock."""
    while True:
        if path is None:
            made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
        else:
            made = path
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if made.is_dir():
                return made, lock
            os.close(lock)  # another server took it for a leftover before it was locked


def _clear(home: Path) -> None:
    """Remove what is left of servers that were killed: folders of this user's that nobody has locked."""
    for path in home.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(folder).st_uid == os.geteuid():
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)
