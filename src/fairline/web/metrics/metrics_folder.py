"""The folder in which the workers of one server write their metrics, in files that are mapped into their memory.

A process that writes to a mapped file on a full disk is killed. So the folder is a memory file system, where there is
one with enough free space.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: The environment variable that names the folder for prometheus_client; the supervisor sets it.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: The memory file system of Linux.
IN_MEMORY = Path("/dev/shm")
PREFIX = "fairline-metrics-"
#: Enough for a worker to count what happens in five thousand queues.
BYTES_A_WORKER = 16 << 20


class MetricsFolder:
    """The folder of one server. It is locked while the server runs, which distinguishes it from the folder that a
    killed server has left behind."""

    def __init__(self, data: Path, workers: int) -> None:
        self._on_disk = data / "metrics"
        self._bytes = workers * BYTES_A_WORKER
        self._path: Path | None = None
        self._lock: int | None = None

    def ensure(self) -> Path:
        """The folder; created at the first call, and recreated if something has removed it since."""
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
            # Once the server runs, only the workers fail without the folder, and they are restarted.
        return self._path

    def remove(self) -> None:
        """Remove the folder with all its metrics."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _home(self) -> Path:
        with contextlib.suppress(OSError):
            space = os.statvfs(IN_MEMORY)
            if space.f_bavail * space.f_frsize >= self._bytes and os.access(IN_MEMORY, os.W_OK):
                return IN_MEMORY
        self._on_disk.mkdir(parents=True, exist_ok=True)
        return self._on_disk


def _make(home: Path, path: Path | None) -> tuple[Path, int]:
    """A new folder, or the same one recreated, because running workers know it by its name; and its lock."""
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
            os.close(lock)  # another server removed it as a leftover before it was locked


def _clear(home: Path) -> None:
    """Remove the folders of killed servers: folders of this user that nobody has locked."""
    for path in home.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(folder).st_uid == os.geteuid():
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)
