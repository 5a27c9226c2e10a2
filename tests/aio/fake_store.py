"""A store for tests of grouping: who is answered when is up to the test."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from fairline.aio.grouping import Grouping
from fairline.errors import FairlineError

Send: TypeAlias = Callable[[str, list[int]], Awaitable[Sequence[str | FairlineError]]]


class FakeStore:
    """Takes calls, and answers each only when the test lets it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[int]]] = []
        self.gates: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
        self.answer: Send = answered

    async def send(self, key: str, items: list[int]) -> Sequence[str | FairlineError]:
        self.sent.append((key, items))
        await self.gates[key].acquire()
        return await self.answer(key, items)

    def let(self, calls: int = 1, key: str = "a") -> None:
        """Let this many calls be answered, those to come included."""
        for _ in range(calls):
            self.gates[key].release()

    async def has(self, calls: int) -> None:
        """Wait until this many calls have come, and nothing more could come by itself."""
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(self.sent) == calls, self.sent

    @property
    def items(self) -> list[int]:
        return [item for _, items in self.sent for item in items]


async def answered(key: str, items: list[int]) -> Sequence[str | FairlineError]:
    return [f"{key}{item}" for item in items]


def group(store: FakeStore, batch: int = 250, bound: int = 20_000) -> Grouping[str, int, str]:
    return Grouping(store.send, batch=batch, bound=bound)


async def outcomes(calls: Iterable[asyncio.Future[str]]) -> list[str | BaseException]:
    async with asyncio.timeout(30):
        return await asyncio.gather(*calls, return_exceptions=True)
