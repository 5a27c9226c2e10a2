"""Operations on the events of a queue."""

from __future__ import annotations

import re

from fairline.domain.events import CALLS, Event
from fairline.domain.queue import QueueId
from fairline.errors import InvalidRequest
from fairline.store.contract import CALLS_WITHIN
from fairline.store.postgres.answers import decode, event_of
from fairline.store.postgres.operations import Operations

_EVENT_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


class EventOperations(Operations):
    """See `contract.Store`."""

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        if after and not _EVENT_ID.fullmatch(after):
            raise InvalidRequest("after", f"must be the id of an event; got {after!r:.80}")
        last = int(after) if after else None
        rows = decode(await self._client.call("list_events", queue, last, limit, queue=queue))
        return [event_of(row) for row in rows]

    async def last_event(self, queue: QueueId) -> str:
        return await self._client.call("last_event", queue, queue=queue)

    async def newest_events(self) -> dict[QueueId, str]:
        return {QueueId(name): str(event) for name, event in decode(await self._client.call("newest_events"))}

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        return await self._client.call("events_lost", queue, int(after), queue=queue) == "true"

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        rows = decode(await self._client.call("list_calls", queue, [*CALLS], CALLS_WITHIN, limit, queue=queue))
        return [event_of(row) for row in rows]
