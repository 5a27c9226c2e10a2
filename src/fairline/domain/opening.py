"""Openings: the scheduled starts of a queue.

An opening is kept with the settings of its queue. So a change of one is checked, has a version, stands in the history
and can be undone like any change of settings. `opening_steps.py` has what happens to it in time.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

#: Two times of an opening are at least this far apart.
SHORTEST_SPAN_MS = 1000
#: How many openings a queue may have that have not ended.
MOST_OPENINGS = 200
#: How many openings that have ended are kept, the newest, with what was published of their draws.
ENDED_OPENINGS_KEPT = 20
#: The most seconds in which someone who comes after the start is still drawn.
LONGEST_GRACE_SECONDS = 600
#: The years in which a time of an opening may be. Others are a slip, and some have no date in every time zone.
YEARS = range(1970, 9000)


class DrawKind(StrEnum):
    """How the order of the people in a pre-queue is decided: by when they came, or by chance."""

    NONE = "none"
    RANDOM = "random"


class After(StrEnum):
    """What an opening leaves behind when it ends: the settings from before it, or a closed queue."""

    RESTORE = "restore"
    CLOSE = "close"


class OpeningState(StrEnum):
    """How far an opening is."""

    SCHEDULED = "scheduled"
    PREQUEUE = "prequeue"
    DRAWING = "drawing"
    OPEN = "open"
    ENDED = "ended"


class Phase(StrEnum):
    """What the opening in progress does to its queue; NONE is a queue without one."""

    NONE = ""
    PREQUEUE = "prequeue"
    """Everyone may join, and nobody is let in."""
    DRAWING = "drawing"
    """The order is being drawn."""
    OPEN = "open"
    """People are let in."""


#: Nobody is let in, called or given a position in these phases.
HELD_BACK = frozenset({Phase.PREQUEUE, Phase.DRAWING})
_PHASES = {
    OpeningState.PREQUEUE: Phase.PREQUEUE,
    OpeningState.DRAWING: Phase.DRAWING,
    OpeningState.OPEN: Phase.OPEN,
}


class Opening(Struct, frozen=True, kw_only=True):
    """One opening."""

    id: str
    name: Annotated[str, Meta(max_length=200)] = ""
    prequeue_at: datetime | None = None
    """From when people can join, in no order yet; without it, the opening begins at `starts_at`."""
    starts_at: datetime
    """When people are let in. With a draw, the order is drawn then."""
    ends_at: datetime | None = None
    """When it ends; without it, the opening lasts until it is deleted."""
    draw: DrawKind = DrawKind.NONE
    draw_grace_seconds: Annotated[int, Meta(ge=0, le=LONGEST_GRACE_SECONDS)] = 0
    """Someone who joins within these seconds after the start is still in the draw."""
    settings: dict[str, Any] = {}
    """The settings of the queue that are in force from its beginning to its end."""
    add_stock: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    """How much is added to the stock at the start. It stays when the opening ends, unless its settings have a stock:
    then the one from before comes back."""
    recheck_inside: bool = False
    """Whether the sessions of those who are inside already end at the start."""
    after: After = After.RESTORE
    state: OpeningState = OpeningState.SCHEDULED
    count: int = 0
    """How many people were drawn."""
    missed: bool = False
    """It ended without having begun, because no keeper ran in all that time."""
    before: dict[str, Any] = {}
    """While it is in progress: the settings to which its end goes back."""

    @property
    def begins_ms(self) -> int:
        """When it begins: with its pre-queue, if it has one."""
        return milliseconds(self.prequeue_at or self.starts_at)

    @property
    def starts_ms(self) -> int:
        """When it starts."""
        return milliseconds(self.starts_at)

    @property
    def closes_ms(self) -> int:
        """When its pre-queue closes: at the start, and with a draw at the end of the grace time."""
        return self.starts_ms + (1000 * self.draw_grace_seconds if self.drawn else 0)

    @property
    def ends_ms(self) -> int | None:
        """When it ends; None if it has no end."""
        return milliseconds(self.ends_at) if self.ends_at else None

    @property
    def drawn(self) -> bool:
        """Whether its order is drawn."""
        return self.draw is DrawKind.RANDOM

    @property
    def in_progress(self) -> bool:
        """Whether it has begun and not ended."""
        return self.state in _PHASES

    @property
    def phase(self) -> Phase:
        """What it does to its queue now."""
        return _PHASES.get(self.state, Phase.NONE)

    def overlaps(self, other: Opening) -> bool:
        """Whether both would be in progress at some moment."""
        ends, other_ends = self.ends_ms, other.ends_ms
        return (other_ends is None or self.begins_ms < other_ends) and (ends is None or other.begins_ms < ends)


def milliseconds(moment: datetime) -> int:
    """A time in milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def in_known_years(moment: datetime) -> bool:
    """Whether a time is one that every time zone has a date for."""
    return moment.year in YEARS
