"""The limits that the streams of people, boards and operators share: how long a stream lives, when its reader is too
slow, and how many one address may have, since each stream costs memory while it is open."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections import Counter
from collections.abc import Callable

from fairline.errors import TooManyStreams
from fairline.web.server.http import Connection

KEEP_ALIVE_SECONDS = 15.0
#: Seconds after which a stream is closed, plus or minus a fifth; its client reconnects by itself.
LIFE_SECONDS = 3600.0
#: Bytes: a reader with more unread data receives nothing new, and is closed if that lasts SLOW_SECONDS.
BUFFER_LIMIT = 64 * 1024
SLOW_SECONDS = 20.0
#: Milliseconds after which a client reconnects: random in this range, so that they do not all come at once.
RETRY = (1000, 4000)
RETRY_AFTER_END = (500, 6000)
#: Seconds without any acknowledgement from the client before the kernel gives a connection up.
GONE_SECONDS = 30

HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class PublicStream:
    """One open stream that needs no token: of a screen, or of a page that waits for a start."""

    __slots__ = ("_connection", "_slow_since", "address", "ends_at")

    def __init__(self, address: str) -> None:
        self.address = address
        self.ends_at = 0.0
        self._connection: Connection | None = None
        self._slow_since = 0.0

    def shutdown(self) -> None:
        """The server ends, or the stream has reached its age limit: tell the client when to reconnect, and close."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self._connection.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def keep_alive(self, now: float, alive: bytes) -> None:
        """Send a keep-alive, so that both sides notice a dead connection; or end a stream that is old enough."""
        if now >= self.ends_at:
            self.shutdown()
        elif self.can_write():
            self.write(alive)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._connection is not None:
            self._connection.write(data)

    def can_write(self) -> bool:
        """Whether the client reads what it is sent. A connection that is not read for too long is ended."""
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


class OpenStreams:
    """Counts the open streams of one kind, in all and by address. An unknown address is empty and has no limit of its
    own. A limit of 0 means no limit, for `per_address` and for `in_all`. `on_count` is called with each new total."""

    def __init__(self, per_address: int, in_all: int = 0, *, on_count: Callable[[int], None] | None = None) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._open: Counter[str] = Counter()
        self._on_count = on_count
        self.count = 0

    def check(self, address: str) -> None:
        """Raise TooManyStreams if this address or the server has as many streams as it may."""
        if address and 0 < self._per_address <= self._open[address]:
            raise TooManyStreams("address", self._per_address)
        if 0 < self._in_all <= self.count:
            raise TooManyStreams("server", self._in_all)

    def add(self, address: str) -> None:
        """Count a stream that was opened."""
        self._open[address] += 1
        self._set_count(self.count + 1)

    def remove(self, address: str) -> None:
        """Count a stream that was closed. An address without streams is forgotten."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]
        self._set_count(self.count - 1)

    def _set_count(self, count: int) -> None:
        self.count = count
        if self._on_count:
            self._on_count(count)


def give_up_soon(connection: Connection) -> None:
    """Let the kernel notice a client that vanished without closing its connection."""
    sock = getattr(connection, "get_extra_info", lambda _: None)("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_SECONDS * 1000)
