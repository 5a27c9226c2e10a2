"""The listening sockets of a server: one address, and a socket there for each worker.

If all workers shared one socket, the first to wake up would take all waiting connections, and one worker might get a
whole sudden rush. With several sockets, Linux spreads the connections over them. See
docs/decisions/0010-a-socket-for-each-worker.md.
"""

from __future__ import annotations

import os
import socket
import sys

from fairline.errors import InvalidSettings

BACKLOG = 2048
#: Whether the system spreads connections over several sockets. On others, one socket would get them all.
SPREADS_CONNECTIONS = sys.platform == "linux"


class Listening:
    """The address that this server listens at, with the sockets of its workers."""

    def __init__(self, host: str, port: int, workers: int) -> None:
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._own: dict[int, socket.socket] = {}
        """The socket of each worker, by its place."""
        try:
            # The first socket does not allow sharing: a shared one would silently join another server at this address.
            first = self._open((host, port))
            self.port: int = first.getsockname()[1]
            """The one asked for, or a free one for port 0."""
            self._address = (host, self.port)
            self._own = dict.fromkeys(range(workers), first)
            if SPREADS_CONNECTIONS and workers > 1:
                # The address is ours now: from here on the socket shares it with the other sockets of this server.
                first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                for place in range(1, workers):
                    self._own[place] = self._open(self._address, shared=True)
        except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
            self.close()
            why = _reason(error) if isinstance(error, OSError) else "not a valid host name"
            raise InvalidSettings(
                "port", f"cannot listen on {host}:{port} ({why}). Choose another with --port or --host."
            ) from None

    def of(self, place: int) -> int:
        """The file number of a worker's socket. It outlives the worker: connections that arrive before the next worker
        has started wait in it."""
        if place not in self._own:
            self._own[place] = self._open(self._address, shared=True)
        return self._own[place].fileno()

    def give_up(self, place: int) -> None:
        """Close the socket of a place that has no worker for now: connections go to the other workers, if there are
        any."""
        mine = self._own[place]
        if any(other is not mine for other in self._own.values()):
            mine.close()
            del self._own[place]

    def close(self) -> None:
        """Close all sockets."""
        for each in self._own.values():
            each.close()

    def _open(self, address: tuple[str, int], *, shared: bool = False) -> socket.socket:
        return socket.create_server(address, family=self._family, backlog=BACKLOG, reuse_port=shared)


def _reason(error: OSError) -> str:
    """The reason for an error without the address, which Python adds to the system's message. Errors about a host name
    have a number below 0, and only that message explains them."""
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return str(error.strerror).partition(" (while ")[0]
