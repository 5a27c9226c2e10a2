"""Debouncing: runs a function a little later, once for all requests in the meantime."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Debounced:
    """Runs `do` in the background, `seconds` after the first request for it."""

    def __init__(self, do: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._do = do
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Future[None]] = set()

    def ask(self) -> None:
        """Request a run. Further requests before it starts have no effect."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._start)

    async def close(self) -> None:
        """Wait for the present run, then run a last time."""
        if self._running:
            await asyncio.wait(self._running)
        await self._do()
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        self._timer = None
        task = asyncio.ensure_future(self._do())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
