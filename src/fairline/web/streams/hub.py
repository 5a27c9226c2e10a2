"""The stream hub: pushes to open streams where their tickets stand.

One loop per worker. It reads the events of the queues that have streams here: whoever was let in or ended is told at
once; the others are told their new position within a second, and only if the line moved. Events are only the wake-up:
what is told is read from the tickets, so nobody is lost with a worker that dies, and a stream that comes back is shown
the truth. An open stream is the sign of life of its ticket.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from time import monotonic

import structlog

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId, QueueSettings
from fairline.errors import FairlineError, QueueNotFound, StoreError, TooManyStreams
from fairline.service.answers import StatusAnswer
from fairline.web.context import Context
from fairline.web.server.http import NO_STORE, Connection, Request, Response, Sent, Takeover
from fairline.web.streams.frames import Frames
from fairline.web.streams.open_streams import (
    BUFFER_LIMIT,
    HEADERS,
    KEEP_ALIVE_SECONDS,
    LIFE_SECONDS,
    RETRY,
    RETRY_AFTER_END,
    SLOW_SECONDS,
    OpenStreams,
    give_up_soon,
)

log = structlog.get_logger()

POLL_SECONDS = 0.1
REFRESH_SECONDS = 0.5
#: Several tabs and devices may look at one ticket, and what is left of a connection that broke off counts for a while.
#: One more is refused, and its page goes by heartbeats: if the oldest made room, its page would come back at once.
PER_TICKET = 10
#: How many streams are looked up at once.
SLICE = 250
#: For so many seconds they are written to before others have a turn: whoever calls takes several turns to be answered.
TURN_SECONDS = 0.002
EVENTS_AT_ONCE = 500

#: A comment for whatever lies between, and an event for the client: browsers show comments to no script, and who hears
#: nothing cannot tell a quiet line from a dead connection. Those who do not move hear so how many came behind them.
ALIVE = b':\nevent: alive\ndata: {"queue_length":%d}\n\n'

_MOVES_THE_LINE = frozenset(
    {
        EventType.ADMITTED,
        EventType.CALLED,
        EventType.EXPIRED,
        EventType.RETURNED,
        EventType.PRIORITISED,
        EventType.PUT_ON_HOLD,
        EventType.RELEASED,
        EventType.STEPPED_BACK,
        EventType.TRANSFERRED,
    }
)
#: Told to the stream of a device that the ticket has gone on from.
MOVED = b"id: moved\nevent: moved\ndata: {}\n\n"


class Watcher:
    """One open stream."""

    __slots__ = (
        "address",
        "connection",
        "ends_at",
        "hub",
        "joined",
        "moved",
        "number",
        "queue",
        "seen",
        "slow_since",
        "started",
    )

    def __init__(self, hub: Hub, address: str, seen: tuple[str, str], started: StatusAnswer) -> None:
        self.hub = hub
        self.address = address
        self.queue = started.queue
        self.number = started.ticket_status.number
        self.seen = seen
        """The state and the message this client has been told."""
        self.joined, self.moved = started.ticket_status.joined, started.ticket_status.moved
        self.started: StatusAnswer | None = started
        self.connection: Connection | None = None
        self.slow_since = 0.0
        self.ends_at = 0.0

    def opened(self, connection: Connection) -> None:
        """The connection is this stream's: tell where the ticket stands."""
        self.connection = connection
        give_up_soon(connection)
        connection.write(b"retry: %d\n\n" % random.randint(*RETRY))
        answer, self.started = self.started, None
        self.hub.add(self)
        if answer is not None:
            self.tell(Frames(self.hub.context, answer))

    def lost(self) -> None:
        """The client is gone; its ticket lives on until its deadline."""
        self.hub.remove(self)
        self.connection = None

    def shutdown(self) -> None:
        """The server ends: say when to come back."""
        if self.connection is not None and not self.connection.is_closing():
            self.connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self.connection.close()

    def tell(self, frames: Frames, *, recalled: bool = False) -> bool:
        """Write what this client has not been told yet, or that it is called again; False if nothing was written."""
        connection = self.connection
        if connection is None or connection.is_closing() or self._slow(connection):
            return False
        if frames.answer.ticket_status.joined != self.joined:
            connection.close()  # somebody else's, in a queue made anew
            return False
        if frames.answer.ticket_status.moved != self.moved:
            connection.write(MOVED)
            connection.close()
            return True
        state, message = self.seen
        wrote = False
        if frames.message != message:
            connection.write(frames.message_frame)
            wrote = True
        if recalled and state.partition("-")[0] == frames.answer.ticket_status.status:
            connection.write(frames.recalled_frame)  # which says all the rest, too
            wrote = True
        elif frames.state != state:
            connection.write(frames.state_frame)
            wrote = True
        self.seen = (frames.state, frames.message)
        if frames.ended:
            connection.close()
        return wrote

    def _slow(self, connection: Connection) -> bool:
        if connection.get_write_buffer_size() <= BUFFER_LIMIT:
            self.slow_since = 0.0
            return False
        now = self.hub.loop.time()
        if not self.slow_since:
            self.slow_since = now
        elif now - self.slow_since > SLOW_SECONDS:
            connection.abort()
        return True


