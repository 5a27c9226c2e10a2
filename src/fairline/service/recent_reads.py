"""What was read of queues a moment ago: read once in a while, however many ask.

Nothing of a queue that is deleted is told, nor of settings that were changed: whoever asks goes by the version that the
store says after they asked. It is asked for once for all who ask at the same time. See
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

#: So many queues are remembered; those that nobody asks for are forgotten first.
MOST = 1000


class _Found(NamedTuple, Generic[T]):
    version: int
    read_at: float
    content: T


class RecentReads(Generic[T]):
    """What `read` finds of each queue, at most so many `seconds` old."""

    def __init__(
        self, service: Fairline, read: Callable[[QueueId], Awaitable[T]], seconds: float, most: int = MOST
    ) -> None:
        self._service = service
        self._read = read
        self._seconds = seconds
        self._most = most
        self._found: OrderedDict[QueueId, _Found[T]] = OrderedDict()
        self._asking = Grouping[QueueId, None, T](self._answers)

    async def get(self, queue: QueueId) -> T:
        """What there is of a queue; QueueNotFound where there is none."""
        return await self._asking.call(queue, None)

    async def _answers(self, queue: QueueId, asking: list[None]) -> list[T]:
        found = self._found.pop(queue, None)
        version = await self._service.version(queue)
        if found is None or found.version != version or time.monotonic() - found.read_at > self._seconds:
            content = await self._read(queue)
            found = _Found(version, time.monotonic(), content)
        self._found[queue] = found
        while len(self._found) > self._most:
            self._found.popitem(last=False)
        return [found.content] * len(asking)
