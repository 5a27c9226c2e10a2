"""What all streams of server-sent events for operators have in common: how they start and end."""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import structlog

from fairline.errors import FairlineError
from fairline.store import Role
from fairline.web.admin.operator_call import Call, Operators
from fairline.web.server.http import Connection
from fairline.web.streams.open_streams import (
    BUFFER_LIMIT,
    LIFE_SECONDS,
    RETRY,
    RETRY_AFTER_END,
    SLOW_SECONDS,
    give_up_soon,
)

log = structlog.get_logger()

POLL_SECONDS = 0.2
#: How long to wait before the next read while the store does not answer.
AWAY_SECONDS = 1.0

StillAllowed = Callable[[], Awaitable[None]]


def wants_stream(call: Call) -> bool:
    """Whether the client asks for a stream."""
    return "text/event-stream" in (call.request.text(b"accept") or "").lower()


def still_allowed(operators: Operators, call: Call, role: Role) -> StillAllowed:
    """A check that a stream makes each time before it sends data that it has read: whether its key is still valid. It
    costs one read of a hash field or of a row. A client whose key was removed receives nothing from then on."""

    async def check() -> None:
        await operators.access.check(call.request, role)

    return check


class OpenStream(ABC):
    """One open stream. It ends with its client, its key, its queue or the server, or when its time is over. The client
    reconnects by itself."""

    def __init__(self, about: str, still_allowed: StillAllowed) -> None:
        self._about = about
        self._still_allowed = still_allowed
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _send_updates(self, connection: Connection) -> None:
        """Write updates until the connection closes."""

    def opened(self, connection: Connection) -> None:
        """Start the stream on a connection."""
        self._connection = connection
        give_up_soon(connection)
        connection.write(b"retry: %d\n\n" % random.randint(*RETRY))
        self._task = asyncio.ensure_future(self._run(connection))

    def lost(self) -> None:
        """The client has disconnected."""
        if self._task is not None:
            self._task.cancel()

    def shutdown(self) -> None:
        """The server is stopping: tell the client when to reconnect."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self._connection.close()

    async def _run(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(LIFE_SECONDS * random.uniform(0.8, 1.2)):
                await self._send_updates(connection)
        except TimeoutError:
            pass
        except FairlineError as error:
            log.info("events.stream_ended", queue=self._about, code=error.code)
        except Exception:
            log.exception("events.stream_failed", queue=self._about)
        finally:
            connection.close()

    async def _wait_for_reader(self, connection: Connection) -> None:
        """Wait for a slow client, and disconnect it if it stays slow."""
        clock = asyncio.get_running_loop().time
        full_at = clock()
        while connection.get_write_buffer_size() > BUFFER_LIMIT and not connection.is_closing():
            if clock() - full_at > SLOW_SECONDS:
                connection.abort()
            await asyncio.sleep(POLL_SECONDS)
