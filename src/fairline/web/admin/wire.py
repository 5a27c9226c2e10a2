"""What the requests and answers of the operators' calls have in common. Their types are in modules by topic, such as
`queue_wire` and `ticket_wire`, or next to the only call that uses them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fairline.web.api.wire import Strict, moment
from fairline.web.server.operations import Query

#: The largest ticket number that every client reads exactly, as a double.
LARGEST_TICKET = 2**53 - 1

Level = Annotated[int, Meta(ge=1, le=3)]


#: A version of the settings.
Version = Annotated[int, Meta(ge=1, le=10**16 - 1)]
#: The cursor of a page, for the next page.
Cursor = Annotated[str, Meta(max_length=200)]


def limit_query(most: int, usual: int, each: str = "") -> Query:
    """The query parameter `limit` of a listing."""
    about = f"the most items{each}, up to {most}; default {usual}"
    return Query("limit", Annotated[int, Meta(ge=1, le=most)], about)


class Nothing(Strict, frozen=True):
    """A call that takes no fields."""


def when(ms: int | None) -> datetime | None:
    """A time, or None if there is none yet."""
    return moment(ms) if ms else None


def rounded(seconds: float | None) -> float | None:
    """Seconds, rounded to milliseconds."""
    return None if seconds is None else round(seconds, 3)
