"""The events of a queue, as its stream keeps them."""

from __future__ import annotations

from redis.exceptions import ResponseError

from fairline.errors import InvalidRequest, QueueNotFound
from fairline.events import CALLS, Event
from fairline.queue import QueueId
from fairline.store.contract import CALLS_WITHIN
from fairline.store.valkey.answers import event
from fairline.store.valkey.client import Connection, mapped_errors
from fairline.store.valkey.keys import key

#: How many events `calls` reads at once.
CALLS_PAGE = 1000


class EventStream:
    """Reads the streams. What its methods promise is said of `contract.Store`."""

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def after(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        """See `events`."""
        async with mapped_errors():
            try:
                found = await self._client.xrange(key(queue, "events"), f"({after}" if after else "-", "+", limit)
            except ResponseError as error:
                raise InvalidRequest("after", f"must be the id of an event; got {after!r:.80}") from error
            if not found and not await self._client.hexists(key(queue, "queue"), "version"):
                raise QueueNotFound(queue)
        return [event(event_id, fields) for event_id, fields in found]

    async def last(self, queue: QueueId) -> str:
        """See `last_event`."""
        async with mapped_errors():
            newest = await self._client.xrevrange(key(queue, "events"), count=1)
        if not newest:
            raise QueueNotFound(queue)
        return str(newest[0][0].decode())

    async def lost(self, queue: QueueId, after: str) -> bool:
        """See `events_lost`."""
        # An id tells nothing of how many came between: where the event itself is not kept, others may be gone too.
        async with mapped_errors():
            found = await self._client.xrange(key(queue, "events"), after, after, 1)
        return not found and bool(await self.last(queue))

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        """See `calls`."""
        calls: list[Event] = []
        before, left = "+", CALLS_WITHIN
        while left > 0 and len(calls) < limit:
            async with mapped_errors():
                found = await self._client.xrevrange(key(queue, "events"), before, "-", min(left, CALLS_PAGE))
            if not found:
                break
            calls += [event(event_id, fields) for event_id, fields in found if fields[b"type"].decode() in CALLS]
            before, left = f"({found[-1][0].decode()}", left - len(found)
        if left == CALLS_WITHIN:
            raise QueueNotFound(queue)
        return calls[:limit]
