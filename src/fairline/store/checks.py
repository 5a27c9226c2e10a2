"""Checks and conversions that every store does before it calls its server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from fairline.domain.order import LEVELS
from fairline.domain.ticket import Action, Ticket
from fairline.errors import InvalidRequest
from fairline.store.arrivals import Arrival, EstimateSample
from fairline.store.contract import ACTS, MAX_BATCH, MOST_STEPPED_BACK


def milliseconds(seconds: float) -> int:
    """Seconds as milliseconds, the unit of the stores."""
    return round(seconds * 1000)


def in_ms(sample: EstimateSample) -> tuple[int, int, int, int, int, int]:
    """A sample with its times in milliseconds."""
    number, seconds, low, high, told, weight = sample
    return number, milliseconds(seconds), milliseconds(low), milliseconds(high), told, weight


def check_batch(items: Sequence[Any]) -> None:
    """Refuse more items than one step may carry."""
    if len(items) > MAX_BATCH:
        raise InvalidRequest("batch", f"must have at most {MAX_BATCH:,} items; got {len(items):,}")


def check_level(level: int) -> None:
    """Refuse a priority that does not exist."""
    if level not in LEVELS:
        raise InvalidRequest("priority", f"must be one of {', '.join(map(str, LEVELS))}; got {level}")


def check_arrivals(arrivals: Sequence[Arrival]) -> None:
    """Refuse too many arrivals, a priority that does not exist, and one that goes straight in and on hold at once."""
    check_batch(arrivals)
    for arrival in arrivals:
        check_level(arrival.priority)
        if arrival.through and arrival.on_hold:
            raise InvalidRequest("on_hold", "must be left out for someone who goes straight in")


def check_places(places: int) -> None:
    """Refuse to step back behind nobody, or behind more people than one step may move."""
    if not 1 <= places <= MOST_STEPPED_BACK:
        raise InvalidRequest("places", f"must be a whole number from 1 to {MOST_STEPPED_BACK}; got {places}")


def check_act(action: Action) -> None:
    """Refuse an action that has an operation of its own."""
    if action not in ACTS:
        raise InvalidRequest("action", f"must be one of {', '.join(sorted(ACTS))}; got {action}")


def check_limit(limit: int) -> None:
    """Refuse a limit that allows nothing."""
    if limit < 1:
        raise InvalidRequest("limit", f"must be a whole number from 1; got {limit}")


def read_cursor(pattern: re.Pattern[str], cursor: str | None) -> re.Match[str] | None:
    """The parts of a cursor; None at the beginning of a listing."""
    found = None if cursor is None else pattern.fullmatch(cursor)
    if cursor is not None and found is None:
        raise InvalidRequest("cursor", f"must be the cursor of a page; got {cursor!r:.80}")
    return found


def proven(arrival: Arrival, outcome: str, ticket: Ticket) -> bool:
    """Whether an arrival has proved to be the holder of the ticket it got. Its idempotency key proves that as long as
    the ticket has not moved: the device that has it now never had the key."""
    same_client = arrival.client != b"" and arrival.client == ticket.client
    return same_client or outcome == "joined" or (outcome == "repeated" and ticket.moved == 0)


def call_fingerprint(count: int, number: int | None, desk: str) -> str:
    """What a call by hand asked for: the same key with another call is a conflict."""
    one = "" if number is None else str(number)
    return blake2b(f"{count} {one} {desk}".encode(), digest_size=8).hexdigest()
