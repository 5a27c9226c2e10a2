"""Reads the counts of a queue from its hashes."""

from __future__ import annotations

import msgspec

from fairline.domain.queue import QueueId
from fairline.store.stats import Counts, Minutes
from fairline.store.valkey.client import Connection, mapped_errors
from fairline.store.valkey.keys import key

_counted = msgspec.msgpack.Decoder(dict[str, int], strict=False).decode


class TallyReader:
    """Reads the hashes. A queue that does not exist has no counts."""

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def counts(self, queue: QueueId, *, older: bool = False) -> Counts:
        """The counts by hour and in total; with `older`, the packed hours too."""
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "stats"))
            packed = await self._client.hgetall(key(queue, "hours")) if older else {}
        counts = Counts((field.decode(), int(value)) for field, value in found.items())
        return counts.with_older((int(hour), _counted(kept)) for hour, kept in packed.items())

    async def minutes(self, queue: QueueId, wanted: range) -> Minutes:
        """The counts of those of these minutes that have any."""
        async with mapped_errors():
            found = await self._client.hmget(key(queue, "minutes"), [*wanted])
        return {minute: _counted(kept) for minute, kept in zip(wanted, found, strict=True) if kept}

    async def last_admission(self, queue: QueueId) -> int | None:
        """When someone was last admitted."""
        async with mapped_errors():
            last = await self._client.hget(key(queue, "queue"), "admitted_at")
        return int(last) if last else None
