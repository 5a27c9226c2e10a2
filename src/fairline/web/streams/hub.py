"""The stream hub: pushes the status of tickets to their open streams.

One loop per worker reads the events of the queues that have streams here. A ticket that was admitted or has ended is
pushed at once; the others receive their new position within a second, and only if the line moved. Events only wake the
loop: what is sent is read from the tickets, so nothing is lost. An open stream also gives the heartbeats of its ticket.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from functools import partial
from time import monotonic
from typing import TypeAlias

import structlog

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.errors import FairlineError, QueueNotFound, StoreError, TooManyStreams
from fairline.service.answers import StatusAnswer
from fairline.web.context import Context
from fairline.web.server.http import NO_STORE, Request, Response, Sent, Takeover
from fairline.web.streams.frames import Frames
from fairline.web.streams.hub_state import QueueState, until_next_heartbeat, until_return
from fairline.web.streams.open_streams import (
    BUFFER_LIMIT,
    HEADERS,
    LIFE_SECONDS,
    OpenStreams,
)
from fairline.web.streams.ticket_stream import TicketStream

log = structlog.get_logger()

ReadTickets: TypeAlias = Callable[[QueueId, list[int]], Awaitable[list[StatusAnswer | FairlineError]]]

POLL_SECONDS = 0.1
REFRESH_SECONDS = 0.5
#: Streams of one ticket: there may be several tabs and devices, and a broken connection counts for a while. One more is
#: refused, and its page uses heartbeats. Closing the oldest instead would not help: its page would reconnect at once.
PER_TICKET = 10
#: How many tickets are read at once.
SLICE = 250
#: Seconds of writing to streams before the event loop may do other work: answers to requests must not wait long.
TURN_SECONDS = 0.002
EVENTS_AT_ONCE = 500

#: A comment for proxies on the way, and an event by which a script tells a quiet line from a dead connection. It also
#: tells people who do not move how long the line is now, and until when their place is kept at least.
ALIVE = b":\nevent: alive\ndata: %s\n\n"
#: Sent instead while the store does not answer, so that no page says that it is up to date meanwhile.
AWAY = b":\nevent: away\ndata: {}\n\n"
#: Seconds between two of these events. A page that has heard none for 5 s says that it has lost the connection.
ALIVE_SECONDS = 4.0
#: Seconds after which a store that has not answered counts as away.
AWAY_SECONDS = 3.0

_MOVES_THE_LINE = frozenset(
    {
        EventType.ADMITTED,
        EventType.CALLED,
        EventType.EXPIRED,
        EventType.RETURNED,
        EventType.PUT_BACK,
        EventType.PRIORITISED,
        EventType.PUT_ON_HOLD,
        EventType.RELEASED,
        EventType.STEPPED_BACK,
        EventType.TRANSFERRED,
    }
)


class Hub:
    """All ticket streams of one worker. `on_pushed` is called with the kind of frames (`own` for an event of the ticket
    itself, `line` if the line moved), the seconds since the event, and the number of frames. `on_streams` is called
    with the number of open streams."""

    def __init__(
        self,
        context: Context,
        *,
        on_pushed: Callable[[str, float, int], None] | None = None,
        on_streams: Callable[[int], None] | None = None,
    ) -> None:
        self.context = context
        self._on_pushed = on_pushed
        self.loop = asyncio.get_running_loop()
        self._streams: dict[QueueId, dict[int, list[TicketStream]]] = {}
        self._queues: dict[QueueId, QueueState] = {}
        self._open = OpenStreams(context.settings.streams_per_address, on_count=on_streams)

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return self._open.count

    # Streams

    def open(self, request: Request, answer: StatusAnswer) -> Sent:
        """A stream for the ticket of `answer`, or TooManyStreams. Frames that the client already has, by its
        Last-Event-ID, are not repeated."""
        last = request.text(b"last-event-id") or request.args.get("last_event_id", "")
        state, _, message = last.partition(".")
        frames = Frames(self.context, answer)
        if frames.ended and state == frames.state:
            return Response(204, headers=NO_STORE)  # the client knows the end already and need not reconnect
        if len(self._streams.get(answer.queue, {}).get(answer.ticket_status.number, ())) >= PER_TICKET:
            raise TooManyStreams("ticket", PER_TICKET)
        address = self.context.proxies.counted_address(request)
        self._open.check(address)
        return Takeover(TicketStream(self, address, (state, message), answer), HEADERS)

    def add(self, stream: TicketStream) -> None:
        """Begin to push to a stream."""
        stream.ends_at = self.loop.time() + LIFE_SECONDS * random.uniform(0.8, 1.2)
        self._streams.setdefault(stream.queue, {}).setdefault(stream.number, []).append(stream)
        self._open.add(stream.address)

    def remove(self, stream: TicketStream) -> None:
        """Forget a stream that is over."""
        tickets = self._streams.get(stream.queue, {})
        streams = tickets.get(stream.number, [])
        if stream in streams:
            streams.remove(stream)
            self._open.remove(stream.address)
            if not streams:
                del tickets[stream.number]
            if not tickets:
                del self._streams[stream.queue]
                self._queues.pop(stream.queue, None)

    # The loop

    async def run(self) -> None:
        """Push until cancelled."""
        under_way: dict[QueueId, asyncio.Task[None]] = {}
        try:
            while True:
                # No queue waits for another, whose part of the store may not answer.
                for queue in list(self._streams):
                    if queue in under_way:
                        await self._check_store(queue)
                        continue
                    under_way[queue] = task = asyncio.ensure_future(self._serve(queue))
                    task.add_done_callback(partial(_forget, under_way, queue))
                await asyncio.sleep(POLL_SECONDS)
        finally:
            for task in under_way.values():
                task.cancel()

    async def _serve(self, queue: QueueId) -> None:
        try:
            await self._update(queue)
        except QueueNotFound:
            self._drop(queue)
        except StoreError as error:
            log.warning("hub.store_away", queue=queue, error=error.message)
            if state := self._queues.get(queue):
                await self._say_away(queue, state)
        except Exception:
            log.exception("hub.failed", queue=queue)

    async def _update(self, queue: QueueId) -> None:
        state = self._queues.get(queue)
        if state is None:
            last_event, now = await self.context.service.last_event(queue), self.loop.time()
            state = QueueState(last_event, now, now + ALIVE_SECONDS)
            if queue not in self._streams:
                return  # the last stream was closed meanwhile
            self._queues[queue] = state
        state.asked_at = self.loop.time()
        await self._read_events(queue, state)
        now = self.loop.time()
        if now >= state.heartbeat_at:
            heartbeats = self.context.service.stream_heartbeats
            last = await self._push(queue, self._numbers(queue), state.moved_at, read=heartbeats, leaving=state.leaving)
            state.refreshed(now)
            state.heartbeat_at = now + (until_next_heartbeat(last.settings) if last else REFRESH_SECONDS)
            state.return_at = now + (until_return(last.settings) if last else REFRESH_SECONDS)
            if last:
                state.heard(last, self.loop.time())
        elif state.moved and now - state.refreshed_at >= REFRESH_SECONDS:
            await self._push(queue, self._numbers(queue), state.moved_at)
            state.refreshed(now)
        if state.leaving and now >= state.return_at:
            await self._bring_back(queue, state)
        state.asked_at = math.inf
        if state.away or self.loop.time() >= state.alive_at:
            state.away = False
            await self._keep_alive(queue, state, ALIVE % state.alive(self.loop.time()))

    async def _check_store(self, queue: QueueId) -> None:
        """Tell the streams of a queue if the store has not answered for too long."""
        state = self._queues.get(queue)
        if state is not None and not state.away and self.loop.time() - state.asked_at > AWAY_SECONDS:
            await self._say_away(queue, state)

    async def _say_away(self, queue: QueueId, state: QueueState) -> None:
        if not state.away or self.loop.time() >= state.alive_at:
            state.away = True
            await self._keep_alive(queue, state, AWAY)

    async def _bring_back(self, queue: QueueId, state: QueueState) -> None:
        """Tickets whose page was closed, but which have an open stream: another page is open. When a page is closed,
        one worker receives that, and the one that has the stream may notice a moment later that it ended. So a ticket
        is brought back only if its stream is still there a while after it was seen leaving."""
        here = self._streams.get(queue, {})
        back = [number for number in state.leaving if number in here]
        await self._push(queue, back, read=partial(self.context.service.stream_heartbeats, still_open=True))
        state.leaving.clear()

    async def _read_events(self, queue: QueueId, state: QueueState) -> None:
        """Read new events and push at once to the tickets they concern. If the store becomes unavailable in between,
        the same events are read again later."""
        events = await self.context.service.events(queue, state.after, EVENTS_AT_ONCE)
        if not events:
            return
        moved_at = next((event.at for event in events if _moves(event)), 0)
        state.moved, state.moved_at = state.moved or moved_at > 0, state.moved_at or moved_at
        if any(event.type is EventType.SETTINGS_CHANGED for event in events):
            state.heartbeat_at = 0.0  # with the new settings, a heartbeat may be due now
        here = self._streams.get(queue, {})
        # A join needs no frame: the client has the answer to its join.
        touched = {e.ticket: e.at for e in events if e.type is not EventType.JOINED and e.ticket is not None}
        touched = {number: at for number, at in touched.items() if number in here}
        recalled = {event.ticket for event in events if event.type is EventType.RECALLED}
        before, state.after = state.after, events[-1].id
        try:
            await self._push(queue, list(touched), touched, recalled=recalled)
        except StoreError:
            state.after = before
            raise

    def _numbers(self, queue: QueueId) -> list[int]:
        return list(self._streams.get(queue, ()))

    async def _push(
        self,
        queue: QueueId,
        numbers: list[int],
        since: int | Mapping[int, int] = 0,
        *,
        read: ReadTickets | None = None,
        leaving: set[int] | None = None,
        recalled: Container[int | None] = (),
    ) -> StatusAnswer | None:
        """Read tickets in slices and send their streams the frames they do not have yet; returns the last answer.
        `since` is when the event happened, for each ticket or for all, where it is known; `recalled` are the tickets
        that are called once more. Those whose page was closed are added to `leaving`."""
        read = read or self.context.service.statuses
        last = None
        for start in range(0, len(numbers), SLICE):
            part = numbers[start : start + SLICE]
            if state := self._queues.get(queue):
                state.asked_at = self.loop.time()
            answers = await read(queue, part)
            read_at = self.loop.time()
            turn_ends = monotonic() + TURN_SECONDS
            for number, answer in zip(part, answers, strict=True):
                streams = self._streams.get(queue, {}).get(number)
                if not streams:
                    continue
                if isinstance(answer, FairlineError):
                    _close(streams)
                    continue
                last = answer
                if leaving is not None and answer.ticket_status.leaving:
                    leaving.add(number)
                frames = Frames(self.context, answer)
                pushed = sum([stream.push(frames, recalled=number in recalled) for stream in list(streams)])
                if pushed and since and self._on_pushed:
                    kind, at = ("line", since) if isinstance(since, int) else ("own", since[number])
                    # From the event to the store's answer by the store's clock; from there by our own clock.
                    seconds = (answer.snapshot.now - at) / 1000 + self.loop.time() - read_at
                    self._on_pushed(kind, max(0.0, seconds), pushed)
                if monotonic() >= turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = monotonic() + TURN_SECONDS
        return last

    async def _keep_alive(self, queue: QueueId, state: QueueState, alive: bytes) -> None:
        """Send a keep-alive on every stream, so that both sides notice a dead connection; and end streams that are old
        enough."""
        now = self.loop.time()
        state.alive_at = now + ALIVE_SECONDS
        turn_ends = monotonic() + TURN_SECONDS
        for number in self._numbers(queue):
            for stream in list(self._streams.get(queue, {}).get(number, ())):
                connection = stream.connection
                if connection is None or connection.is_closing():
                    continue
                if now >= stream.ends_at:
                    stream.shutdown()
                elif connection.get_write_buffer_size() <= BUFFER_LIMIT:
                    connection.write(alive)
            if monotonic() >= turn_ends:
                await asyncio.sleep(0)
                turn_ends = monotonic() + TURN_SECONDS

    def _drop(self, queue: QueueId) -> None:
        """Close all streams of a queue that was deleted."""
        for streams in list(self._streams.get(queue, {}).values()):
            _close(streams)
        self._queues.pop(queue, None)


def _forget(under_way: dict[QueueId, asyncio.Task[None]], queue: QueueId, _task: asyncio.Task[None]) -> None:
    del under_way[queue]


def _moves(event: Event) -> bool:
    """Whether an event changes the position of others, or something that everybody sees."""
    return (
        event.type in _MOVES_THE_LINE
        or event.type in (EventType.SETTINGS_CHANGED, EventType.COMPLETED)  # the last of the stock may be sold
        or (event.type is EventType.JOINED and event.detail is not None)
    )


def _close(streams: Iterable[TicketStream]) -> None:
    for stream in list(streams):
        if stream.connection is not None:
            stream.connection.close()
