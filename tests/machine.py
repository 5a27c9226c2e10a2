"""Who has the machine: most tests share it with two others; those that watch the clock have it to themselves."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Run beside others, but let whoever waits to be alone go first."""
    with _held(folder / "turnstile", fcntl.LOCK_SH):
        pass
    with _held(folder / "machine", fcntl.LOCK_SH):
        yield


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Run while nobody else does."""
    with _held(folder / "turnstile", fcntl.LOCK_EX), _held(folder / "machine", fcntl.LOCK_EX):
        yield


@contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield
