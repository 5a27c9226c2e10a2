"""The live data of the dashboard: all queues or one queue, once or as a stream of changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import structlog

from fairline.aio.grouping import Grouping
from fairline.domain.events import Event
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError, QueueNotFound, StoreError
from fairline.service.fairline import PAGE, Fairline
from fairline.store import Role
from fairline.web.admin.live_wire import Glance, GlanceList, QueueNow
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.record_wire import EventAnswer, StatsAnswer, labels_of
from fairline.web.admin.streams import AWAY_SECONDS, OpenStream, StillAllowed, still_allowed, wants_stream
from fairline.web.server.http import Connection, Sent, Takeover, encode, private
from fairline.web.server.operations import Operation
from fairline.web.streams.open_streams import HEADERS

log = structlog.get_logger()

T = TypeVar("T")

POLL_SECONDS = 0.7
#: One queue is read more often, so that staff at two desks see each other's actions within a second.
POLL_SECONDS_OF_ONE = 0.35
#: A result that was read this recently is shared with the next stream.
FRESH_SECONDS = 0.5
#: If nothing changes, the same data is sent again, so that a client can tell a quiet line from a dead connection.
REPEAT_SECONDS = 5.0
#: The most events sent at once. The number of events left out is sent too.
EVENTS_SHOWN = 40


class SharedReads(Generic[T]):
    """A read from the store that is shared by all streams that need it."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._found: tuple[float, T] | None = None
        self._reading = Grouping[None, None, T](self._read_for)

    async def recent(self) -> T:
        """A recent result, or a new one."""
        if self._found is not None and time.monotonic() - self._found[0] <= FRESH_SECONDS:
            return self._found[1]
        return await self.now()

    async def now(self) -> T:
        """The result of a read that starts now, so that a deleted queue is noticed."""
        return await self._reading.call(None, None)

    async def _read_for(self, _key: None, looking: list[None]) -> list[T]:
        found = await self._read()
        self._found = (time.monotonic(), found)
        return [found] * len(looking)


class Live(OperatorCalls):
    """The calls for live data."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._all = SharedReads(self._read_all)
        self._queues: dict[QueueId, SharedReads[QueueNow]] = {}

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /live",
                "All queues at this moment; with 'Accept: text/event-stream' about once a second as they change.",
                self.all,
                {200: GlanceList},
                headers=("Accept",),
                streams=True,
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/live",
                "The queue at this moment; with 'Accept: text/event-stream' about once a second as it changes, and its "
                "events.",
                self.one,
                {200: QueueNow},
                headers=("Accept",),
                streams=True,
            ),
        ]

    async def all(self, call: Call) -> Sent:
        """All queues, once or as a stream."""
        if not wants_stream(call):
            return private(200, await self._all.now())
        return Takeover(LiveQueues(self._all, still_allowed(self._operators, call, Role.VIEWER)), HEADERS)

    async def one(self, call: Call) -> Sent:
        """One queue, once or as a stream."""
        queue = call.queue
        if not wants_stream(call):
            return private(200, await self._read(queue))
        await self._service.settings(queue)  # raises QueueNotFound: the answer 404 ends the client's attempts
        allowed = still_allowed(self._operators, call, Role.VIEWER)
        return Takeover(LiveQueue(self._service, queue, self._shared(queue), allowed), HEADERS)

    def _shared(self, queue: QueueId) -> SharedReads[QueueNow]:
        found = self._queues.get(queue)
        if found is None:
            found = self._queues[queue] = SharedReads(lambda: self._read(queue))
        return found

    async def _read(self, queue: QueueId) -> QueueNow:
        stats = await self._service.stats(queue)
        configured = await self._service.settings(queue)
        glance = Glance.of(queue, configured.settings, configured.version, stats.snapshot)
        return QueueNow(glance=glance, stats=StatsAnswer.of(queue, stats))

    async def _read_all(self) -> GlanceList:
        found = await asyncio.gather(*(self._glance(queue) for queue in await self._service.queues()))
        return GlanceList([glance for glance in found if glance is not None])

    async def _glance(self, queue: QueueId) -> Glance | None:
        try:
            snapshot, settings = await self._service.snapshot(queue)
        except QueueNotFound:
            return None  # deleted since the names were read
        return Glance.of(queue, settings, snapshot.version, snapshot)


class LiveQueues(OpenStream):
    """A stream of all queues, about once a second as they change. An outage of the store and the end of the stream are
    each sent once."""

    poll_seconds = POLL_SECONDS

    def __init__(self, shared: SharedReads[Any], still_allowed: StillAllowed, about: str = "") -> None:
        super().__init__(about, still_allowed)
        self._shared = shared
        self._sent: bytes | None = None
        self._sent_at = 0.0
        self._away = False

    async def _send_updates(self, connection: Connection) -> None:
        clock = asyncio.get_running_loop().time
        unsent = b""
        while not connection.is_closing():
            try:
                unsent += await self._updates(clock())
                if unsent:
                    await self._still_allowed()
                    connection.write(unsent)
                unsent, self._away = b"", False
            except StoreError as error:
                if not self._away:
                    log.warning("live.store_away", queue=self._about, error=error.message)
                    connection.write(_frame("away", {}))
                    self._away = True
                await asyncio.sleep(AWAY_SECONDS)
                continue
            except FairlineError as error:
                connection.write(_frame("ended", {"code": error.code}))
                raise
            await asyncio.sleep(self.poll_seconds)
            await self._wait_for_reader(connection)

    async def _updates(self, now: float) -> bytes:
        """The data to send now; empty if nothing has changed."""
        found = await (self._shared.now() if self._sent is None else self._shared.recent())
        same = encode(found.steady)
        if same == self._sent and now - self._sent_at < REPEAT_SECONDS and not self._away:
            return b""
        self._sent, self._sent_at = same, now
        return _frame("now", found)


class LiveQueue(LiveQueues):
    """A stream of one queue and its events. Of a rush of events only the last ones are sent."""

    poll_seconds = POLL_SECONDS_OF_ONE

    def __init__(
        self, service: Fairline, queue: QueueId, shared: SharedReads[QueueNow], still_allowed: StillAllowed
    ) -> None:
        super().__init__(shared, still_allowed, queue)
        self._service = service
        self._queue = queue
        self._after: str | None = None

    async def _updates(self, now: float) -> bytes:
        return await super()._updates(now) + await self._new_events()

    async def _new_events(self) -> bytes:
        if self._after is None:
            self._after = await self._service.last_event(self._queue)
            return b""
        events = await self._service.events(self._queue, self._after, PAGE)
        if not events:
            return b""
        rushed = len(events) == PAGE  # there may be many more: continue from the newest
        self._after = await self._service.last_event(self._queue) if rushed else events[-1].id
        shown = await self._frames(events[-EVENTS_SHOWN:])
        left_out = len(events) - len(shown)
        return b"".join([*([_frame("left_out", {"at_least": left_out})] if left_out else []), *shown])

    async def _frames(self, events: list[Event]) -> list[bytes]:
        """Each event with the label of its ticket, while the ticket is stored."""
        labels = await labels_of(self._service, self._queue, events)
        return [_frame("event", EventAnswer.of(event, labels)) for event in events]


def _frame(name: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode(content))
