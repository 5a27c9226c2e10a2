"""Groups calls that arrive together into one store call.

Calls that come in while one store call is under way form the next; there is never a timer. One call by itself goes out
in the same turn of the event loop, a rush goes out in large batches, and the busier it gets the cheaper each call is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from time import monotonic
from typing import Generic, TypeAlias, TypeVar

from fairline.errors import FairlineError, StoreOverloaded

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Hears of each store call: its key, when it was sent, when each of its callers asked (all monotonic), and what
#: came for each of them, or the error that came for all.
OnSent: TypeAlias = Callable[[Key, float, Sequence[float], Sequence[Result | FairlineError] | Exception], None]


class Grouping(Generic[Key, Item, Result]):
    """One kind of call. Calls with the same key (a queue) go out together; different keys do not wait for each other.

    Each caller has an answer or an error of its own. A caller that gives up before its call is sent is left out; once
    it is sent, it is done whether the caller waits or not, and never sent again. One that has waited longer than
    `patience` seconds is answered instead of sent: a store that hangs costs its callers a bounded time, however many.
    """

    def __init__(
        self,
        send: Callable[[Key, list[Item]], Awaitable[Sequence[Result | FairlineError]]],
        *,
        batch: int = 250,
        bound: int = 20_000,
        patience: float = 5.0,
        on_sent: OnSent[Key, Result] | None = None,
    ) -> None:
        self._send = send
        self._batch = batch
        self._bound = bound
        self._patience = patience
        self._on_sent = on_sent
        self._waiting: dict[Key, deque[tuple[Item, asyncio.Future[Result], float]]] = {}
        self._sending: dict[Key, asyncio.Task[None]] = {}
        self._count = 0

    def call(self, key: Key, item: Item) -> asyncio.Future[Result]:
        """Ask for one thing; the answer comes with the batch it goes out in."""
        if self._count >= self._bound:
            raise StoreOverloaded(self._count)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._count += 1
        queue = self._waiting.get(key)
        if queue is None:
            queue = self._waiting[key] = deque()
        queue.append((item, future, monotonic()))
        if key not in self._sending:
            # A task begins after this turn of the loop, so everything that arrives in it goes out together.
            self._sending[key] = asyncio.ensure_future(self._drain(key, queue))
        return future

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._sending:
            await asyncio.wait(self._sending.values())

    async def _drain(self, key: Key, queue: deque[tuple[Item, asyncio.Future[Result], float]]) -> None:
        try:
            while queue:
                await self._send_next(key, queue)
        finally:
            # Nothing is kept for a key that nobody asks for: names made up by strangers cost nothing.
            del self._sending[key], self._waiting[key]
            self._count -= len(queue)
            for _, future, _ in queue:  # there are some only where the loop itself ends
                if not future.done():
                    future.set_exception(FairlineError("Shutting down."))

    async def _send_next(self, key: Key, queue: deque[tuple[Item, asyncio.Future[Result], float]]) -> None:
        batch: list[tuple[Item, asyncio.Future[Result]]] = []
        asked: list[float] = []
        began = monotonic()
        oldest = began - self._patience
        while queue and len(batch) < self._batch:
            item, future, since = queue.popleft()
            self._count -= 1
            if future.cancelled():
                continue
            if since < oldest:
                future.set_exception(StoreOverloaded(self._count))
            else:
                batch.append((item, future))
                asked.append(since)
        if not batch:
            return
        outcome: Sequence[Result | FairlineError] | Exception
        try:
            outcome = results = await self._send(key, [item for item, _ in batch])
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, FairlineError):
                    future.set_exception(result)
                else:
                    future.set_result(result)
        except BaseException as error:
            # Whatever went wrong, nobody is left waiting; only the end of the loop itself goes further.
            for _, future in batch:
                if not future.done():
                    future.set_exception(error if isinstance(error, Exception) else FairlineError("Shutting down."))
            if not isinstance(error, Exception):
                raise
            outcome = error
        if self._on_sent is not None:
            self._on_sent(key, began, asked, outcome)
