"""How many wrong admin keys one address may try, over all workers: whoever guesses is refused before a guess is looked
up, so that a right one opens nothing either.

A key that has opened a call of an address within the last day goes on doing so, whatever else comes from there: a
program with an old key, or a stranger behind the same proxy, shuts out nobody who was there before.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from fairline.errors import KeyInvalid, RateLimited
from fairline.store import AdminKey
from fairline.store.registry import Registry

WRONG, RIGHT = "wrong-key", "right-key"
SECONDS = 60.0
DAY_SECONDS = 86_400.0
#: Addresses that are remembered as over the limit, and keys of addresses that are right; the oldest are forgotten.
MOST = 1000
#: The first calls of addresses wait for each other in so many lines.
TURNS = 64

K = TypeVar("K")
V = TypeVar("V")
Look = Callable[[], Awaitable[AdminKey | None]]


class WrongKeys:
    """What was tried lately, by address as limits count it. `most` 0 is no limit."""

    def __init__(self, registry: Registry, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._registry = registry
        self._most = most
        self._clock = clock
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._refused: OrderedDict[str, float] = OrderedDict()
        self._turns = [asyncio.Lock() for _ in range(TURNS)]

    async def look_up(self, who: str, key_id: str, look: Look) -> AdminKey:
        """The key that `look` finds: KeyInvalid where it finds none, RateLimited where `who` has tried too many."""
        if (who, key_id) in self._right:
            return await self._found(who, key_id, look)
        async with self._turns[hash(who) % TURNS]:  # or a burst would be looked up before the first of it is counted
            wait = self._refused.get(who, 0.0) - self._clock()
            if wait > 0 and not await self._registry.tries(f"{who}:{key_id}", RIGHT, DAY_SECONDS):
                raise RateLimited("address", wait)
            return await self._found(who, key_id, look)

    async def _found(self, who: str, key_id: str, look: Look) -> AdminKey:
        key = await look()
        if key is not None:
            if self._most and (who, key_id) not in self._right:
                await self._registry.limit(f"{who}:{key_id}", RIGHT, 1, DAY_SECONDS)
            _remember(self._right, (who, key_id), None)
            return key
        self._right.pop((who, key_id), None)
        if self._most:
            wait = await self._registry.limit(who, WRONG, self._most, SECONDS)
            if wait > 0:
                _remember(self._refused, who, self._clock() + wait)
                raise RateLimited("address", wait)
        raise KeyInvalid


def _remember(kept: OrderedDict[K, V], name: K, value: V) -> None:
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > MOST:
        kept.popitem(last=False)
