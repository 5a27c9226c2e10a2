"""Operations on the events of a queue: they are a stream."""

from __future__ import annotations

import itertools
import re

from redis.exceptions import ResponseError

from fairline.domain.events import CALLS, Event
from fairline.domain.queue import QueueId
from fairline.errors import InvalidRequest, QueueNotFound
from fairline.store.contract import CALLS_WITHIN
from fairline.store.valkey.answers import events_of, tickets_of
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import key
from fairline.store.valkey.operations import Operations

#: How many events `calls` reads at once.
CALLS_PAGE = 1000

_ID = re.compile(r"([0-9]{1,20}(?:-[0-9]{1,20})?)(?:\.([1-9][0-9]{0,8}))?", re.ASCII)


class EventOperations(Operations):
    """See `contract.Store`."""

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        entry, read = _place(after) if after else ("", 0)
        start = "-" if not entry else entry if read else f"({entry}"
        async with mapped_errors():
            try:
                found = await self._client.xrange(key(queue, "events"), start, "+", limit + (read > 0))
            except ResponseError as error:
                raise _no_event(entry) from error
            if not found and not await self._client.hexists(key(queue, "queue"), "version"):
                raise QueueNotFound(queue)
        found_events = itertools.chain.from_iterable(events_of(*each) for each in found)
        skipped = min(read, len(tickets_of(found[0][1]))) if found and found[0][0].decode() == entry else 0
        return list(itertools.islice(found_events, skipped, skipped + limit))

    async def last_event(self, queue: QueueId) -> str:
        async with mapped_errors():
            newest = await self._client.xrevrange(key(queue, "events"), count=1)
        if not newest:
            raise QueueNotFound(queue)
        return str(newest[0][0].decode())

    async def newest_events(self) -> dict[QueueId, str]:
        return await self._names.newest_events()

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        # An id does not say how many events came between: if the event itself is no longer kept, others may be gone
        # too.
        async with mapped_errors():
            entry, _ = _place(after)
            found = await self._client.xrange(key(queue, "events"), entry, entry, 1)
        return not found and bool(await self.last_event(queue))

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        calls: list[Event] = []
        before, left = "+", CALLS_WITHIN
        while left > 0 and len(calls) < limit:
            async with mapped_errors():
                found = await self._client.xrevrange(key(queue, "events"), before, "-", min(left, CALLS_PAGE))
            if not found:
                break
            for entry, fields in found:
                if left > 0 and fields[b"type"].decode() in CALLS:
                    calls += events_of(entry, fields)
                left -= len(tickets_of(fields))
            before = f"({found[-1][0].decode()}"
        if left == CALLS_WITHIN:
            raise QueueNotFound(queue)
        return calls[:limit]


def _place(after: str) -> tuple[str, int]:
    """The entry of an event, and how many of its events have been read if it has several; see `answers.events_of`."""
    found = _ID.fullmatch(after)
    if found is None:
        raise _no_event(after)
    return found[1], int(found[2] or 0)


def _no_event(after: str) -> InvalidRequest:
    return InvalidRequest("after", f"must be the id of an event; got {after!r:.80}")
