"""Events: what is recorded of every change of state, in the same atomic step as the change."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class EventType(StrEnum):
    """What happened. A heartbeat is no event: it changes nothing anyone needs to hear of."""

    JOINED = "joined"
    PRIORITISED = "prioritised"
    PUT_ON_HOLD = "put_on_hold"
    RELEASED = "released"
    STEPPED_BACK = "stepped_back"
    NEARLY = "nearly"
    ADMITTED = "admitted"
    CALLED = "called"
    RECALLED = "recalled"
    RETURNED = "returned"
    STARTED = "started"
    COMPLETED = "completed"
    EXPIRED = "expired"
    REINSTATED = "reinstated"
    TRANSFERRED = "transferred"
    MOVED = "moved"
    QUEUE_CREATED = "queue_created"
    SETTINGS_CHANGED = "settings_changed"
    CLOCK_STOPPED = "clock_stopped"


#: What calls someone by hand, and what takes a call back.
CALLS = (EventType.CALLED, EventType.RECALLED, EventType.RETURNED)


class Event(Struct, frozen=True):
    """One thing that happened in a queue."""

    id: str
    """Its place in the order of events; `events(after=id)` goes on from here."""
    type: EventType
    at: int
    """Milliseconds since 1970, by the store's clock."""
    ticket: int | None = None
    detail: str | None = None
    """The reason of an end, the counter of a call, the level of a priority, how many were let pass, the position of who
    is nearly there, the queue and the ticket of a transfer, the version of the settings, the seconds of an outage."""
