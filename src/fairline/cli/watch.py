"""What `fairline top` sees: the queues of a server as it answers from moment to moment, and since when it does not."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from msgspec import Struct, field

from fairline.cli.client import Api, part
from fairline.errors import FairlineError, ServerRefused, ServerUnreachable

#: The busiest are shown; a screen has no room for more, and each is asked for by itself.
MOST_QUEUES = 20
#: Looks that are remembered for the curve of the line, and events for the list.
LOOKS, EVENTS = 600, 50
#: Events of one queue that are asked for at once.
PAGE = 500


class Seen(Struct, kw_only=True):
    """One queue as it was last seen."""

    queue: dict[str, Any]
    stats: dict[str, Any]
    line: deque[int] = field(default_factory=lambda: deque(maxlen=LOOKS))
    """Its length at every look since the start."""
    after: str = "latest"
    """The last event that was read."""


class Happened(Struct):
    """The same thing that happened to one ticket after the other: a rush would fill the screen otherwise."""

    queue: str
    first: dict[str, Any]
    last: dict[str, Any]
    count: int = 1

    def goes_on(self, queue: str, event: dict[str, Any]) -> bool:
        """Whether this is more of it."""
        same = ("type", "detail")
        return queue == self.queue and all(event[name] == self.last[name] for name in same)


class Watch:
    """Looks at a server again and again. A look that fails changes nothing of what was seen before."""

    def __init__(self, api: Api, queue: str | None = None) -> None:
        self.url = api.url
        self.queues: dict[str, Seen] = {}
        self.more = 0
        """Queues that are not shown."""
        self.events: deque[Happened] = deque(maxlen=EVENTS)
        self.checks: dict[str, str] = {}
        """What the server says of its store and its keeper."""
        self.seen_at: float | None = None
        self.trouble = ""
        """Why the last look failed."""
        self._api = api
        self._only = queue

    def look(self) -> None:
        """See what there is, or raise."""
        self.checks = self._api.ready().get("checks", {})
        found = self._found()
        self.more = max(0, len(found) - MOST_QUEUES)
        shown = sorted(found, key=lambda queue: -queue["waiting"])[:MOST_QUEUES]
        self.queues = {queue["id"]: self._seen(queue) for queue in sorted(shown, key=lambda queue: queue["id"])}
        for name, seen in self.queues.items():
            self._read_events(name, seen)
        self.seen_at, self.trouble = time.time(), ""

    def try_to_look(self) -> None:
        """See what there is, or remember why not."""
        try:
            self.look()
        except ServerUnreachable:
            self.trouble = "no answer"
        except FairlineError as error:
            self.trouble = error.message

    def _found(self) -> list[dict[str, Any]]:
        if self._only is not None:
            return [self._api.get(f"/queues/{part(self._only)}")]
        queues: list[dict[str, Any]] = self._api.get("/queues")["queues"]
        return queues

    def _seen(self, queue: dict[str, Any]) -> Seen:
        stats = self._api.get(f"/queues/{part(queue['id'])}/stats")
        seen = self.queues.get(queue["id"]) or Seen(queue=queue, stats=stats)
        seen.queue, seen.stats = queue, stats
        seen.line.append(stats["waiting"])
        return seen

    def _read_events(self, name: str, seen: Seen) -> None:
        try:
            page = self._api.get(f"/queues/{part(name)}/events", after=seen.after, limit=PAGE)
        except ServerRefused:
            seen.after = "latest"  # the queue was made anew, or its events are gone: go on from now
            return
        for event in page["events"]:
            self._note(name, event)
        # Whoever cannot keep up sees the newest rather than the oldest.
        seen.after = "latest" if len(page["events"]) == PAGE else page["after"] or seen.after

    def _note(self, queue: str, event: dict[str, Any]) -> None:
        newest = self.events[-1] if self.events else None
        if newest is not None and newest.goes_on(queue, event):
            newest.last, newest.count = event, newest.count + 1
        else:
            self.events.append(Happened(queue, event, event))
