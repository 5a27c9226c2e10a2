"""The open streams of boards: one loop per worker reads each queue that a screen shows, and encodes it once for all
screens.

A screen receives its whole board whenever the board has changed, so after a lost frame or a reconnect there is nothing
to catch up on.
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
    HEADERS,
    KEEP_ALIVE_SECONDS,
    LIFE_SECONDS,
    RETRY,
    OpenStreams,
    PublicStream,
    give_up_soon,
)

log = structlog.get_logger()

POLL_SECONDS = 0.15
#: Seconds between updates while people only join; a call is shown at once.
JOINED_SECONDS = 0.5
#: Seconds between updates while nothing happens: the estimated wait changes all the same.
QUIET_SECONDS = 5.0
#: A board needs no token, so the number of streams is limited, for one address and for this worker.
PER_ADDRESS = 100
IN_ALL = 2000

ALIVE = b":\nevent: alive\ndata: {}\n\n"


class BoardStream(PublicStream):
    """One open stream, for the boards of one queue or several."""

    __slots__ = ("_board_streams", "_shown", "_version")

    def __init__(
        self, board_streams: BoardStreams, address: str, boards: Sequence[tuple[QueueId, bytes]], version: str
    ) -> None:
        super().__init__(address)
        self._board_streams = board_streams
        self._shown = dict(boards)
        self._version = version

    @property
    def queues(self) -> list[QueueId]:
        """The queues it shows."""
        return list(self._shown)

    def opened(self, connection: Connection) -> None:
        """The connection now belongs to this stream: send the version of the page, and the boards."""
        self._connection = connection
        give_up_soon(connection)
        hello = encode({"version": self._version})
        connection.write(b"retry: %d\nevent: hello\ndata: %b\n\n" % (random.randint(*RETRY), hello))
        connection.write(b"".join(map(frame, self._shown.values())))
        self._board_streams.add(self)

    def lost(self) -> None:
        """The screen has disconnected."""
        self._board_streams.remove(self)
        self._connection = None

    def show(self, queue: QueueId, board: bytes, framed: bytes) -> None:
        """Send the board of a queue, unless this screen shows it already or does not read its data."""
        if self._shown[queue] != board and self.can_write():
            self._shown[queue] = board
            self.write(framed)

    def away(self, queue: QueueId, framed: bytes) -> None:
        """Say once that the board of a queue cannot be read. When it can be again, it is sent, changed or not."""
        if self._shown[queue] and self.can_write():
            self._shown[queue] = b""
            self.write(framed)


class BoardStreams:
    """All board streams of one worker."""

    def __init__(self, context: Context) -> None:
        self._service = context.service
        self._screens: dict[QueueId, list[BoardStream]] = {}
        self._followers: dict[QueueId, Follower] = {}
        self._open = OpenStreams(PER_ADDRESS, IN_ALL)
        self._alive_at = 0.0

    def open(self, address: str, boards: Sequence[tuple[QueueId, bytes]], version: str) -> Takeover:
        """A stream for a screen, which begins with the boards of its queues; TooManyStreams if there are too many."""
        self._open.check(address)
        return Takeover(BoardStream(self, address, boards, version), HEADERS)

    def add(self, screen: BoardStream) -> None:
        """Begin to send to a screen."""
        screen.ends_at = time.monotonic() + LIFE_SECONDS * random.uniform(0.8, 1.2)
        self._open.add(screen.address)
        for queue in screen.queues:
            self._screens.setdefault(queue, []).append(screen)

    def remove(self, screen: BoardStream) -> None:
        """Forget a stream that is over."""
        here = False
        for queue in screen.queues:
            screens = self._screens.get(queue, [])
            if screen in screens:
                here = True
                screens.remove(screen)
            if not screens:
                self._screens.pop(queue, None)
                self._followers.pop(queue, None)
        if here:
            self._open.remove(screen.address)

    async def run(self) -> None:
        """Keep all screens up to date until cancelled."""
        while True:
            began = time.monotonic()
            for queue in list(self._screens):
                try:
                    await self._update(queue)
                except QueueNotFound:
                    for screen in list(self._screens.get(queue, ())):
                        screen.close()
                except StoreError as error:
                    log.warning("boards.store_away", queue=queue, error=error.message)
                    away = b"event: away\ndata: %b\n\n" % encode({"queue": queue})
                    for screen in list(self._screens.get(queue, ())):
                        screen.away(queue, away)
                except Exception:
                    log.exception("boards.failed", queue=queue)
            self._keep_alive()
            await asyncio.sleep(max(POLL_SECONDS / 10, began + POLL_SECONDS - time.monotonic()))

    async def _update(self, queue: QueueId) -> None:
        follower = self._followers.get(queue)
        if follower is None:
            follower = self._followers[queue] = Follower(self._service, queue)
        called = await follower.read_events()
        waits = JOINED_SECONDS if follower.changed else QUIET_SECONDS
        if called or time.monotonic() - follower.read_at >= waits:
            await follower.read_board()
        framed = frame(follower.encoded)
        for screen in list(self._screens.get(queue, ())):
            screen.show(queue, follower.encoded, framed)

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if now < self._alive_at:
            return
        self._alive_at = now + KEEP_ALIVE_SECONDS
        for screen in {screen for screens in self._screens.values() for screen in screens}:
            screen.keep_alive(now, ALIVE)


def frame(board: bytes) -> bytes:
    """A board as a server-sent event."""
    return b"event: board\ndata: %b\n\n" % board
