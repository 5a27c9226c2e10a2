"""What people and keepers do to a service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Reason
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from tests.store.venue import NO_OUTAGE

OpenService: TypeAlias = Callable[[], Awaitable[Fairline]]


@asynccontextmanager
async def opened_services() -> AsyncIterator[list[Fairline]]:
    """A list for services: those in it are closed at the end, with their stores."""
    services: list[Fairline] = []
    yield services
    for service in services:
        await service.close()
        await service.store.close()


async def join(service: Fairline, queue: QueueId, caller: Caller | None = None, **body: Any) -> JoinAnswer:
    return await service.join(queue, JoinRequest(**body), caller or Caller())


async def admit(service: Fairline, queue: QueueId) -> list[int]:
    """What a keeper does."""
    return (await service.store.admit(queue, 1000)).items


async def sweep(service: Fairline, queue: QueueId) -> dict[int, Reason]:
    """What a keeper does."""
    lapsed = (await service.store.sweep(queue, 1000, every=NO_OUTAGE)).lapsed
    return {lapse.number: lapse.reason for lapse in lapsed}


async def joined_total(service: Fairline, queue: QueueId) -> int:
    return (await service.stats(queue)).totals.joined
