"""Does something a little later, once for all who asked meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Debounced:
    """Calls `do` so many seconds after it was first asked for. Nobody waits for it."""

    def __init__(self, do: Callable[[], Awaitable[None]], seconds: float) -> None:
        self._do = do
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._doing: set[asyncio.Future[None]] = set()

    def ask(self) -> None:
        """Have it done; once is enough, however often it is asked for."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._start)

    async def close(self) -> None:
        """Do it a last time, after what is being done."""
        if self._doing:
            await asyncio.wait(self._doing)
        await self._do()
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        self._timer = None
        task = asyncio.ensure_future(self._do())
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