class Hub:
    """All streams of one worker. `on_pushed` hears of frames: whether they tell of an event of the ticket itself
    ("own") or of the line having moved ("line"), the seconds since it happened, how many. `on_streams` hears how many
    streams are open."""

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
        self._streams: dict[QueueId, dict[int, list[Watcher]]] = {}
        self._kept: dict[QueueId, _Kept] = {}
        self._open = OpenStreams(context.settings.streams_per_address, on_count=on_streams)

    @property
    def open_streams(self) -> int:
        """How many are open."""
        return self._open.count

    # Streams

    def open(self, request: Request, answer: StatusAnswer) -> Sent:
        """A stream for the ticket of `answer`, or TooManyStreams; what the client was told, by its Last-Event-ID, is
        not repeated."""
        last = request.text(b"last-event-id") or request.args.get("last_event_id", "")
        state, _, message = last.partition(".")
        frames = Frames(self.context, answer)
        if frames.ended and state == frames.state:
            return Response(204, headers=NO_STORE)  # told already: the browser need not come back
        if len(self._streams.get(answer.queue, {}).get(answer.ticket_status.number, ())) >= PER_TICKET:
            raise TooManyStreams("ticket", PER_TICKET)
        address = self.context.proxies.counted_address(request)
        self._open.check(address)
        return Takeover(Watcher(self, address, (state, message), answer), HEADERS)

    def add(self, watcher: Watcher) -> None:
        """Begin to push to a stream."""
        watcher.ends_at = self.loop.time() + LIFE_SECONDS * random.uniform(0.8, 1.2)
        self._streams.setdefault(watcher.queue, {}).setdefault(watcher.number, []).append(watcher)
        self._open.add(watcher.address)

    def remove(self, watcher: Watcher) -> None:
        """Forget a stream that is over."""
        tickets = self._streams.get(watcher.queue, {})
        watchers = tickets.get(watcher.number, [])
        if watcher in watchers:
            watchers.remove(watcher)
            self._open.remove(watcher.address)
            if not watchers:
                del tickets[watcher.number]
            if not tickets:
                del self._streams[watcher.queue]
                self._kept.pop(watcher.queue, None)

    # The loop

    async def run(self) -> None:
        """Push until cancelled."""
        under_way: dict[QueueId, asyncio.Task[None]] = {}
        try:
            while True:
                # No queue waits for another one, which may be on a part of the store that does not answer.
                for queue in self._streams.keys() - under_way.keys():
                    under_way[queue] = task = asyncio.ensure_future(self._look_after(queue))
                    task.add_done_callback(partial(_forget, under_way, queue))
                await asyncio.sleep(POLL_SECONDS)
        finally:
            for task in under_way.values():
                task.cancel()

    async def _look_after(self, queue: QueueId) -> None:
        try:
            await self._keep(queue)
        except QueueNotFound:
            self._drop(queue)
        except StoreError as error:
            log.warning("hub.store_away", queue=queue, error=error.message)
        except Exception:
            log.exception("hub.failed", queue=queue)

    async def _keep(self, queue: QueueId) -> None:
        kept = self._kept.get(queue)
        if kept is None:
            kept = _Kept(await self.context.service.last_event(queue), self.loop.time())
            if queue not in self._streams:
                return  # the last one went meanwhile
            self._kept[queue] = kept
        await self._keep_alive(queue, kept)  # first: also where the store is away
        await self._hear(queue, kept)
        now = self.loop.time()
        if now >= kept.beat_at:
            last = await self._tell(queue, self._numbers(queue), kept.moved_at, heartbeat=True)
            kept.settle(now)
            kept.beat_at = now + (_until_next_beat(last.settings) if last else REFRESH_SECONDS)
            kept.waiting = last.snapshot.waiting if last else kept.waiting
        elif kept.moved and now - kept.refreshed_at >= REFRESH_SECONDS:
            await self._tell(queue, self._numbers(queue), kept.moved_at)
            kept.settle(now)

    async def _hear(self, queue: QueueId, kept: _Kept) -> None:
        """Read what happened; tell at once those it happened to. Where the store goes away in between, it is read again
        when it is back."""
        events = await self.context.service.events(queue, kept.after, EVENTS_AT_ONCE)
        if not events:
            return
        moved_at = next((event.at for event in events if _moves(event)), 0)
        kept.moved, kept.moved_at = kept.moved or moved_at > 0, kept.moved_at or moved_at
        if any(event.type is EventType.SETTINGS_CHANGED for event in events):
            kept.beat_at = 0.0  # by what is set now, a sign may be due
        here = self._streams.get(queue, {})
        # A join tells nobody anything new: the client has its answer.
        touched = {e.ticket: e.at for e in events if e.type is not EventType.JOINED and e.ticket is not None}
        touched = {number: at for number, at in touched.items() if number in here}
        recalled = {event.ticket for event in events if event.type is EventType.RECALLED}
        before, kept.after = kept.after, events[-1].id
        try:
            await self._tell(queue, list(touched), touched, recalled=recalled)
        except StoreError:
            kept.after = before
            raise

    def _numbers(self, queue: QueueId) -> list[int]:
        return list(self._streams.get(queue, ()))

    async def _tell(
        self,
        queue: QueueId,
        numbers: list[int],
        since: int | Mapping[int, int] = 0,
        *,
        heartbeat: bool = False,
        recalled: Container[int | None] = (),
    ) -> StatusAnswer | None:
        """Look up tickets in slices and tell their streams what is new to them; answers the last of them. `since` says
        when it happened, to each or to all, where it is known; `recalled`, who is called once more."""
        last = None
        for start in range(0, len(numbers), SLICE):
            part = numbers[start : start + SLICE]
            answers = await self.context.service.statuses(queue, part, heartbeat=heartbeat)
            read_at = self.loop.time()
            turn_ends = monotonic() + TURN_SECONDS
            for number, answer in zip(part, answers, strict=True):
                watchers = self._streams.get(queue, {}).get(number)
                if not watchers:
                    continue
                if isinstance(answer, FairlineError):
                    _close(watchers)
                    continue
                last = answer
                frames = Frames(self.context, answer)
                told = sum([watcher.tell(frames, recalled=number in recalled) for watcher in list(watchers)])
                if told and since and self._on_pushed:
                    kind, at = ("line", since) if isinstance(since, int) else ("own", since[number])
                    # By the store's clock, which is the event's, up to its answer; by ours from there.
                    seconds = (answer.snapshot.now - at) / 1000 + self.loop.time() - read_at
                    self._on_pushed(kind, max(0.0, seconds), told)
                if monotonic() >= turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = monotonic() + TURN_SECONDS
        return last

    async def _keep_alive(self, queue: QueueId, kept: _Kept) -> None:
        """Now and then a word on every stream, so that both sides notice a dead connection; or its end, once it has
        lived long enough."""
        now, alive = self.loop.time(), ALIVE % kept.waiting
        if now < kept.alive_at:
            return
        kept.alive_at = now + KEEP_ALIVE_SECONDS
        turn_ends = monotonic() + TURN_SECONDS
        for number in self._numbers(queue):
            for watcher in list(self._streams.get(queue, {}).get(number, ())):
                connection = watcher.connection
                if connection is None or connection.is_closing():
                    continue
                if now >= watcher.ends_at:
                    watcher.shutdown()
                elif connection.get_write_buffer_size() <= BUFFER_LIMIT:
                    connection.write(alive)
            if monotonic() >= turn_ends:
                await asyncio.sleep(0)
                turn_ends = monotonic() + TURN_SECONDS

    def _drop(self, queue: QueueId) -> None:
        """The queue is no more."""
        for watchers in list(self._streams.get(queue, {}).values()):
            _close(watchers)
        self._kept.pop(queue, None)


