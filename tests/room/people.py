"""What people and keepers do to a room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Reason
from fairline.service.answers import Welcome
from fairline.service.fairline import Room
from tests.store.venue import NO_OUTAGE

OpenRoom: TypeAlias = Callable[[], Awaitable[Room]]


async def join(room: Room, queue: QueueId, caller: Caller | None = None, **body: Any) -> Welcome:
    return await room.join(queue, JoinRequest(**body), caller or Caller())


async def admit(room: Room, queue: QueueId) -> list[int]:
    """What a keeper does."""
    return (await room.store.admit(queue, 1000)).items


async def sweep(room: Room, queue: QueueId) -> dict[int, Reason]:
    """What a keeper does."""
    lapsed = (await room.store.sweep(queue, 1000, every=NO_OUTAGE)).lapsed
    return {lapse.number: lapse.reason for lapse in lapsed}


async def joined_total(room: Room, queue: QueueId) -> int:
    return (await room.stats(queue)).totals.joined
