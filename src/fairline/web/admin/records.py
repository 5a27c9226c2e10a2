"""The calls about the statistics and the events of a queue, also as a stream."""

from __future__ import annotations

import asyncio

import structlog

from fairline.domain.queue import QueueId
from fairline.errors import StoreError
from fairline.service.fairline import PAGE, Fairline
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.record_wire import EventAnswer, EventList, HourAnswer, HourList, StatsAnswer, labels_of
from fairline.web.admin.streams import (
    AWAY_SECONDS,
    POLL_SECONDS,
    OpenStream,
    StillAllowed,
    still_allowed,
    wants_stream,
)
from fairline.web.admin.wire import Cursor, limit_query
from fairline.web.server.compression import Compression
from fairline.web.server.http import Connection, Response, Sent, Takeover, encode, private
from fairline.web.server.operations import Operation, Query
from fairline.web.streams.open_streams import HEADERS, KEEP_ALIVE_SECONDS

log = structlog.get_logger()

USUAL_EVENTS = 100
#: Given in place of an event's id: only events from now on.
LATEST = "latest"


class Records(OperatorCalls):
    """The calls about statistics and events."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER, "GET /queues/{queue}/stats", "The statistics of a queue.", self.stats, {200: StatsAnswer}
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/stats/hourly",
                "The statistics of a queue by hour.",
                self.hourly,
                {200: HourList},
                compression=Compression.EACH,
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/events",
                "The events of a queue, oldest first; with 'Accept: text/event-stream' also new ones as they happen.",
                self.events,
                {200: EventList},
                query=(
                    Query(
                        "after", Cursor, f"the id of an event, or '{LATEST}'; by default from the oldest stored event"
                    ),
                    limit_query(PAGE, USUAL_EVENTS),
                ),
                headers=("Accept", "Last-Event-ID"),
                streams=True,
            ),
        ]

    async def stats(self, call: Call) -> Response:
        """The statistics of a queue."""
        return private(200, StatsAnswer.of(call.queue, await self._service.stats(call.queue)))

    async def hourly(self, call: Call) -> Response:
        """The statistics of a queue by hour."""
        return private(200, HourList([HourAnswer.of(hour) for hour in await self._service.hourly(call.queue)]))

    async def events(self, call: Call) -> Sent:
        """A page of events, or a stream."""
        request, queue = call.request, call.queue
        streams = wants_stream(call)
        after = (request.text(b"last-event-id") if streams else None) or request.args.get("after") or None
        limit = call.limit(PAGE, USUAL_EVENTS)
        if after == LATEST:
            after = await self._service.last_event(queue)
        events = await self._service.events(queue, after, limit)
        if not streams:
            labels = await labels_of(self._service, queue, events)
            found = [EventAnswer.of(event, labels) for event in events]
            return private(200, EventList(found, events[-1].id if events else after))

        return Takeover(
            LiveEvents(self._service, queue, after, still_allowed(self._operators, call, Role.VIEWER)), HEADERS
        )


class LiveEvents(OpenStream):
    """One open stream of a queue's events. A client that reconnects continues after the last event it received."""

    def __init__(self, service: Fairline, queue: QueueId, after: str | None, still_allowed: StillAllowed) -> None:
        super().__init__(queue, still_allowed)
        self._service = service
        self._queue = queue
        self._after = after

    async def _send_updates(self, connection: Connection) -> None:
        """Write events until the connection closes."""
        clock = asyncio.get_running_loop().time
        wrote_at = clock()
        while not connection.is_closing():
            try:
                events = await self._service.events(self._queue, self._after, PAGE)
                if events or clock() - wrote_at >= KEEP_ALIVE_SECONDS:
                    await self._still_allowed()
                labels = await labels_of(self._service, self._queue, events)
            except StoreError as error:
                log.warning("events.store_away", queue=self._queue, error=error.message)
                await asyncio.sleep(AWAY_SECONDS)
                continue
            if events:
                self._after = events[-1].id
                connection.write(b"".join(_frame(EventAnswer.of(event, labels)) for event in events))
                wrote_at = clock()
            elif clock() - wrote_at >= KEEP_ALIVE_SECONDS:
                connection.write(b":\n\n")
                wrote_at = clock()
            if len(events) < PAGE:
                await asyncio.sleep(POLL_SECONDS)
            await self._wait_for_reader(connection)


def _frame(event: EventAnswer) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (event.id.encode(), event.type.encode(), encode(event))
