"""What a connection is doing, and how long its client may take for that."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from fairline.web.server.fast_cycle import Flow

#: Seconds a client has to send a request that it has begun; the second is the limit once the server is to end.
READ_SECONDS = 15.0
LAST_READ_SECONDS = 3.0
#: Seconds a client may leave answers unread.
WRITE_SECONDS = 20.0
#: Seconds a connection may stay idle between requests.
IDLE_SECONDS = 75.0
#: Seconds that a client has to read a refusal which came while it was still sending.
LINGER_SECONDS = 2.0


class ConnectionState(HttpToolsProtocol):
    """The state of a connection, and the deadline that follows from it. `Connection` changes it."""

    # Slots, because Python does not share the keys of a `__dict__` with more than thirty names: there are many
    # connections, and most of them are idle.
    __slots__ = (
        "_encoding",
        "_ending",
        "_eof",
        "_in_headers",
        "_in_request",
        "_input_closed",
        "_length",
        "_lingering",
        "_processing",
        "_size",
        "_unparsed",
        "_unreported",
        "current",
        "idle",
        "peer",
        "receiving",
        "secure",
        "since",
    )
    flow: Flow

    def __init__(
        self,
        config: Any,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.current: Any = None
        """The request that is being answered; later ones wait in `pipeline`."""
        self.receiving: Any = None
        """The request whose body is still being received."""
        self.since = monotonic()
        """When the client began its current step: to send, to read, or to be idle."""
        self.idle = False
        """No request is under way and no input waits: the next bytes begin a request and can be parsed at once."""
        self._in_request = self._in_headers = False
        """A request has begun and is not complete; its headers are not complete."""
        self._size = self._length = self._unreported = 0
        """Bytes of the headers so far; of the body, announced or received; and since the parser's last callback."""
        self._encoding = b""
        self._unparsed = b""
        """Input that is not parsed yet, because earlier requests have to be answered first."""
        self._processing = self._input_closed = self._lingering = self._eof = self._ending = False
        """Inside `_process` or `_parse_at_once`; all further input is ignored; only waiting for the client to read the
        last answer; the client has sent all it will send; the server is to end."""

    def is_busy(self) -> bool:
        """Whether new input has to wait."""
        return (
            self.current is not None
            or bool(self._unparsed or self.pipeline)
            or self.flow.write_paused
            or self._input_closed
        )

    def _must_wait(self) -> bool:
        """Whether the next step must wait: the client has not read its answers, or a request is still being answered
        and another waits behind it."""
        return self.flow.write_paused or (self.current is not None and bool(self.pipeline))

    def begin(self) -> None:
        """A request begins."""
        self.since = monotonic()
        self.idle = False

    # Deadlines

    def overdue(self, now: float) -> bool:
        """Whether the client takes too long for its current step."""
        limit = self._time_limit()
        return limit is not None and now - self.since > limit

    def _time_limit(self) -> float | None:
        """How many seconds the client may take; None while the next step is the server's."""
        if self._lingering:
            return LINGER_SECONDS
        if self.flow.write_paused:
            return WRITE_SECONDS
        if self.idle:
            return IDLE_SECONDS
        if self._input_closed or self.pipeline or (self.current is not None and not self._in_request):
            return None
        return LAST_READ_SECONDS if self._ending else READ_SECONDS
