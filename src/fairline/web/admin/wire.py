"""What the shapes of the operators' calls have in common; the shapes themselves are by what they are about, in modules
such as `queue_wire` and `ticket_wire`, or beside the one call that has them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fairline.web.api.wire import Strict, moment
from fairline.web.server.operations import Query

#: Ticket numbers are exact in every client: no more than a double holds.
LARGEST_TICKET = 2**53 - 1

Level = Annotated[int, Meta(ge=1, le=3)]


#: A version of the settings.
Version = Annotated[int, Meta(ge=1, le=10**16 - 1)]
#: What a page of a listing answered for the next one.
Cursor = Annotated[str, Meta(max_length=200)]


def limit_query(most: int, usual: int, each: str = "") -> Query:
    """How many a listing answers."""
    about = f"at most so many{each}, up to {most}; {usual} unless told"
    return Query("limit", Annotated[int, Meta(ge=1, le=most)], about)


class Nothing(Strict, frozen=True):
    """A call that takes no fields."""


def when(ms: int | None) -> datetime | None:
    """A time, or None where it has not come."""
    return moment(ms) if ms else None


def rounded(seconds: float | None) -> float | None:
    """Seconds to the millisecond."""
    return None if seconds is None else round(seconds, 3)
