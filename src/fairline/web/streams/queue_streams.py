"""The open streams of pages that wait for a start: one loop per worker reads each queue that such a page shows, and
encodes its state once for all of them.

A state is sent when something has changed that a page shows before a start. How many people wait is not among that.
"""

from __future__ import annotations

import asyncio
import random
import time

import msgspec
import structlog

from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, StoreError
from fairline.web.api.queue_states import State
from fairline.web.api.wire import QueueAnswer, QueueNews, moment
from fairline.web.context import Context
from fairline.web.server.http import Connection, Takeover, encode
from fairline.web.streams.open_streams import (
    HEADERS,
    KEEP_ALIVE_SECONDS,
    LIFE_SECONDS,
    RETRY,
    OpenStreams,
    PublicStream,
    give_up_soon,
)

log = structlog.get_logger()

POLL_SECONDS = 0.2
#: Streams of one worker. Pages for which there is no stream ask for the state of the queue now and then.
IN_ALL = 20_000
#: How many pages one worker can draw in a second, with something left for other calls.
PAGES_A_SECOND = 250
#: How many streams are written to before the event loop may do other work.
SLICE = 200


class QueueStream(PublicStream):
    """One open stream of a queue's state."""

    __slots__ = ("_first", "_queue_streams", "queue", "shown")

    def __init__(self, queue_streams: QueueStreams, address: str, queue: QueueId, state: State) -> None:
        super().__init__(address)
        self.queue = queue
        self.shown = shown_of(state.answer)
        self._first = state
        self._queue_streams = queue_streams

    def opened(self, connection: Connection) -> None:
        """The connection now belongs to this stream: send the state of the queue."""
        self._connection = connection
        give_up_soon(connection)
        connection.write(b"retry: %d\n" % random.randint(*RETRY) + frame(self._first, 1))
        self._queue_streams.add(self)

    def lost(self) -> None:
        """The page has disconnected."""
        self._queue_streams.remove(self)
        self._connection = None


class QueueStreams:
    """All streams of the states of queues in one worker."""

    def __init__(self, context: Context) -> None:
        self._states = context.queue_states
        self._streams: dict[QueueId, list[QueueStream]] = {}
        self._open = OpenStreams(context.settings.streams_per_address, IN_ALL)
        self._alive_at = 0.0

    async def open(self, address: str, queue: QueueId) -> Takeover:
        """A stream of a queue's state; TooManyStreams if there are too many, QueueNotFound if there is no queue."""
        self._open.check(address)
        return Takeover(QueueStream(self, address, queue, await self._states.state(queue)), HEADERS)

    def add(self, stream: QueueStream) -> None:
        """Begin to send to a stream."""
        stream.ends_at = time.monotonic() + LIFE_SECONDS * random.uniform(0.8, 1.2)
        self._streams.setdefault(stream.queue, []).append(stream)
        self._open.add(stream.address)

    def remove(self, stream: QueueStream) -> None:
        """Forget a stream that is over."""
        streams = self._streams.get(stream.queue, [])
        if stream in streams:
            streams.remove(stream)
            self._open.remove(stream.address)
        if not streams:
            self._streams.pop(stream.queue, None)

    async def run(self) -> None:
        """Keep all pages up to date until cancelled."""
        while True:
            began = time.monotonic()
            keeps_alive = began >= self._alive_at
            if keeps_alive:
                self._alive_at = began + KEEP_ALIVE_SECONDS
            for queue in list(self._streams):
                try:
                    await self._update(queue, keeps_alive=keeps_alive)
                except QueueNotFound:
                    for stream in list(self._streams.get(queue, ())):
                        stream.close()
                except StoreError as error:
                    log.warning("queue_streams.store_away", queue=queue, error=error.message)
                except Exception:
                    log.exception("queue_streams.failed", queue=queue)
            await asyncio.sleep(max(POLL_SECONDS / 10, began + POLL_SECONDS - time.monotonic()))

    async def _update(self, queue: QueueId, *, keeps_alive: bool) -> None:
        state = await self._states.state(queue)
        streams = list(self._streams.get(queue, ()))
        shown, framed = shown_of(state.answer), frame(state, len(streams))
        for first in range(0, len(streams), SLICE):
            for stream in streams[first : first + SLICE]:
                if stream.shown != shown and stream.can_write():
                    stream.shown = shown
                    stream.write(framed)
                elif keeps_alive:
                    stream.keep_alive(time.monotonic(), framed)
            await asyncio.sleep(0)


def shown_of(answer: QueueAnswer) -> bytes:
    """All of a queue's state that a page shows before a start."""
    waits = {"queue_length": 0, "now_serving": 0, "estimated_wait_seconds": None, "closes_at": None}
    return encode(msgspec.structs.replace(answer, **waits))


def frame(state: State, pages: int) -> bytes:
    """A queue's state as a server-sent event."""
    fields = msgspec.structs.asdict(state.answer)
    news = QueueNews(**fields, now=moment(state.present), spread_seconds=round(pages / PAGES_A_SECOND, 1))
    return b"event: state\ndata: %b\n\n" % encode(news)
