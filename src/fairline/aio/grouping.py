"""Groups calls that arrive together into one store call.

Calls that come in while one store call is under way, and in the few turns of the event loop after it, form the next;
there is never a timer. One call by itself goes out in the same turn of the event loop, a rush goes out in large
batches, and the busier it gets the cheaper each call is: what a store call does once, it does once for many.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable, Sequence
from time import monotonic
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from fairline.errors import FairlineError, StoreOverloaded

#: After so many turns of the event loop in which nobody came, nobody is waited for; nor after so many in all.
QUIET_TURNS, MOST_TURNS = 3, 20

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Takes the answer to one call, or the error that came instead.
Done: TypeAlias = Callable[[Result | Exception], None]
#: Hears of each store call: its key, when it was sent, when each of its callers asked (all monotonic), and what
#: came for each of them, or the error that came for all.
OnSent: TypeAlias = Callable[[Key, float, Sequence[float], Sequence[Result | FairlineError] | Exception], None]


class GroupedCall(Struct, Generic[Result], frozen=True, eq=False):
    """One call that is to be grouped: await it, or have `then` called with what comes, which takes no turn of the event
    loop for each. Nothing is asked before that. Two that ask for the same are two calls."""

    group: Grouping[Any, Any, Result]
    key: Any
    item: Any

    def then(self, done: Done[Result]) -> None:
        """Ask, and have the answer or the error handed to `done`."""
        self.group.ask(self.key, self.item, done)

    def __await__(self) -> Generator[Any, None, Result]:
        return self.group.call(self.key, self.item).__await__()


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
        self._waiting: dict[Key, deque[_Call[Item, Result]]] = {}
        self._sending: dict[Key, asyncio.Task[None]] = {}
        self._count = 0

    def call(self, key: Key, item: Item) -> asyncio.Future[Result]:
        """Ask for one thing; the answer comes with the batch it goes out in."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.ask(key, item, _Settles(future))
        return future

    def ask(self, key: Key, item: Item, done: Done[Result]) -> None:
        """The same, with a function that is called with the answer or the error."""
        if self._count >= self._bound:
            raise StoreOverloaded(self._count)
        self._count += 1
        queue = self._waiting.get(key)
        if queue is None:
            queue = self._waiting[key] = deque()
            # A task begins after this turn of the loop, so everything that arrives in it goes out together.
            self._sending[key] = asyncio.ensure_future(self._drain(key, queue))
        queue.append((item, done, monotonic()))

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._sending:
            await asyncio.wait(self._sending.values())

    async def _drain(self, key: Key, queue: deque[_Call[Item, Result]]) -> None:
        try:
            while queue:
                await self._send_next(key, queue)
                await self._gather(queue)
        finally:
            # Nothing is kept for a key that nobody asks for: names made up by strangers cost nothing.
            del self._sending[key], self._waiting[key]
            self._count -= len(queue)
            for _, done, _ in queue:  # there are some only where the loop itself ends
                _tell(done, FairlineError("Shutting down."))

    async def _gather(self, queue: deque[_Call[Item, Result]]) -> None:
        """Those who were just answered hear it in the next turn of the loop, and some ask again at once. They and those
        who came meanwhile go out together: the next call waits for as long as more come, turn by turn."""
        quiet = turns = 0
        while quiet < QUIET_TURNS and turns < MOST_TURNS and len(queue) < self._batch:
            before = len(queue)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(queue) == before else 0
            turns += 1

    async def _send_next(self, key: Key, queue: deque[_Call[Item, Result]]) -> None:
        began = monotonic()
        self._send_away(queue, began - self._patience)
        calls = self._take(queue)
        if not calls:
            return
        items = [item for item, _, _ in calls]
        outcome: Sequence[Result | FairlineError] | Exception
        ending: BaseException | None = None
        try:
            outcome = await self._send(key, items)
            if len(outcome) != len(items):
                raise ValueError(f"{len(items)} asked, and {len(outcome)} were answered: nobody knows whose is whose")
        except Exception as error:
            outcome = error
        except BaseException as error:
            # The loop itself ends: nobody is left waiting all the same.
            outcome, ending = FairlineError("Shutting down."), error
        results = itertools.repeat(outcome) if isinstance(outcome, Exception) else outcome
        for (_, done, _), result in zip(calls, results, strict=False):
            try:
                done(result)
            except Exception as error:  # it never stops the others of its batch
                _complain(error)
        if ending is not None:
            raise ending
        if self._on_sent is not None:
            self._on_sent(key, began, [since for _, _, since in calls], outcome)

    def _send_away(self, queue: deque[_Call[Item, Result]], oldest: float) -> None:
        """Answer those who have waited too long, who are the first in order."""
        while queue and queue[0][2] < oldest:
            _, done, _ = queue.popleft()
            self._count -= 1
            _tell(done, StoreOverloaded(self._count))

    def _take(self, queue: deque[_Call[Item, Result]]) -> list[_Call[Item, Result]]:
        """Those who go out together, without who gave up."""
        calls = [queue.popleft() for _ in range(min(len(queue), self._batch))]
        self._count -= len(calls)
        return [call for call in calls if type(call[1]) is not _Settles or not call[1].future.cancelled()]


_Call: TypeAlias = tuple[Item, Done[Result], float]


class _Settles(Generic[Result]):
    """Hands an answer to whoever awaits it."""

    __slots__ = ("future",)

    def __init__(self, future: asyncio.Future[Result]) -> None:
        self.future = future

    def __call__(self, outcome: Result | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


def _tell(done: Done[Any], outcome: Any) -> None:
    try:
        done(outcome)
    except Exception as error:
        _complain(error)


def _complain(error: Exception) -> None:
    context = {"message": "An answer could not be taken.", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
