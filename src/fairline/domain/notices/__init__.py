"""Notices: text messages and e-mails that tell people about their place while they are not looking at the page.

A notice is made from an event. It is sent only while it is still true.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec import Struct

from fairline.domain.events import EventType
from fairline.domain.ticket import LIVE, Status, Ticket

#: The type of a notice among those of webhook deliveries.
NOTICE = "notice"


class NoticeKind(StrEnum):
    """The kinds of notices. `called` is sent again for a recall, and also when a person is let in."""

    JOINED = "joined"
    NEARLY = "nearly"
    CALLED = "called"
    RETURNED = "returned"
    TRANSFERRED = "transferred"


#: The notice for each event that has one.
KIND_OF: dict[EventType, NoticeKind] = {
    EventType.JOINED: NoticeKind.JOINED,
    EventType.NEARLY: NoticeKind.NEARLY,
    EventType.ADMITTED: NoticeKind.CALLED,
    EventType.CALLED: NoticeKind.CALLED,
    EventType.RECALLED: NoticeKind.CALLED,
    EventType.RETURNED: NoticeKind.RETURNED,
    EventType.TRANSFERRED: NoticeKind.TRANSFERRED,
}


class Recipient(Struct, frozen=True, kw_only=True):
    """The person who gets a notice, as they described themselves when they joined."""

    name: str | None
    phone: str | None
    email: str | None
    user_id: str | None
    language: str


class Notice(Struct, frozen=True, kw_only=True):
    """One notice, as it is sent."""

    id: str
    """The same in every attempt, so that a receiver can drop a repeat."""
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
    """The whole notice in the person's language, with the link."""
    url: str | None
    """The address of their ticket."""
    to: Recipient | None

    def packed(self) -> str:
        """The notice as JSON, as it is stored and posted."""
        return msgspec.json.encode(self).decode()


unpacked = msgspec.json.Decoder(Notice).decode


def is_true(notice: Notice, ticket: Ticket | None) -> bool:
    """Whether a notice is still true. It is not if the person has been called since a notice that their turn is near,
    or has already been to the desk, or if the number belonged to someone else in a deleted queue of the same name."""
    at = round(notice.at.timestamp() * 1000)
    if ticket is None or ticket.joined > at:
        return False
    match notice.notice:
        case NoticeKind.JOINED:
            return ticket.status in LIVE
        case NoticeKind.NEARLY:
            return ticket.status is Status.WAITING and not ticket.on_hold
        case NoticeKind.RETURNED:
            return ticket.status is Status.WAITING
        case NoticeKind.CALLED:
            # If they were called again since, the notice of that call says so.
            return ticket.status is Status.ADMITTED and ticket.admitted <= at
        case NoticeKind.TRANSFERRED:
            return ticket.went is not None
