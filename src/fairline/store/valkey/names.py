"""The names of all queues. They are one set, and on a cluster it lives on another node than most queues: no script
changes both at once."""

from __future__ import annotations

from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.valkey.client import Connection, ask_all, mapped_errors
from fairline.store.valkey.keys import QUEUES, key


class QueueNames:
    """A name without a queue does no harm: whoever reads the names looks. But a queue without its name is kept by
    nobody, so it has it before it is made, in case we are cut off, and is given it again after, in case someone who
    removes the queue before it took the name away."""

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def all(self) -> list[QueueId]:
        """Of the queues that there are."""
        return [name for name, version in await self._ask_each("HEXISTS", "queue", "version") if version]

    async def newest_events(self) -> dict[QueueId, str]:
        """See `contract.Store`. A queue has an event from the moment on at which it is made."""
        found = await self._ask_each("XREVRANGE", "events", "+", "-", "COUNT", 1)
        return {name: newest[0][0].decode() for name, newest in found if newest}

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

    async def _ask_each(self, command: str, part: str, *args: Any) -> list[tuple[QueueId, Any]]:
        """Ask a question of one key of each queue that has a name; answers in the order of the names."""
        async with mapped_errors():
            names = sorted(QueueId(name.decode()) for name in await self._client.smembers(QUEUES))
            answers = await ask_all(self._client, [(command, key(name, part), *args) for name in names])
        return list(zip(names, answers, strict=True))

    async def _is_there(self, queue: QueueId) -> bool:
        return bool(await self._client.hexists(key(queue, "queue"), "version"))
