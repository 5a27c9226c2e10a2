"""The open streams of boards: one loop per worker reads each queue that has a screen here, and encodes it once for all.

A screen is told the whole of what it shows whenever that changed, so a frame that was lost, or a stream that came back,
leaves nothing to be made up for.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence

import structlog

from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, StoreError
from fairline.web.api.boards import Follower
from fairline.web.context import Context
from fairline.web.server.http import Connection, Takeover, encode
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

POLL_SECONDS = 0.15
#: People who only join are told of so often; a call is told of at once.
JOINED_SECONDS = 0.5
#: A wait changes while nothing happens.
QUIET_SECONDS = 5.0
#: Nobody has to prove anything to look at a board, so there is a bound to how many one address, and all, may open here.
PER_ADDRESS = 100
IN_ALL = 2000

ALIVE = b":\nevent: alive\ndata: {}\n\n"


class BoardStream:
    """One open stream, of one queue or several."""

    __slots__ = ("_board_streams", "_connection", "_slow_since", "_told", "_version", "address", "ends_at")

    def __init__(
        self, board_streams: BoardStreams, address: str, told: Sequence[tuple[QueueId, bytes]], version: str
    ) -> None:
        self.address = address
        self.ends_at = 0.0
        self._board_streams = board_streams
        self._told = dict(told)
        self._version = version
        self._connection: Connection | None = None
        self._slow_since = 0.0

    @property
    def queues(self) -> list[QueueId]:
        """What it shows."""
        return list(self._told)

    def opened(self, connection: Connection) -> None:
        """The connection is this stream's: say who we are, and what there is to be shown."""
        self._connection = connection
        give_up_soon(connection)
        hello = encode({"version": self._version})
        connection.write(b"retry: %d\nevent: hello\ndata: %b\n\n" % (random.randint(*RETRY), hello))
        connection.write(b"".join(map(frame, self._told.values())))
        self._board_streams.add(self)

    def lost(self) -> None:
        """The screen is gone."""
        self._board_streams.remove(self)
        self._connection = None

    def shutdown(self) -> None:
        """The server ends, or the stream has lived long enough: say when to come back."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self._connection.close()

    def close(self) -> None:
        """End it."""
        if self._connection is not None:
            self._connection.close()

    def tell(self, queue: QueueId, board: bytes, framed: bytes) -> None:
        """Write what a queue shows, unless this screen has it already or does not read."""
        if self._told[queue] != board and self._can_write():
            self._told[queue] = board
            self.write(framed)

    def keep_alive(self, now: float) -> None:
        """A word, so that both sides notice a dead connection; or the end."""
        if now >= self.ends_at:
            self.shutdown()
        elif self._can_write():
            self.write(ALIVE)

    def write(self, data: bytes) -> None:
        """Send."""
        if self._connection is not None:
            self._connection.write(data)

    def _can_write(self) -> bool:
        connection = self._connection
        if connection is None or connection.is_closing():
            return False
        if connection.get_write_buffer_size() <= BUFFER_LIMIT:
            self._slow_since = 0.0
            return True
        self._slow_since = self._slow_since or time.monotonic()
        if time.monotonic() - self._slow_since > SLOW_SECONDS:
            connection.abort()
        return False


class BoardStreams:
    """All streams of boards of one worker."""

    def __init__(self, context: Context) -> None:
        self._service = context.service
        self._board_streams: dict[QueueId, list[BoardStream]] = {}
        self._followers: dict[QueueId, Follower] = {}
        self._open = OpenStreams(PER_ADDRESS, IN_ALL)
        self._alive_at = 0.0

    def open(self, address: str, told: Sequence[tuple[QueueId, bytes]], version: str) -> Takeover:
        """A stream for a screen that is about to be told what each of its queues shows; TooManyStreams where it is one
        too many."""
        self._open.check(address)
        return Takeover(BoardStream(self, address, told, version), HEADERS)

    def add(self, screen: BoardStream) -> None:
        """Begin to tell a screen."""
        screen.ends_at = time.monotonic() + LIFE_SECONDS * random.uniform(0.8, 1.2)
        self._open.add(screen.address)
        for queue in screen.queues:
            self._board_streams.setdefault(queue, []).append(screen)

    def remove(self, screen: BoardStream) -> None:
        """Forget a stream that is over."""
        here = False
        for queue in screen.queues:
            board_streams = self._board_streams.get(queue, [])
            if screen in board_streams:
                here = True
                board_streams.remove(screen)
            if not board_streams:
                self._board_streams.pop(queue, None)
                self._followers.pop(queue, None)
        if here:
            self._open.remove(screen.address)

    async def run(self) -> None:
        """Tell all screens until cancelled."""
        while True:
            began = time.monotonic()
            for queue in list(self._board_streams):
                try:
                    await self._keep(queue)
                except QueueNotFound:
                    for screen in list(self._board_streams.get(queue, ())):
                        screen.close()
                except StoreError as error:
                    log.warning("screens.store_away", queue=queue, error=error.message)
                except Exception:
                    log.exception("screens.failed", queue=queue)
            self._keep_alive()
            await asyncio.sleep(max(POLL_SECONDS / 10, began + POLL_SECONDS - time.monotonic()))

    async def _keep(self, queue: QueueId) -> None:
        follower = self._followers.get(queue)
        if follower is None:
            follower = self._followers[queue] = Follower(self._service, queue)
        called = await follower.read_events()
        waits = JOINED_SECONDS if follower.changed else QUIET_SECONDS
        if called or time.monotonic() - follower.read_at >= waits:
            await follower.read_board()
        framed = frame(follower.encoded)
        for screen in list(self._board_streams.get(queue, ())):
            screen.tell(queue, follower.encoded, framed)

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if now < self._alive_at:
            return
        self._alive_at = now + KEEP_ALIVE_SECONDS
        for screen in {screen for board_streams in self._board_streams.values() for screen in board_streams}:
            screen.keep_alive(now)


def frame(board: bytes) -> bytes:
    """What a board shows, as an event."""
    return b"event: board\ndata: %b\n\n" % board
