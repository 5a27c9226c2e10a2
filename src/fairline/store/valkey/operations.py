"""What the operations on queues and tickets share: the client, the clock, and how a script is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.store.contract import Clock
from fairline.store.valkey.answers import snapshot_of
from fairline.store.valkey.client import Connection, Runner
from fairline.store.valkey.names import QueueNames


class Operations:
    """The root of the classes that `ValkeyStore` is put together from."""

    def __init__(self, client: Connection, clock: Clock | None) -> None:
        self._client = client
        self._clock = clock
        self._runner = Runner(client)
        self._names = QueueNames(client)

    async def _run(
        self, name: str, queue: QueueId, args: Sequence[Any], more_keys: Sequence[str] = ()
    ) -> tuple[QueueSnapshot, list[Any]]:
        """Run a script that takes the time and answers with the snapshot of the queue."""
        now = self._clock() if self._clock else ""
        snapshot, items = await self._runner.run(name, queue, [now, *args], more_keys)
        return snapshot_of(snapshot), items
