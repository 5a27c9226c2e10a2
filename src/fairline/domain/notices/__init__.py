"""Notices: what people are told of their place when they do not look: by text message, by e-mail.

A notice is made of an event. It goes out while it is still true, and not after.
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
    """What people can be told. `called` is told again at a recall, and also says that someone was let in."""

    JOINED = "joined"
    NEARLY = "nearly"
    CALLED = "called"
    RETURNED = "returned"
    TRANSFERRED = "transferred"


#: Which events are told.
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
    """Whom to tell, as they said when they joined."""

    name: str | None
    phone: str | None
    email: str | None
    user_id: str | None
    language: str


class Notice(Struct, frozen=True, kw_only=True):
    """One notice, as it is sent."""

    id: str
    """The same in every try: whoever has seen it drops the repeat."""
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
    """All there is to say, in the person's language, the link with it."""
    url: str | None
    """Where they see their ticket."""
    to: Recipient | None

    def packed(self) -> str:
        """As it is kept, and posted."""
        return msgspec.json.encode(self).decode()


unpacked = msgspec.json.Decoder(Notice).decode


def is_current(notice: Notice, ticket: Ticket | None) -> bool:
    """Whether there is still a point in telling someone: nobody is told that it is nearly their turn once they were
    called, nor called to a desk that they have been to; and nobody what was meant for the one who had the number in a
    queue that was deleted."""
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
            # Called again since, they are told so by the notice of that.
            return ticket.status is Status.ADMITTED and ticket.admitted <= at
        case NoticeKind.TRANSFERRED:
            return ticket.went is not None
