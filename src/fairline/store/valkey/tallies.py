"""Operations on what was counted: hashes with the counts of each hour and minute, and in total."""

from __future__ import annotations

import msgspec

from fairline.domain.queue import QueueId
from fairline.store.constants import MINUTE_MS
from fairline.store.stats import Counts, Minutes, minutes_of, series, stats_of
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import key
from fairline.store.valkey.queues import QueueOperations

_counted = msgspec.msgpack.Decoder(dict[str, int], strict=False).decode


class TallyOperations(QueueOperations):
    """See `contract.Store`."""

    async def stats(self, queue: QueueId) -> Stats:
        snapshot = await self.snapshot(queue)
        counts, last = await self._counts(queue), await self._last_admission(queue)
        minutes = await self._minutes(queue, range(snapshot.now // MINUTE_MS - 1, snapshot.now // MINUTE_MS + 1))
        return stats_of(snapshot, counts, minutes, last)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        return (await self._counts_of_existing(queue)).hourly()

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        older = since is not None or until is not None
        return (await self._counts_of_existing(queue, older=older)).report(since, until)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        snapshot = await self.snapshot(queue)
        minutes = await self._minutes(queue, minutes_of(step, points, snapshot.now))
        return series(snapshot, minutes, step, points)

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        return (await self._counts_of_existing(queue, older=older)).desk_tallies()

    async def _counts_of_existing(self, queue: QueueId, *, older: bool = False) -> Counts:
        await self.snapshot(queue)  # raises QueueNotFound
        return await self._counts(queue, older=older)

    async def _counts(self, queue: QueueId, *, older: bool = False) -> Counts:
        """The counts by hour and in total; with `older`, the packed hours too."""
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "stats"))
            packed = await self._client.hgetall(key(queue, "hours")) if older else {}
        counts = Counts((field.decode(), int(value)) for field, value in found.items())
        return counts.with_older((int(hour), _counted(kept)) for hour, kept in packed.items())

    async def _minutes(self, queue: QueueId, wanted: range) -> Minutes:
        """The counts of those of these minutes that have any."""
        async with mapped_errors():
            found = await self._client.hmget(key(queue, "minutes"), [*wanted])
        return {minute: _counted(kept) for minute, kept in zip(wanted, found, strict=True) if kept}

    async def _last_admission(self, queue: QueueId) -> int | None:
        """When someone was last admitted."""
        async with mapped_errors():
            last = await self._client.hget(key(queue, "queue"), "admitted_at")
        return int(last) if last else None
