"""Events: the record of every change of state, written in the same atomic step as the change."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class EventType(StrEnum):
    """What happened. A heartbeat is not an event: it changes nothing that others need to know."""

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
    PUT_BACK = "put_back"
    TRANSFERRED = "transferred"
    MOVED = "moved"
    QUEUE_CREATED = "queue_created"
    SETTINGS_CHANGED = "settings_changed"
    PREQUEUE_OPENED = "prequeue_opened"
    PREQUEUE_CLOSED = "prequeue_closed"
    OPENING_STARTED = "opening_started"
    OPENING_ENDED = "opening_ended"
    CLOCK_STOPPED = "clock_stopped"


#: The events of calls by staff: a call, a repeated call, and a call that was taken back.
CALLS = (EventType.CALLED, EventType.RECALLED, EventType.RETURNED)


class Event(Struct, frozen=True):
    """One thing that happened in a queue."""

    id: str
    """Its position in the order of events; `events(after=id)` continues from here."""
    type: EventType
    at: int
    """Milliseconds since 1970, by the store's clock."""
    ticket: int | None = None
    detail: str | None = None
    """Depends on the type: the reason of an end, the desk of a call, the level of a priority, how many places someone
    stepped back, the position of someone who is nearly there, the queue and ticket of a transfer, the version of the
    settings, the opening, the seconds of an outage."""
