"""Notices: the text messages and e-mails that tell people about their ticket.

A notice is made from an event. It is only sent while it is still true.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from fairline.domain.events import EventType
from fairline.domain.ticket import LIVE, Status, Ticket

#: The type of a notice in webhook deliveries.
NOTICE = "notice"


class NoticeKind(StrEnum):
    """The kinds of notices. `called` is sent again at a recall, and is also sent when someone was let in. All of them
    are about one ticket's event, except `opening_started`: that event is about everyone in line."""

    JOINED = "joined"
    NEARLY = "nearly"
    CALLED = "called"
    RETURNED = "returned"
    TRANSFERRED = "transferred"
    OPENING_STARTED = "opening_started"


#: The events that lead to a notice.
KIND_OF: dict[EventType, NoticeKind] = {
    EventType.JOINED: NoticeKind.JOINED,
    EventType.NEARLY: NoticeKind.NEARLY,
    EventType.ADMITTED: NoticeKind.CALLED,
    EventType.CALLED: NoticeKind.CALLED,
    EventType.RECALLED: NoticeKind.CALLED,
    EventType.RETURNED: NoticeKind.RETURNED,
    EventType.TRANSFERRED: NoticeKind.TRANSFERRED,
    EventType.OPENING_STARTED: NoticeKind.OPENING_STARTED,
}


class Recipient(Struct, frozen=True, kw_only=True):
    """The person a notice is for, with the details they gave when they joined."""

    name: str | None
    phone: str | None
    email: str | None
    user_id: str | None
    language: str


class Notice(Struct, frozen=True, kw_only=True):
    """One notice as it is sent."""

    id: str
    """The same in every attempt, so that a receiver can drop repeats."""
    type: str = NOTICE
    notice: NoticeKind
    queue: str
    at: datetime
    ticket: int
    label: str
    position: int | None
    desk: str | None
    subject: str
    text: str
    """The whole message in the person's language, including the link."""
    url: str | None
    """The page of the ticket."""
    to: Recipient | None

    def packed(self) -> str:
        """The JSON that is stored and posted."""
        return msgspec.json.encode(self).decode()


unpacked = msgspec.json.Decoder(Notice).decode


def is_current(notice: Notice, ticket: Ticket | None) -> bool:
    """Whether the notice is still true: nobody is told that it is nearly their turn after they were called, or called
    to a desk where they have already been. Nobody receives a notice for a ticket of the same number in a deleted
    queue."""
    at = round(notice.at.timestamp() * 1000)
    if ticket is None or ticket.joined > at:
        return False
    match notice.notice:
        case NoticeKind.JOINED:
            return ticket.status in LIVE
        case NoticeKind.NEARLY:
            return ticket.status is Status.WAITING and not ticket.on_hold
        case NoticeKind.RETURNED | NoticeKind.OPENING_STARTED:
            return ticket.status is Status.WAITING
        case NoticeKind.CALLED:
            # If they were called again since, the notice of that call tells them.
            return ticket.status is Status.ADMITTED and ticket.admitted <= at
        case NoticeKind.TRANSFERRED:
            return ticket.went is not None
