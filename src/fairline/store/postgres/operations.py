"""What the operations on queues and tickets share: the client, the clock, and how a function is called."""

from __future__ import annotations

from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.contract import Clock
from fairline.store.postgres.answers import decode
from fairline.store.postgres.client import Client


class Operations:
    """The root of the classes that `PostgresStore` is put together from."""

    def __init__(self, client: Client, clock: Clock | None) -> None:
        self._client = client
        self._clock = clock

    async def _call(self, name: str, queue: QueueId, *args: Any) -> Any:
        """Call a function that takes the queue and the time."""
        now = self._clock() if self._clock else None
        return decode(await self._client.call(name, queue, now, *args, queue=queue))
