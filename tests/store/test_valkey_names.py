"""The names of queues on Valkey: they may be on another node, so that to make or remove a queue is several steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import combinations
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import QueueExists
from fairline.store.valkey.keys import key
from fairline.store.valkey.store import ValkeyStore, open_valkey

#: As many as either takes, or more: one that is done sits out its turns.
STEPS = 4


class Worker:
    """Does one thing with a store of its own, and waits for its turn before each call to the server."""

    def __init__(self, store: ValkeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self._doing: asyncio.Task[None] | None = None
        self._turns: asyncio.Queue[None] = asyncio.Queue()
        self._moved = asyncio.Event()
        for name in ("sadd", "srem", "hexists"):
            monkeypatch.setattr(store._client, name, self._in_turn(getattr(store._client, name)))
        monkeypatch.setattr(store._runner, "run", self._in_turn(store._runner.run))

    def _in_turn(self, call: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def wait_and_call(*args: Any) -> Any:
            await self._turns.get()
            try:
                return await call(*args)
            finally:
                self._moved.set()

        return wait_and_call

    def begin(self, doing: Coroutine[Any, Any, None]) -> None:
        self._doing = asyncio.create_task(doing)
        self._turns, self._moved = asyncio.Queue(), asyncio.Event()

    async def step(self) -> None:
        """Make the next call, if there is one."""
        assert self._doing
        self._moved.clear()
        self._turns.put_nowait(None)
        moved = asyncio.create_task(self._moved.wait())
        await asyncio.wait([moved, self._doing], return_when=asyncio.FIRST_COMPLETED)
        moved.cancel()
        await asyncio.sleep(0)  # it may be done by now

    async def end(self) -> BaseException | None:
        """Do the rest, and say what it came to."""
        assert self._doing
        for _ in range(STEPS):
            self._turns.put_nowait(None)
        await asyncio.wait([self._doing])
        return self._doing.exception()

    async def cut_off(self) -> None:
        """Do no more."""
        assert self._doing
        self._doing.cancel()
        await asyncio.wait([self._doing])


@pytest.fixture
async def stores(valkey_url: str) -> AsyncIterator[list[ValkeyStore]]:
    opened = [await open_valkey(valkey_url) for _ in range(3)]
    yield opened
    for store in opened:
        await store.close()


def orders() -> Iterator[str]:
    """All ways in which the calls of one who makes a queue and one who removes it can follow each other."""
    for makes in combinations(range(2 * STEPS), STEPS):
        yield "".join("m" if i in makes else "r" for i in range(2 * STEPS))


async def test_a_queue_has_its_name_in_whatever_order_it_is_removed_and_made(
    stores: list[ValkeyStore], queue: QueueId, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, one, other = stores
    maker, remover = Worker(one, monkeypatch), Worker(other, monkeypatch)
    nameless = []
    for order in orders():
        await plain.create(queue, QueueSettings())
        maker.begin(one.create(queue, QueueSettings()))
        remover.begin(other.delete(queue))
        for whose in order:
            await (maker if whose == "m" else remover).step()
        refused = await maker.end()
        assert refused is None or isinstance(refused, QueueExists)
        assert await remover.end() is None
        there = await plain._client.hexists(key(queue, "queue"), "version")
        assert there == (refused is None)
        if (queue in await plain.queues()) != there:
            nameless.append(order)
        if there:
            await plain.delete(queue)
    assert nameless == []


async def test_a_creation_that_is_cut_off_leaves_no_queue_without_its_name(
    stores: list[ValkeyStore], queue: QueueId, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, one, _ = stores
    maker = Worker(one, monkeypatch)
    there = []
    for steps in range(STEPS):
        maker.begin(one.create(queue, QueueSettings()))
        for _ in range(steps):
            await maker.step()
        await maker.cut_off()
        there.append(await plain._client.hexists(key(queue, "queue"), "version"))
        assert (queue in await plain.queues()) == there[-1]
        if there[-1]:
            await plain.delete(queue)
    assert there == [False, False, True, True]
