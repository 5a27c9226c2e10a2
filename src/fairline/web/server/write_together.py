"""Answers that are ready, written together.

The store answers many at once. If each answer were written as soon as it is made, its reader would wake, and want the
processor that is about to make the next one. So all of them are made first, and written one after the other as soon as
the worker has nothing else to do in this turn of its loop; or before, as soon as anything new is read: uvloop looks for
that first, and what a connection says next must not be answered before what it said last.
"""

from __future__ import annotations

import asyncio

import structlog

log = structlog.get_logger()


class PendingWrites:
    """What is to be written by one worker."""

    def __init__(self) -> None:
        self.ready: list[tuple[asyncio.Transport, bytes]] = []
        """What is not written yet, and to whom."""

    def add(self, transport: asyncio.Transport, data: bytes) -> None:
        """Write this, after what was added before."""
        if not self.ready:
            asyncio.get_running_loop().call_soon(self.flush)
        self.ready.append((transport, data))

    def flush(self) -> None:
        """Write everything now: for whoever reads something new, wants to write, or to end a connection."""
        ready, self.ready = self.ready, []
        for transport, data in ready:
            if transport.is_closing():
                continue
            try:
                transport.write(data)
            except Exception:  # the others still have to hear
                log.exception("http.failed")
