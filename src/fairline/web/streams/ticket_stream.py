"""One open stream of a ticket: sends frames to its client, and notices a client that reads too slowly."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from fairline.service.answers import StatusAnswer
from fairline.web.server.http import Connection
from fairline.web.streams.frames import Frames
from fairline.web.streams.open_streams import BUFFER_LIMIT, RETRY, RETRY_AFTER_END, SLOW_SECONDS, give_up_soon

if TYPE_CHECKING:
    from fairline.web.streams.hub import Hub

#: Sent to the stream of a device from which the ticket has moved to another.
MOVED = b"id: moved\nevent: moved\ndata: {}\n\n"


class TicketStream:
    """One open stream of a ticket."""

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
        """The state and the message that this client has received last."""
        self.joined, self.moved = started.ticket_status.joined, started.ticket_status.moved
        self.started: StatusAnswer | None = started
        self.connection: Connection | None = None
        self.slow_since = 0.0
        self.ends_at = 0.0

    def opened(self, connection: Connection) -> None:
        """The connection now belongs to this stream: send the status of the ticket."""
        self.connection = connection
        give_up_soon(connection)
        connection.write(b"retry: %d\n\n" % random.randint(*RETRY))
        answer, self.started = self.started, None
        self.hub.add(self)
        if answer is not None:
            self.push(Frames(self.hub.context, answer))

    def lost(self) -> None:
        """The client has disconnected; its ticket stays until its deadline."""
        self.hub.remove(self)
        self.connection = None

    def shutdown(self) -> None:
        """The server ends, or the stream has reached its age limit: tell the client when to reconnect, and close."""
        if self.connection is not None and not self.connection.is_closing():
            self.connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self.connection.close()

    def push(self, frames: Frames, *, recalled: bool = False) -> bool:
        """Send the frames that this client does not have yet, or that it is called again; False if nothing was sent."""
        connection = self.connection
        if connection is None or connection.is_closing() or self._slow(connection):
            return False
        if frames.answer.ticket_status.joined != self.joined:
            connection.close()  # the number now belongs to somebody else, in a recreated queue
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
            connection.write(frames.recalled_frame)  # it contains the whole status too
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
