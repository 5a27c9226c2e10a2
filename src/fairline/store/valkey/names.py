"""The names of all queues. They are one set, and on a cluster it lives on another node than most queues: no script
changes both at once."""

from __future__ import annotations

import asyncio

from fairline.queue import QueueId
from fairline.store.valkey.client import Connection, mapped_errors
from fairline.store.valkey.keys import QUEUES, key


class QueueNames:
    """A name without a queue does no harm: whoever reads the names looks. But a queue without its name is kept by
    nobody, so it has it before it is made, in case we are cut off, and is given it again after, in case someone who
    removes the queue before it took the name away."""

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def all(self) -> list[QueueId]:
        """Of the queues that there are."""
        async with mapped_errors():
            names = sorted(QueueId(name.decode()) for name in await self._client.smembers(QUEUES))
            there = await asyncio.gather(*map(self._is_there, names))
        return [name for name, found in zip(names, there, strict=True) if found]

    async def add(self, queue: QueueId) -> None:
        """A queue is about to be made, or was."""
        async with mapped_errors():
            await self._client.sadd(QUEUES, queue)

    async def remove(self, queue: QueueId) -> None:
        """A queue was removed."""
        async with mapped_errors():
            await self._client.srem(QUEUES, queue)
            made_anew = await self._is_there(queue)
        if made_anew:  # then the name was not ours to take
            await self.add(queue)

    async def _is_there(self, queue: QueueId) -> bool:
        return bool(await self._client.hexists(key(queue, "queue"), "version"))
