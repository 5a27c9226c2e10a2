"""Where a server listens: an address, and a socket there for each worker.

On one socket for all workers, whoever wakes first takes all connections that wait, and a rush that begins at once may
be one worker's alone. Among several sockets Linux shares them out. See docs/decisions/0010-a-socket-for-each-worker.md.
"""

from __future__ import annotations

import os
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
        self._own: dict[int, socket.socket] = {}
        """The sockets of workers, by their place."""
        try:
            # One that shares with nobody: at an address where another server listens, others would just join in.
            first = self._open((host, port))
            self.port: int = first.getsockname()[1]
            """The one asked for, or a free one for port 0."""
            self._address = (host, self.port)
            self._own = dict.fromkeys(range(workers), first)
            if SHARES_OUT and workers > 1:
                # It is ours by now, and stays so: from here on it shares with those of our own.
                first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                for place in range(1, workers):
                    self._own[place] = self._open(self._address, shared=True)
        except (OSError, UnicodeError) as error:  # the latter: no name of a host
            self.close()
            why = _reason(error) if isinstance(error, OSError) else "no such name can be"
            raise InvalidSettings(
                "port", f"cannot listen on {host}:{port} ({why}). Choose another with --port or --host."
            ) from None

    def of(self, place: int) -> int:
        """The file number of a worker's socket. It outlives the worker: whoever comes until the next one is there waits
        for it."""
        if place not in self._own:
            self._own[place] = self._open(self._address, shared=True)
        return self._own[place].fileno()

    def give_up(self, place: int) -> None:
        """No worker stays at this place for now: connections go to the others, where there are any."""
        mine = self._own[place]
        if any(other is not mine for other in self._own.values()):
            mine.close()
            del self._own[place]

    def close(self) -> None:
        """Give the address back."""
        for each in self._own.values():
            each.close()

    def _open(self, address: tuple[str, int], *, shared: bool = False) -> socket.socket:
        return socket.create_server(address, family=self._family, backlog=BACKLOG, reuse_port=shared)


def _reason(error: OSError) -> str:
    """Without the address, which Python adds to the system's words. What is wrong with the name of a host has a number
    below 0, of which only those words tell."""
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return str(error.strerror).partition(" (while ")[0]
