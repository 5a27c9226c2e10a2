"""Notices: what is still true of someone when it is sent."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from fairline.domain.notices import Notice, NoticeKind, is_current
from fairline.domain.ticket import Status, Ticket, Went

AT = 1_800_000_000_000


def notice(kind: NoticeKind) -> Notice:
    """Something told at a moment."""
    return Notice(
        id="1",
        notice=kind,
        queue="a",
        at=datetime.fromtimestamp(AT / 1000, UTC),
        ticket=1,
        label="R-1",
        position=None,
        desk=None,
        subject="",
        text="",
        url=None,
        to=None,
    )


def test_nobody_is_told_what_was_meant_for_who_had_the_number_in_a_queue_before() -> None:
    for kind in NoticeKind:
        admitted = kind is NoticeKind.CALLED
        status = Status.ADMITTED if admitted else Status.WAITING
        went = Went("b", 1, AT, "R-2") if kind is NoticeKind.TRANSFERRED else None
        ticket = Ticket(
            number=1, status=status, priority=0, joined=AT, place=1.0, admitted=AT if admitted else 0, went=went
        )
        assert is_current(notice(kind), ticket), kind
        later = replace(ticket, joined=AT + 1)
        assert not is_current(notice(kind), later), kind
