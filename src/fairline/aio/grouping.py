"""Grouping: combines calls that arrive together into one store call.

Calls that arrive while a store call is under way, and in the few turns of the event loop after it, form the next store
call; there is no timer. A single call is sent in the same turn of the event loop. A rush is sent in large batches, and
the busier the server is, the cheaper each call becomes, because the fixed cost of a store call is shared by many.
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

#: A batch is sent after this many turns of the event loop without a new call, and after this many turns in total.
QUIET_TURNS, MOST_TURNS = 3, 20

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Receives the answer to one call, or its error.
Done: TypeAlias = Callable[[Result | Exception], None]
#: Called after each store call with its key, when it was sent, when each of its callers asked (all monotonic), and the
#: result for each of them, or the error for all.
OnSent: TypeAlias = Callable[[Key, float, Sequence[float], Sequence[Result | FairlineError] | Exception], None]


class GroupedCall(Struct, Generic[Result], frozen=True, eq=False):
    """A call that will be grouped. Await it, or pass a function to `then`, which needs no turn of the event loop for
    each call. Nothing is sent before that. Two equal calls are two separate calls."""

    group: Grouping[Any, Any, Result]
    key: Any
    item: Any

    def then(self, done: Done[Result]) -> None:
        """Make the call, and pass the answer or the error to `done`."""
        self.group.ask(self.key, self.item, done)

    def __await__(self) -> Generator[Any, None, Result]:
        return self.group.call(self.key, self.item).__await__()


class Grouping(Generic[Key, Item, Result]):
    """One kind of call. Calls with the same key (a queue) are sent together; different keys do not wait for each other.

    Each caller gets its own answer or error. The call of a caller that gives up before it is sent is dropped. A call
    that was sent is carried out whether its caller waits or not, and is never sent again. A call that has waited longer
    than `patience` seconds is answered with StoreOverloaded and not sent. So if the store hangs, callers wait for a
    limited time, no matter how many there are.
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
        """Make a call; the answer comes with the batch it is sent in."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.ask(key, item, _SetsFuture(future))
        return future

    def ask(self, key: Key, item: Item, done: Done[Result]) -> None:
        """Make a call, and pass the answer or the error to `done`."""
        if self._count >= self._bound:
            raise StoreOverloaded(self._count)
        self._count += 1
        queue = self._waiting.get(key)
        if queue is None:
            queue = self._waiting[key] = deque()
            # A task starts after this turn of the loop, so all calls of this turn are sent together.
            self._sending[key] = asyncio.ensure_future(self._drain(key, queue))
        queue.append((item, done, monotonic()))

    async def close(self) -> None:
        """Wait for all calls under way."""
        while self._sending:
            await asyncio.wait(self._sending.values())

    async def _drain(self, key: Key, queue: deque[_Call[Item, Result]]) -> None:
        try:
            while queue:
                await self._send_next(key, queue)
                await self._gather(queue)
        finally:
            # Keep nothing for a key without calls: names invented by strangers take no memory.
            del self._sending[key], self._waiting[key]
            self._count -= len(queue)
            for _, done, _ in queue:  # only if the event loop ends
                _answer(done, FairlineError("Shutting down."))

    async def _gather(self, queue: deque[_Call[Item, Result]]) -> None:
        """Wait for further calls, turn by turn, as long as more arrive. Callers that were just answered continue in the
        next turn of the loop, and some call again at once; these calls and new ones are sent together. Batches of joins
        are twice as large for it."""
        quiet = turns = 0
        while quiet < QUIET_TURNS and turns < MOST_TURNS and len(queue) < self._batch:
            before = len(queue)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(queue) == before else 0
            turns += 1

    async def _send_next(self, key: Key, queue: deque[_Call[Item, Result]]) -> None:
        began = monotonic()
        self._refuse_old(queue, began - self._patience)
        calls = self._take(queue)
        if not calls:
            return
        items = [item for item, _, _ in calls]
        outcome: Sequence[Result | FairlineError] | Exception
        ending: BaseException | None = None
        try:
            outcome = await self._send(key, items)
            if len(outcome) != len(items):
                raise ValueError(f"{len(items)} calls got {len(outcome)} answers, which cannot be matched")
        except Exception as error:
            outcome = error
        except BaseException as error:
            # The event loop ends: answer all callers anyway.
            outcome, ending = FairlineError("Shutting down."), error
        results = itertools.repeat(outcome) if isinstance(outcome, Exception) else outcome
        for (_, done, _), result in zip(calls, results, strict=False):
            try:
                done(result)
            except Exception as error:  # an error in one `done` must not affect the others of its batch
                _report(error)
        if ending is not None:
            raise ending
        if self._on_sent is not None:
            self._on_sent(key, began, [since for _, _, since in calls], outcome)

    def _refuse_old(self, queue: deque[_Call[Item, Result]], oldest: float) -> None:
        """Refuse the calls that have waited too long; they are the first ones."""
        while queue and queue[0][2] < oldest:
            _, done, _ = queue.popleft()
            self._count -= 1
            _answer(done, StoreOverloaded(self._count))

    def _take(self, queue: deque[_Call[Item, Result]]) -> list[_Call[Item, Result]]:
        """The next batch, without the calls whose callers gave up."""
        calls = [queue.popleft() for _ in range(min(len(queue), self._batch))]
        self._count -= len(calls)
        return [call for call in calls if type(call[1]) is not _SetsFuture or not call[1].future.cancelled()]


#: Makes the grouping of one kind of call, from its name, what sends a batch, and what is called afterwards.
MakeGrouping: TypeAlias = Callable[
    [str, Callable[[Any, list[Any]], Awaitable[Sequence[Any]]], OnSent[Any, Any] | None], Grouping[Any, Any, Any]
]


def plain_grouping(
    _name: str, send: Callable[[Any, list[Any]], Awaitable[Sequence[Any]]], on_sent: OnSent[Any, Any] | None
) -> Grouping[Any, Any, Any]:
    """A grouping that does no more than it must."""
    return Grouping(send, on_sent=on_sent)


_Call: TypeAlias = tuple[Item, Done[Result], float]


class _SetsFuture(Generic[Result]):
    """Sets the answer or the error of a future."""

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


def _answer(done: Done[Any], outcome: Any) -> None:
    try:
        done(outcome)
    except Exception as error:
        _report(error)


def _report(error: Exception) -> None:
    context = {"message": "The callback for an answer failed.", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
