"""An open stream of server-sent events for operators: how it begins and ends, whatever it tells."""

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
#: After an outage of the store, the next look.
AWAY_SECONDS = 1.0

StillAllowed = Callable[[], Awaitable[None]]


def wants_stream(call: Call) -> bool:
    """Whether a stream is asked for."""
    return "text/event-stream" in (call.request.text(b"accept") or "").lower()


def still_allowed(operators: Operators, call: Call, role: Role) -> StillAllowed:
    """What a stream asks each time it has something to tell, after reading it: whether its key still opens it. It costs
    what one field of a hash, or one row, costs to read; and whoever's key was taken away hears nothing from then on."""

    async def check() -> None:
        await operators.access.check(call.request, role)

    return check


class OpenStream(ABC):
    """One open stream. It ends with its client, its key, its queue, the server, or its time; the client comes back by
    itself."""

    def __init__(self, about: str, still_allowed: StillAllowed) -> None:
        self._about = about
        self._still_allowed = still_allowed
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _tell(self, connection: Connection) -> None:
        """Write what there is to tell, until the connection is of no use any more."""

    def opened(self, connection: Connection) -> None:
        """The connection is this stream's."""
        self._connection = connection
        give_up_soon(connection)
        connection.write(b"retry: %d\n\n" % random.randint(*RETRY))
        self._task = asyncio.ensure_future(self._run(connection))

    def lost(self) -> None:
        """The client is gone."""
        if self._task is not None:
            self._task.cancel()

    def shutdown(self) -> None:
        """The server ends: say when to come back."""
        if self._connection is not None and not self._connection.is_closing():
            self._connection.write(b"retry: %d\n\n" % random.randint(*RETRY_AFTER_END))
            self._connection.close()

    async def _run(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(LIFE_SECONDS * random.uniform(0.8, 1.2)):
                await self._tell(connection)
        except TimeoutError:
            pass
        except FairlineError as error:
            log.info("events.stream_ended", queue=self._about, code=error.code)
        except Exception:
            log.exception("events.stream_failed", queue=self._about)
        finally:
            connection.close()

    async def _drained(self, connection: Connection) -> None:
        """Wait for a slow reader; give it up where it stays so."""
        clock = asyncio.get_running_loop().time
        full_at = clock()
        while connection.get_write_buffer_size() > BUFFER_LIMIT and not connection.is_closing():
            if clock() - full_at > SLOW_SECONDS:
                connection.abort()
            await asyncio.sleep(POLL_SECONDS)
