"""The data of `fairline top`: the queues of a server, read again and again, and whether the server answers."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from msgspec import Struct, field

from fairline.cli.client import Api, part
from fairline.errors import FairlineError, ServerRefused, ServerUnreachable

#: Only the busiest queues are shown: a screen has no space for more, and each needs its own calls.
MOST_QUEUES = 20
#: How many lengths of the line are remembered for its curve, and how many events for the list.
HISTORY, EVENTS = 600, 50
#: How many events of one queue are read at once.
PAGE = 500


class WatchedQueue(Struct, kw_only=True):
    """One queue as it was last read."""

    queue: dict[str, Any]
    stats: dict[str, Any]
    line: deque[int] = field(default_factory=lambda: deque(maxlen=HISTORY))
    """The length of the line at each reading since the start."""
    after: str = "latest"
    """The id of the last event that was read."""


class EventRun(Struct):
    """Consecutive events of the same kind, shown as one row. Otherwise a rush would fill the screen."""

    queue: str
    first: dict[str, Any]
    last: dict[str, Any]
    count: int = 1

    def continues(self, queue: str, event: dict[str, Any]) -> bool:
        """Whether an event is one more of the same kind."""
        same = ("type", "detail")
        return queue == self.queue and all(event[name] == self.last[name] for name in same)


class Watch:
    """Reads the state of a server again and again. A failed reading keeps the data of the one before."""

    def __init__(self, api: Api, queue: str | None = None) -> None:
        self.url = api.url
        self.queues: dict[str, WatchedQueue] = {}
        self.more = 0
        """How many queues are not shown."""
        self.events: deque[EventRun] = deque(maxlen=EVENTS)
        self.checks: dict[str, str] = {}
        """The server's report on its store and its keeper."""
        self.seen_at: float | None = None
        self.error = ""
        """Why the last reading failed."""
        self._api = api
        self._only = queue

    def read(self) -> None:
        """Read the state of the server, or raise."""
        self.checks = self._api.ready().get("checks", {})
        found = self._found()
        self.more = max(0, len(found) - MOST_QUEUES)
        shown = sorted(found, key=lambda queue: -queue["waiting"])[:MOST_QUEUES]
        self.queues = {queue["id"]: self._seen(queue) for queue in sorted(shown, key=lambda queue: queue["id"])}
        for name, seen in self.queues.items():
            self._read_events(name, seen)
        self.seen_at, self.error = time.time(), ""

    def try_to_read(self) -> None:
        """Read the state of the server, or remember why that failed."""
        try:
            self.read()
        except ServerUnreachable:
            self.error = "no answer"
        except FairlineError as error:
            self.error = error.message

    def _found(self) -> list[dict[str, Any]]:
        if self._only is not None:
            return [self._api.get(f"/queues/{part(self._only)}")]
        queues: list[dict[str, Any]] = self._api.get("/queues")["queues"]
        return queues

    def _seen(self, queue: dict[str, Any]) -> WatchedQueue:
        stats = self._api.get(f"/queues/{part(queue['id'])}/stats")
        seen = self.queues.get(queue["id"]) or WatchedQueue(queue=queue, stats=stats)
        seen.queue, seen.stats = queue, stats
        seen.line.append(stats["waiting"])
        return seen

    def _read_events(self, name: str, seen: WatchedQueue) -> None:
        try:
            page = self._api.get(f"/queues/{part(name)}/events", after=seen.after, limit=PAGE)
        except ServerRefused:
            seen.after = "latest"  # the queue was recreated, or its events are gone: continue from now
            return
        for event in page["events"]:
            self._note(name, event)
        # If there are too many events to keep up, skip to the newest.
        seen.after = "latest" if len(page["events"]) == PAGE else page["after"] or seen.after

    def _note(self, queue: str, event: dict[str, Any]) -> None:
        newest = self.events[-1] if self.events else None
        if newest is not None and newest.continues(queue, event):
            newest.last, newest.count = event, newest.count + 1
        else:
            self.events.append(EventRun(queue, event, event))
