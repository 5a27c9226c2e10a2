"""Operations on what was counted."""

from __future__ import annotations

from fairline.domain.queue import QueueId
from fairline.store.postgres.answers import decode, snapshot_of
from fairline.store.postgres.operations import Operations
from fairline.store.stats import Counts, series, stats_of
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats


class TallyOperations(Operations):
    """See `contract.Store`."""

    async def stats(self, queue: QueueId) -> Stats:
        snapshot, last, fields, minutes = await self._call("all_counts", queue)
        return stats_of(snapshot_of(snapshot), Counts(fields), dict(minutes), last)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        return (await self._counts(queue)).hourly()

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        older = since is not None or until is not None
        return (await self._counts(queue, older=older)).report(since, until)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        snapshot, minutes = await self._call("series", queue, step * points)
        return series(snapshot_of(snapshot), dict(minutes), step, points)

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        return (await self._counts(queue, older=older)).desk_tallies()

    async def _counts(self, queue: QueueId, *, older: bool = False) -> Counts:
        _, _, fields, _ = await self._call("all_counts", queue)
        counts = Counts(fields)
        if not older:
            return counts
        return counts.with_older(decode(await self._client.call("older_hours", queue, queue=queue)))
