"""Syncs the file of an embedded server from outside, so that the server never waits for the disk.

The server has written everything to its append-only file before it answers: whatever process dies, nothing of it is
lost. What a power cut may take is what the disk has not been given yet. A server that syncs before each answer keeps
everyone waiting for the disk, also those who only ask; here its owner syncs the file a few times a second. See
docs/decisions/0011-the-disk-is-not-waited-for.md.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = "appendonlydir"
#: What the server appends to. The other files are snapshots, which it syncs itself.
_APPENDED = ".incr.aof"
#: macOS has no fdatasync; what it leaves out is only the times of the file.
_sync = getattr(os, "fdatasync", os.fsync)


class AppendOnlyFile:
    """The files that a server appends to: one, or two while it writes a snapshot in their place."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER
        self._open: dict[str, int] = {}
        self._synced: dict[str, int] = {}
        """How many bytes of each are known to be on disk."""

    def sync(self) -> None:
        """Have all that is written by now on disk; OSError where the disk does not take it."""
        found = self._found()
        for gone in self._open.keys() - found:  # a snapshot has all that was in it
            os.close(self._open.pop(gone))
            del self._synced[gone]
        for name in found - self._open.keys():
            try:
                # Kept open: the kernel tells of a write that failed later to those who had the file open then.
                self._open[name], self._synced[name] = os.open(self._folder / name, os.O_RDONLY), -1
            except FileNotFoundError:
                continue
        for name, file in self._open.items():
            size = os.fstat(file).st_size
            if size != self._synced[name]:
                _sync(file)
                self._synced[name] = size

    def close(self) -> None:
        """Let go of the files."""
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _found(self) -> set[str]:
        try:
            return {file.name for file in self._folder.iterdir() if file.name.endswith(_APPENDED)}
        except FileNotFoundError:
            return set()  # the server has not begun to write
