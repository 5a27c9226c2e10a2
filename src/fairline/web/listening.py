"""Where a server listens: an address, and a socket there for each worker.

On one socket for all workers, whoever wakes first takes all connections that wait, and a rush that begins at once may
be one worker's alone. Among several sockets Linux shares them out. See docs/decisions/0010-a-socket-for-each-worker.md.
"""

from __future__ import annotations

import socket
import sys

from fairline.errors import InvalidSettings

BACKLOG = 2048
#: Elsewhere one of several sockets would get all connections.
SHARES_OUT = sys.platform == "linux"


class Listening:
    """An address that is ours."""

    def __init__(self, host: str, port: int, workers: int) -> None:
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            # One that shares with nobody: at an address where another server listens, those below would just join in.
            self._kept = socket.create_server((host, port), family=self._family, backlog=BACKLOG)
        except OSError as error:
            raise InvalidSettings(
                "port", f"cannot listen on {host}:{port} ({error.strerror}). Choose another with --port or --host."
            ) from None
        self._address = self._kept.getsockname()[:2]
        self.port: int = self._address[1]
        """The one asked for, or a free one for port 0."""
        self._own: dict[int, socket.socket] = {}
        """The sockets of workers, by their place."""
        self._for_each = SHARES_OUT and workers > 1
        if self._for_each:
            self._kept.close()
            self._kept = self._sharing()  # it takes no connections, and keeps the address where no worker can
            for place in range(workers):
                self.of(place)

    def of(self, place: int) -> int:
        """The file number of a worker's socket. It outlives the worker: whoever comes until the next one is there waits
        for it."""
        if not self._for_each:
            return self._kept.fileno()
        if place not in self._own:
            self._own[place] = self._sharing()
            self._own[place].listen(BACKLOG)
        return self._own[place].fileno()

    def give_up(self, place: int) -> None:
        """No worker stays at this place for now: its connections go to the others meanwhile."""
        if place in self._own:
            self._own.pop(place).close()

    def close(self) -> None:
        """Give the address back."""
        for each in (self._kept, *self._own.values()):
            each.close()

    def _sharing(self) -> socket.socket:
        sharing = socket.socket(self._family)
        sharing.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sharing.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sharing.bind(self._address)
        return sharing
