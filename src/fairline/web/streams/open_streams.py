"""What the open streams of people, boards and operators have in common: how long they live, when a reader is too slow,
and how many one address may have, since each costs memory for as long as it is open."""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Callable

from fairline.errors import TooManyStreams
from fairline.web.server.http import Connection

KEEP_ALIVE_SECONDS = 15.0
#: A stream lives at most so long, give or take a fifth; its client comes back by itself.
LIFE_SECONDS = 3600.0
#: A reader with more than this unread is passed over, and closed if it stays so.
BUFFER_LIMIT = 64 * 1024
SLOW_SECONDS = 20.0
#: Milliseconds after which a client comes back: spread, so that they do not all come at once.
RETRY = (1000, 4000)
RETRY_AFTER_END = (500, 6000)
#: Seconds without any acknowledgement from the other side before the kernel gives a connection up.
GONE_SECONDS = 30

HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class OpenStreams:
    """The open streams of one kind, by address as limits count it. Where the address is not known it is empty, and has
    no limit of its own. `per_address` 0 is no limit, and so is `in_all`. `on_count` hears how many there are."""

    def __init__(self, per_address: int, in_all: int = 0, *, on_count: Callable[[int], None] | None = None) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._open: Counter[str] = Counter()
        self._on_count = on_count
        self.count = 0

    def check(self, address: str) -> None:
        """Refuse one more from an address that has as many as it may: TooManyStreams."""
        if address and 0 < self._per_address <= self._open[address]:
            raise TooManyStreams("address", self._per_address)
        if 0 < self._in_all <= self.count:
            raise TooManyStreams("server", self._in_all)

    def add(self, address: str) -> None:
        """One more is open."""
        self._open[address] += 1
        self._tell(self.count + 1)

    def remove(self, address: str) -> None:
        """One less is open. Nothing is kept of an address that has none."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]
        self._tell(self.count - 1)

    def _tell(self, count: int) -> None:
        self.count = count
        if self._on_count:
            self._on_count(count)


def give_up_soon(connection: Connection) -> None:
    """Let the kernel notice a client that vanished without a word."""
    sock = getattr(connection, "get_extra_info", lambda _: None)("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, GONE_SECONDS * 1000)
