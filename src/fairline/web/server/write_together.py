"""Collects finished answers and writes them together.

The store answers many requests at once. If each answer were written as soon as it is built, its reader would wake up
and compete for the processor that is about to build the next one. So all answers are built first, and written one after
the other at the end of this iteration of the event loop; or earlier, as soon as new input is read: uvloop reads before
it runs callbacks, and a connection's next request must not be answered before its last one.
"""

from __future__ import annotations

import asyncio

import structlog

log = structlog.get_logger()


class PendingWrites:
    """The answers of one worker that are built but not written yet."""

    def __init__(self) -> None:
        self.ready: list[tuple[asyncio.Transport, bytes]] = []
        """Each answer with the transport to write it to."""

    def add(self, transport: asyncio.Transport, data: bytes) -> None:
        """Write this soon, after what was added before."""
        if not self.ready:
            asyncio.get_running_loop().call_soon(self.flush)
        self.ready.append((transport, data))

    def flush(self) -> None:
        """Write everything now. Call it before reading new input, writing directly or closing a connection."""
        ready, self.ready = self.ready, []
        for transport, data in ready:
            if transport.is_closing():
                continue
            try:
                transport.write(data)
            except Exception:  # the other clients must still receive their answers
                log.exception("http.failed")
