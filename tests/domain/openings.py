"""Openings of one queue, and the settings after each of their steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fairline.domain.opening import (
    DrawKind,
    Opening,
    milliseconds,
)
from fairline.domain.opening_steps import (
    Step,
    begun,
    closed,
    due_step,
    ended,
    opened,
    with_new,
)
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked

TEN = datetime(2027, 1, 15, 10, tzinfo=UTC)
NOW = milliseconds(TEN) - 86_400_000
NIGHT = {"admission_rate": 2.5, "max_active": 7, "texts": {"waiting_title": "Tonight"}}
SETTINGS = checked({"status": "maintenance", "admission_rate": 9.0, "max_active": 50, "name": "Sale"})


def at(minutes: float) -> datetime:
    """Minutes after ten."""
    return TEN + timedelta(minutes=minutes)


def opening(name: str = "a", **fields: Any) -> Opening:
    return Opening(**{"id": name, "name": name.upper(), "starts_at": TEN, **fields})


def drawn(**fields: Any) -> Opening:
    """An opening with a pre-queue of an hour and a draw, which ends after two hours."""
    times = {"prequeue_at": at(-60), "ends_at": at(120)}
    return opening(**{**times, "draw": DrawKind.RANDOM, "settings": NIGHT, **fields})


def planned(*openings: Opening, settings: QueueSettings = SETTINGS) -> QueueSettings:
    for each in openings:
        settings = with_new(settings, each, NOW)
    return settings


def advanced(settings: QueueSettings, steps: int) -> QueueSettings:
    """After that many of its steps, each at its time."""
    for _ in range(steps):
        due = due_step(settings)
        assert due
        assert due.opening
        match due.step:
            case Step.BEGIN:
                settings = begun(settings, due.opening, due.at)
            case Step.CLOSE:
                settings = closed(settings, due.opening)
            case Step.DRAW:
                settings = opened(settings, due.opening, 12)
            case Step.OPEN:
                settings = opened(settings, due.opening)
            case Step.END:
                settings = ended(settings, due.opening)
    return settings


def the(settings: QueueSettings, name: str = "a") -> Opening:
    return next(each for each in settings.openings if each.id == name)


def values(settings: QueueSettings) -> dict[str, Any]:
    """The settings without the openings."""
    fields = msgspec.structs.asdict(settings)
    return {name: value for name, value in fields.items() if name not in ("openings", "phase")}