class _Kept:
    """What the loop remembers of a queue that has streams here."""

    __slots__ = ("after", "alive_at", "beat_at", "moved", "moved_at", "refreshed_at", "waiting")

    def __init__(self, after: str, now: float) -> None:
        self.after = after
        self.moved = True
        self.moved_at = 0
        """When the line first moved since all were told, by the store's clock."""
        self.refreshed_at = 0.0
        self.beat_at = now
        self.alive_at = now + KEEP_ALIVE_SECONDS
        self.waiting = 0

    def settle(self, now: float) -> None:
        """All have been told how the line stood then."""
        self.moved_at, self.moved, self.refreshed_at = 0, False, now


def _forget(under_way: dict[QueueId, asyncio.Task[None]], queue: QueueId, _task: asyncio.Task[None]) -> None:
    del under_way[queue]


def _until_next_beat(settings: QueueSettings) -> float:
    """How many seconds may pass between two signs of life of those who have a stream open: so few that whoever closes
    one of two pages, or loads it again, is heard before the grace is over."""
    return min(settings.heartbeat_interval_seconds, max(1.0, settings.grace_seconds / 2))


def _moves(event: Event) -> bool:
    """Whether an event changes anyone else's position, or what everyone is told."""
    return (
        event.type in _MOVES_THE_LINE
        or event.type in (EventType.SETTINGS_CHANGED, EventType.COMPLETED)  # the last of the stock may be sold
        or (event.type is EventType.JOINED and event.detail is not None)
    )


def _close(watchers: Iterable[Watcher]) -> None:
    for watcher in list(watchers):
        if watcher.connection is not None:
            watcher.connection.close()
