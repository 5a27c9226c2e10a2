"""The frames (server-sent events) about a ticket, and the ids by which a stream knows which it has already sent."""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

from fairline.domain.opening_steps import current_opening
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import LIVE, Status
from fairline.service.answers import StatusAnswer
from fairline.web.context import Context
from fairline.web.server.http import encode

_EVENT_OF = {"waiting": "position"}


class Frames:
    """The frames about one ticket at one moment, encoded once for all its streams, and only when one needs them."""

    __slots__ = ("_context", "_encoded", "answer", "ended", "message", "state")

    def __init__(self, context: Context, answer: StatusAnswer) -> None:
        ticket_status = answer.ticket_status
        self._context = context
        self._encoded: bytes | None = None
        self.answer = answer
        self.ended = ticket_status.status not in LIVE
        self.state = f"{ticket_status.status}-{ticket_status.position or 0}{_wait(answer)}-{_rest(answer):x}"
        text = answer.settings.message
        self.message = f"{zlib.crc32(text.encode()):x}" if text else ""

    @property
    def _id(self) -> bytes:
        return f"id: {self.state}.{self.message}\n".encode()

    @property
    def state_frame(self) -> bytes:
        """The status of the ticket."""
        if self._encoded is None:
            status = self.answer.ticket_status.status
            self._encoded = self._frame(_EVENT_OF.get(status, status.value))
        return self._encoded

    @property
    def recalled_frame(self) -> bytes:
        """The status of a ticket that is called once more, for a client that has already received the status."""
        return self._frame("recalled")

    def _frame(self, event: str) -> bytes:
        data = encode(self._context.answers.ticket(self.answer))
        return b"%sevent: %s\ndata: %s\n\n" % (self._id, event.encode(), data)

    @property
    def message_frame(self) -> bytes:
        """The operator's message."""
        data = encode({"text": self.answer.settings.message})
        return b"%sevent: message\ndata: %s\n\n" % (self._id, data)


def _wait(answer: StatusAnswer) -> str:
    """The estimated wait in steps of about a fifth: a slightly better estimate is not worth a frame."""
    wait = answer.wait
    return f"-{round(math.log(wait.seconds + 10) * 5)}" if wait else ""


def _rest(answer: StatusAnswer) -> int:
    """A checksum of everything else that can change without a move in line, such as the queue's status or the desk."""
    ticket_status, settings = answer.ticket_status, answer.settings
    fields = (
        settings.status,
        answer.snapshot.sold_out(settings.stock),
        settings.stock_unknown,
        settings.heartbeat_interval_seconds,
        ticket_status.priority,
        ticket_status.on_hold,
        ticket_status.desk,
        ticket_status.deadline if ticket_status.status is Status.ADMITTED else None,
        answer.wait_changed,
        settings.phase,
        _start_of(settings),
    )
    return _checksum(fields)


def _start_of(settings: QueueSettings) -> tuple[int, int] | None:
    """The times that everybody waits for in a pre-queue."""
    opening = current_opening(settings) if settings.held_back else None
    return (opening.starts_ms, opening.closes_ms) if opening else None


@lru_cache(maxsize=1024)
def _checksum(fields: tuple[object, ...]) -> int:
    """Cached, because these fields are the same for nearly all tickets of a queue."""
    return zlib.crc32(repr(fields).encode())
