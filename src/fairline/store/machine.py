"""What the machine gives a server: open files, and space on the disk of the data folder."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

#: A worker holds one open stream for each person who waits, and each stream needs a file descriptor.
FILES_WANTED = 20_000


def open_files() -> tuple[int, int]:
    """How many files this process may have open: now, and after the limit was raised."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def free_space(folder: Path) -> int | None:
    """How many bytes are free on the disk of a folder; None if it cannot be read."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
