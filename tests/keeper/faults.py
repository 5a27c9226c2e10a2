"""A real store of which one call fails, or during one call of which the caller is ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal, cast

from fairline.errors import StoreUnavailable
from fairline.store import Store

#: `killed`: the caller is ended while it waits for an answer to a call that was done. `away`: the store was not there,
#: and nothing was done. `lost`: the call was done, and its answer was lost.
Fault = Literal["killed", "away", "lost"]


class FaultyStore:
    """Passes every call on to a store, and counts them. The call `at` (from 0) goes wrong."""

    def __init__(self, store: Store, fault: Fault = "away", at: int = -1) -> None:
        self._store = store
        self._fault = fault
        self._at = at
        self.calls: list[str] = []
        self.caller: asyncio.Task[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        there = getattr(self._store, name)
        return self._calling(name, there) if inspect.iscoroutinefunction(there) else there

    def _calling(self, name: str, there: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            self.calls.append(name)
            wrong = len(self.calls) - 1 == self._at
            if wrong and self._fault == "away":
                raise StoreUnavailable("it is away")
            answer = await there(*args, **named)
            if wrong and self._fault == "lost":
                raise StoreUnavailable("its answer was lost")
            if wrong:
                assert self.caller, "nobody to end"
                self.caller.cancel()
                await asyncio.Event().wait()
            return answer

        return call

    @property
    def store(self) -> Store:
        """It, as what it stands for."""
        return cast(Store, self)
