"""Publishes the address of a running server in a file of its data folder, where commands on the same machine find
it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

FILE = "address"


@contextlib.contextmanager
def published(data: Path, url: str | None) -> Iterator[None]:
    """Keep the address in the folder while the server runs; None is a server that does not listen. A file that cannot
    be written stops nothing."""
    path = data / FILE
    if url:
        with contextlib.suppress(OSError):
            temporary = path.with_name(f".{FILE}-{os.getpid()}")
            temporary.write_text(f"{url}\n", encoding="utf-8")
            temporary.replace(path)
    try:
        yield
    finally:
        if url and found_in(data) == url:  # another server may use the folder too and have written its own address
            with contextlib.suppress(OSError):
                path.unlink()


def found_in(data: Path) -> str | None:
    """The address of the server that runs with this data folder, or of the last one, if it was killed."""
    try:
        return (data / FILE).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
