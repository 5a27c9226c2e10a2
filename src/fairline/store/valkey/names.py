"""The names of all queues. They are one set, which on a cluster is on another node than most queues: no script can
change both at once."""

from __future__ import annotations

from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.valkey.client import Connection, ask_all, mapped_errors
from fairline.store.valkey.keys import QUEUES, key


class QueueNames:
    """A name without a queue does no harm, because each reader of the names checks the queue. But a queue without its
    name would never be kept. So the name is added before the queue is created, in case the connection is lost, and
    again afterwards, in case someone who removes an earlier queue has just removed the name."""

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def all(self) -> list[QueueId]:
        """The names of the existing queues."""
        return [name for name, version in await self._ask_each("HEXISTS", "queue", "version") if version]

    async def newest_events(self) -> dict[QueueId, str]:
        """See `contract.Store`. A queue has an event from its creation on."""
        found = await self._ask_each("XREVRANGE", "events", "+", "-", "COUNT", 1)
        return {name: newest[0][0].decode() for name, newest in found if newest}

    async def add(self, queue: QueueId) -> None:
        """A queue is about to be created, or was just created."""
        async with mapped_errors():
            await self._client.sadd(QUEUES, queue)

    async def remove(self, queue: QueueId) -> None:
        """A queue was removed."""
        async with mapped_errors():
            await self._client.srem(QUEUES, queue)
            recreated = await self._is_there(queue)
        if recreated:  # then its name must stay
            await self.add(queue)

    async def _ask_each(self, command: str, part: str, *args: Any) -> list[tuple[QueueId, Any]]:
        """Run a command on one key of each queue that has a name; answers in the order of the names."""
        async with mapped_errors():
            names = sorted(QueueId(name.decode()) for name in await self._client.smembers(QUEUES))
            answers = await ask_all(self._client, [(command, key(name, part), *args) for name in names])
        return list(zip(names, answers, strict=True))

    async def _is_there(self, queue: QueueId) -> bool:
        return bool(await self._client.hexists(key(queue, "queue"), "version"))
