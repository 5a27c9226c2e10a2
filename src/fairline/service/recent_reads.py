"""A cache of what was read of queues a moment ago: it limits reads, no matter how many callers there are.

Nothing is answered from a deleted queue or from old settings: after each call, the store is asked for the version, and
a cached entry is only used if it has that version. Calls at the same time share one read of the version. See
docs/decisions/0012-a-deleted-queue-is-forgotten-at-once.md.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from fairline.aio.grouping import Grouping
from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline

T = TypeVar("T")

#: The most queues in the cache; the least recently used ones, and those that are too old, are removed first.
MOST = 1000


class _Entry(NamedTuple, Generic[T]):
    version: int
    read_at: float
    content: T


class RecentReads(Generic[T]):
    """The result of `read` for each queue, at most `seconds` old."""

    def __init__(
        self, service: Fairline, read: Callable[[QueueId], Awaitable[T]], seconds: float, most: int = MOST
    ) -> None:
        self._service = service
        self._read = read
        self._seconds = seconds
        self._most = most
        self._entries: OrderedDict[QueueId, _Entry[T]] = OrderedDict()
        self._calls = Grouping[QueueId, None, T](self._answers)

    async def get(self, queue: QueueId) -> T:
        """Return the result for a queue; raise QueueNotFound if there is no such queue."""
        return await self._calls.call(queue, None)

    async def _answers(self, queue: QueueId, calls: list[None]) -> list[T]:
        entry = self._entries.pop(queue, None)
        version = await self._service.version(queue)
        if entry is None or entry.version != version or time.monotonic() - entry.read_at > self._seconds:
            content = await self._read(queue)
            entry = _Entry(version, time.monotonic(), content)
        self._entries[queue] = entry
        self._forget()
        return [entry.content] * len(calls)

    def _forget(self) -> None:
        """Remove the entries for which nobody has asked for so long that they must be read again anyway."""
        oldest = time.monotonic() - self._seconds
        while self._entries and (
            len(self._entries) > self._most or next(iter(self._entries.values())).read_at < oldest
        ):
            self._entries.popitem(last=False)
