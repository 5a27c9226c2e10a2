"""Queues: their names, and the snapshot of a queue at a moment. Their settings are in `queue_settings.py`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NewType

from msgspec import Struct

from fairline.errors import InvalidSettings

QueueId = NewType("QueueId", str)

ID_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ID = re.compile(ID_PATTERN, re.ASCII)


@lru_cache(maxsize=1024)
def queue_id(text: str) -> QueueId:
    """Return the text as a queue id, or raise InvalidSettings: an id becomes part of keys and addresses."""
    if not _ID.fullmatch(text):
        rule = "1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        raise InvalidSettings("id", f"must be {rule}; got {text!r:.80}")
    return QueueId(text)


class QueueSnapshot(Struct, frozen=True):
    """A queue at a moment, read by the store in the same step as its answer. Estimates are made from it."""

    now: int
    """The store's clock, in milliseconds."""
    stopped: int
    """How long this queue's clock has been stopped by outages, in milliseconds; below 0 after the store's clock was set
    back: see docs/explanation/time.md."""
    version: int
    """The version of the settings; each change raises it."""
    waiting: int
    admitted: int
    active: int
    completed: int
    stay_seconds: float
    """Mean stay of the people who have come out; 0 while nobody has."""
    leave_rate: float
    """Share of the line that gives up each second."""
    call_rate: float
    """Measured admissions a second."""
    out_rate: float = 0.0
    """Measured share of the people inside that comes out each second."""
    stays_seen: float = 0.0
    """How many people have come out; older ones count less."""
    on_hold: int = 0
    """How many people wait on hold; `waiting` does not include them."""
    desks_open: int = 0
    """Open desks, where staff call."""
    cycles: int = 0
    """How many calls `cycle_seconds` is the mean of."""
    cycle_seconds: float = 0.0
    """How long a desk takes from one call to the next while people wait; 0 until it was measured."""
    calls_seen: float = 0.0
    """How many admissions `call_rate` is measured from; older ones count less."""
    tokens: float = 0.0
    """The tokens that were in the bucket when they were last counted, at `tokens_at`."""
    tokens_at: int = 0
    """0 until they are counted for the first time: then the bucket is full."""
    cycle_spread: float = 0.0
    """The standard deviation of what `cycle_seconds` is the mean of."""
    head_joined: int = 0
    """When the last person who was let in had joined; 0 before the first."""
    pass_rate: float = 0.0
    """How many people with priority go ahead of someone who waits each second, on average over the line."""
    passed_at: int = 0
    """When someone last went ahead of others; 0 if nobody ever did."""
    slowed_at: int = 0
    """When the line was last slowed, in the sense of `waits.py`; 0 if it never was."""
    slowed: int = 0
    """By what: the number of a `Cause`."""
    left_by_age: tuple[float, ...] = ()
    """How many people left the line, by the age that they left at (see patience.py); older ones count less."""
    waited_by_age: tuple[float, ...] = ()
    """The seconds that all people waited, by the age that they had; older ones count less."""
    silences: tuple[float, ...] = ()
    """The seconds since the last call of each open desk, while people waited."""

    @property
    def inside(self) -> int:
        """How many people take up capacity: let in and on the way, or inside."""
        return self.admitted + self.active

    def stock_left(self, stock: int | None) -> int | None:
        """The stock that is left: derived from the states, never counted up or down."""
        return None if stock is None else stock - self.completed - self.inside

    def sold_out(self, stock: int | None) -> bool:
        """Whether everything is sold for good: nobody inside can return anything."""
        return stock is not None and self.completed >= stock
