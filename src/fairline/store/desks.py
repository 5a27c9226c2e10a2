"""A desk of a queue: whether it is open, worked out from what a store keeps."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairline.domain.queue_settings import QueueSettings


class DeskState(Struct, frozen=True):
    """A desk, and whether it is open."""

    name: str
    open: bool
    since: int | None
    """When it last called, opened or closed; None if it never did."""


def desk_states(settings: QueueSettings, now: int, seen: Mapping[str, int]) -> list[DeskState]:
    """The desks that are named or were seen. `seen` is when each last called or opened; a negative time is when it
    closed. A desk that has not called for `desk_idle_seconds` is no longer open, even if nobody closed it."""
    names = sorted({*settings.desks, *(name for name in seen if name in settings.desks or not settings.desks)})
    oldest = now - settings.desk_idle_seconds * 1000
    return [
        DeskState(name, open=seen.get(name, -1) > oldest, since=abs(seen[name]) if name in seen else None)
        for name in names
    ]
