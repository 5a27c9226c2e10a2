"""What every store checks and works out before it asks its server."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from fairline.errors import InvalidRequest
from fairline.line import LEVELS
from fairline.store.contract import MAX_BATCH, MOST_PASSED


def milliseconds(seconds: float) -> int:
    """Seconds as the stores count them."""
    return round(seconds * 1000)


def check_batch(items: Sequence[Any]) -> None:
    """Refuse more than one step may carry."""
    if len(items) > MAX_BATCH:
        raise InvalidRequest("batch", f"must have at most {MAX_BATCH:,} items; got {len(items):,}")


def check_level(level: int) -> None:
    """Refuse a priority that does not exist."""
    if level not in LEVELS:
        raise InvalidRequest("priority", f"must be one of {', '.join(map(str, LEVELS))}; got {level}")


def check_places(places: int) -> None:
    """Refuse to let more people pass than one step may move, or none."""
    if not 1 <= places <= MOST_PASSED:
        raise InvalidRequest("places", f"must be a whole number from 1 to {MOST_PASSED}; got {places}")


def press_fingerprint(count: int, number: int | None, counter: str) -> str:
    """What a press of *call next* asked for: the same key with another press is a conflict."""
    one = "" if number is None else str(number)
    return blake2b(f"{count} {one} {counter}".encode(), digest_size=8).hexdigest()
