"""Limits how many wrong admin keys one address may try, over all workers. An address over the limit is refused before
its key is looked up, so that even a right guess does not work.

A key that was right at an address within the last day keeps working there, whatever else comes from the address. So a
program with an old key, or a stranger behind the same proxy, cannot lock out people who were there before.
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
#: How many addresses over the limit, and how many right keys of addresses, are remembered. The oldest are forgotten.
MOST = 1000
#: The number of locks for the first calls of addresses.
LOCKS = 64

K = TypeVar("K")
V = TypeVar("V")
Look = Callable[[], Awaitable[AdminKey | None]]


class WrongKeys:
    """The recent attempts by address, as limits count it. If `most` is 0 there is no limit."""

    def __init__(self, registry: Registry, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._registry = registry
        self._most = most
        self._clock = clock
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._refused: OrderedDict[str, float] = OrderedDict()
        self._locks = [asyncio.Lock() for _ in range(LOCKS)]

    async def look_up(self, who: str, key_id: str, look: Look) -> AdminKey:
        """The key that `look` finds. Raises KeyInvalid if it finds none, RateLimited if `who` has tried too many."""
        if (who, key_id) in self._right:
            return await self._found(who, key_id, look)
        # One at a time, or all keys of a burst would be looked up before the first is counted.
        async with self._locks[hash(who) % LOCKS]:
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


def _remember(cache: OrderedDict[K, V], name: K, value: V) -> None:
    cache[name] = value
    cache.move_to_end(name)
    while len(cache) > MOST:
        cache.popitem(last=False)
