"""The queues as they are now, live: what the dashboard shows without being loaded again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from fairline.aio.grouping import Grouping
from fairline.domain.events import Event
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError, QueueNotFound, StoreError
from fairline.service.fairline import PAGE, Fairline
from fairline.store import Role
from fairline.web.admin.live_wire import Glance, GlanceList, QueueNow
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.record_wire import EventAnswer, StatsAnswer
from fairline.web.admin.streams import AWAY_SECONDS, OpenStream, StillAllowed, still_allowed, wants_stream
from fairline.web.server.http import Connection, Sent, Takeover, encode, private
from fairline.web.server.operations import Operation
from fairline.web.streams.open_streams import HEADERS

log = structlog.get_logger()

T = TypeVar("T")

LOOK_SECONDS = 0.7
#: What happens in one queue is told sooner: staff at two desks see what the other did within a second.
LOOK_SECONDS_OF_ONE = 0.35
#: What was read this lately is good enough for the next one who looks.
FRESH_SECONDS = 0.5
#: Where nothing changes, the same is said again: who hears nothing cannot tell a quiet line from a dead connection.
AGAIN_SECONDS = 5.0
#: No one reads more at once; what is left out is said to be.
EVENTS_SHOWN = 40


class SharedReads(Generic[T]):
    """Something read from the store once in a while, however many look."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._found: tuple[float, T] | None = None
        self._reading = Grouping[None, None, T](self._read_for)

    async def lately(self) -> T:
        """What was read lately, or is read now."""
        if self._found is not None and time.monotonic() - self._found[0] <= FRESH_SECONDS:
            return self._found[1]
        return await self.now()

    async def now(self) -> T:
        """What a read brings that begins from here on: nothing of a queue that is deleted."""
        return await self._reading.call(None, None)

    async def _read_for(self, _key: None, looking: list[None]) -> list[T]:
        found = await self._read()
        self._found = (time.monotonic(), found)
        return [found] * len(looking)


class Live(OperatorCalls):
    """What operators watch."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._all = SharedReads(self._read_all)
        self._queues: dict[QueueId, SharedReads[QueueNow]] = {}

    def rows(self) -> list[Operation]:
        """Its calls."""
        row = self._operators.row
        return [
            row(
                Role.VIEWER,
                "GET /live",
                "All queues as they are now; with 'Accept: text/event-stream' about once a second as they change.",
                self.all,
                {200: GlanceList},
                headers=("Accept",),
                streams=True,
            ),
            row(
                Role.VIEWER,
                "GET /queues/{queue}/live",
                "The queue as it is now; with 'Accept: text/event-stream' about once a second as it changes, and what "
                "happens in it.",
                self.one,
                {200: QueueNow},
                headers=("Accept",),
                streams=True,
            ),
        ]

    async def all(self, call: Call) -> Sent:
        """All queues, now or from now on."""
        if not wants_stream(call):
            return private(200, await self._all.now())
        return Takeover(LiveQueues(self._all, still_allowed(self._operators, call, Role.VIEWER)), HEADERS)

    async def one(self, call: Call) -> Sent:
        """One queue, now or from now on."""
        queue = call.queue
        if not wants_stream(call):
            return private(200, await self._read(queue))
        await self._service.settings(queue)  # or 404, which ends the client's tries
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
            return None  # removed since the names were read
        return Glance.of(queue, settings, snapshot.version, snapshot)


class LiveQueues(OpenStream):
    """All queues, about once a second as they change. An outage of the store is said once, and so is the end."""

    look_seconds = LOOK_SECONDS

    def __init__(self, shared: SharedReads[Any], still_allowed: StillAllowed, about: str = "") -> None:
        super().__init__(about, still_allowed)
        self._shared = shared
        self._told: bytes | None = None
        self._told_at = 0.0
        self._away = False

    async def _tell(self, connection: Connection) -> None:
        clock = asyncio.get_running_loop().time
        unsaid = b""
        while not connection.is_closing():
            try:
                unsaid += await self._news(clock())
                if unsaid:
                    await self._still_allowed()
                    connection.write(unsaid)
                unsaid, self._away = b"", False
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
            await asyncio.sleep(self.look_seconds)
            await self._drained(connection)

    async def _news(self, now: float) -> bytes:
        """What is to be told now: nothing where nothing has changed."""
        found = await (self._shared.now() if self._told is None else self._shared.lately())
        same = encode(found.steady)
        if same == self._told and now - self._told_at < AGAIN_SECONDS and not self._away:
            return b""
        self._told, self._told_at = same, now
        return _frame("now", found)


class LiveQueue(LiveQueues):
    """One queue, and what happens in it. Of a rush of events only the last ones are told."""

    look_seconds = LOOK_SECONDS_OF_ONE

    def __init__(
        self, service: Fairline, queue: QueueId, shared: SharedReads[QueueNow], still_allowed: StillAllowed
    ) -> None:
        super().__init__(shared, still_allowed, queue)
        self._service = service
        self._queue = queue
        self._after: str | None = None

    async def _news(self, now: float) -> bytes:
        return await super()._news(now) + await self._happened()

    async def _happened(self) -> bytes:
        if self._after is None:
            self._after = await self._service.last_event(self._queue)
            return b""
        events = await self._service.events(self._queue, self._after, PAGE)
        if not events:
            return b""
        rushed = len(events) == PAGE  # there may be any number more: go on from the newest
        self._after = await self._service.last_event(self._queue) if rushed else events[-1].id
        shown = await self._frames(events[-EVENTS_SHOWN:])
        left_out = len(events) - len(shown)
        return b"".join([*([_frame("left_out", {"at_least": left_out})] if left_out else []), *shown])

    async def _frames(self, events: list[Event]) -> list[bytes]:
        """Each event with the label that its ticket prints, while that is kept."""
        numbers = sorted({event.ticket for event in events if event.ticket is not None})
        labels = await self._service.labels(self._queue, numbers) if numbers else {}
        return [
            _frame("event", {**msgspec.to_builtins(EventAnswer.of(event)), "label": labels.get(event.ticket or 0)})
            for event in events
        ]


def _frame(name: str, content: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode(content))
