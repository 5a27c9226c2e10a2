"""Asks outside services how many items or seats there are to sell (`stock_url`).

A queue with a `stock_url` and no known stock lets in nobody: too few people are easily corrected, too many are not. One
worker at a time asks until the stock is known. From then on the operator sets it by hand, or unsets it to have it asked
for again.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta, Struct

from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, ServiceFailed, StoreError
from fairline.keeper.idle_queues import IdleQueues
from fairline.keeper.outbound import send
from fairline.service.fairline import Fairline

log = structlog.get_logger()

#: Seconds between rounds; between two tries for one queue by all workers together; and for one try.
ROUND_SECONDS = 1.0
RETRY_SECONDS = 5.0
TIMEOUT_SECONDS = 5.0
#: How long a queue that needs no stock is not checked, unless it has a new event.
SETTLED_SECONDS = 60.0


class Seats(Struct):
    """The answer of a service."""

    seats: Annotated[int, Meta(ge=0, le=1_000_000_000)]


_seats = msgspec.json.Decoder(Seats).decode


async def fetch_seats(url: str, seconds: float = TIMEOUT_SECONDS) -> int:
    """The number of seats that a service answers, or ServiceFailed. The service may have a private address, since it is
    often the shop's own."""
    answer = await send("GET", url, headers={"accept": "application/json"}, seconds=seconds, private=True)
    if not answer.ok:
        raise ServiceFailed(f"it answered {answer.status}")
    try:
        return _seats(answer.body).seats
    except msgspec.MsgspecError as error:
        raise ServiceFailed(f'the answer is not {{"seats": n}}: {error}') from None


class Stocktaker:
    """Asks for the stock of all queues of a store that need it."""

    def __init__(
        self, service: Fairline, *, round_seconds: float = ROUND_SECONDS, retry_seconds: float = RETRY_SECONDS
    ) -> None:
        self._service = service
        self._round_seconds = round_seconds
        self._retry_seconds = retry_seconds
        self._settled = IdleQueues(int(SETTLED_SECONDS / round_seconds))
        self._asking: dict[QueueId, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Run until cancelled. An outage of the store is waited out, and a slow service delays only its own queue."""
        try:
            while True:
                with contextlib.suppress(StoreError):
                    newest = await self._service.store.newest_events()
                    for queue in self._settled.round(newest):
                        if queue not in self._asking:
                            self._asking[queue] = asyncio.ensure_future(self._take_and_rest(queue, newest[queue]))
                await asyncio.sleep(self._round_seconds)
        finally:
            for task in self._asking.values():
                task.cancel()

    async def _take_and_rest(self, queue: QueueId, newest: str) -> None:
        try:
            with contextlib.suppress(StoreError):
                if not await self.take(queue):
                    self._settled.rest(queue, newest)
        finally:
            del self._asking[queue]

    async def take(self, queue: QueueId) -> bool:
        """Ask for the stock of one queue if it is needed and this worker's turn. Returns whether it is needed."""
        try:
            settings = (await self._service.settings(queue)).settings
            if not settings.stock_url or not settings.stock_unknown:
                return False
            if await self._is_our_turn(queue):
                seats = await _fetch_stock(queue, settings.stock_url)
                if seats is not None:
                    await self._service.set_stock(queue, seats, source_url=settings.stock_url)
        except QueueNotFound:
            return False  # deleted meanwhile
        return True

    async def _is_our_turn(self, queue: QueueId) -> bool:
        """Whether this worker makes the next try: there is one at a time among all workers."""
        return await self._service.store.limit(queue, "keeper", "stock", 1, self._retry_seconds) == 0


async def _fetch_stock(queue: QueueId, url: str) -> int | None:
    try:
        seats = await fetch_seats(url)
    except ServiceFailed as error:
        log.warning("queue.stock_unknown", queue=queue, url=_for_log(url), error=error.message)
        return None
    log.info("queue.stock_taken", queue=queue, stock=seats)
    return seats


def _for_log(url: str) -> str:
    """The URL for the log, with scheme and host only: the rest may be secret."""
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}://{host}/…"
