"""Asks outside services how much there is to sell.

A queue with a `stock_url` and no stock lets in nobody: too few is mended in a moment, too many never. Its stock is
asked for until it is known, once for all workers, and from then on it is the operator's: recalibrated by hand, or asked
for again by unsetting it.
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

#: Seconds between rounds; between two tries for one queue, however many workers there are; and that a try may take.
ROUND_SECONDS = 1.0
RETRY_SECONDS = 5.0
TIMEOUT_SECONDS = 5.0
#: For how long a queue whose stock need not be asked for is not looked at, unless something happens in it.
SETTLED_SECONDS = 60.0


class Seats(Struct):
    """What a service answers."""

    seats: Annotated[int, Meta(ge=0, le=1_000_000_000)]


_seats = msgspec.json.Decoder(Seats).decode


async def fetch_seats(url: str, seconds: float = TIMEOUT_SECONDS) -> int:
    """How many seats a service says there are; raises ServiceFailed where it cannot be had. It may well be a private
    one: the shop's own, next door."""
    answer = await send("GET", url, headers={"accept": "application/json"}, seconds=seconds, private=True)
    if not answer.ok:
        raise ServiceFailed(f"it answered {answer.status}")
    try:
        return _seats(answer.body).seats
    except msgspec.MsgspecError as error:
        raise ServiceFailed(f'the answer is not {{"seats": n}}: {error}') from None


class Stocktaker:
    """Takes stock of all queues of a store that need it."""

    def __init__(
        self, service: Fairline, *, round_seconds: float = ROUND_SECONDS, retry_seconds: float = RETRY_SECONDS
    ) -> None:
        self._service = service
        self._round_seconds = round_seconds
        self._retry_seconds = retry_seconds
        self._settled = IdleQueues(int(SETTLED_SECONDS / round_seconds))
        self._asking: dict[QueueId, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Go round until cancelled. An outage of the store is waited out, and no service holds up another's queue."""
        try:
            while True:
                with contextlib.suppress(StoreError):
                    newest = await self._service.store.newest_events()
                    for queue in self._settled.round(newest):
                        if queue not in self._asking:
                            self._asking[queue] = asyncio.ensure_future(self._asked_for(queue, newest[queue]))
                await asyncio.sleep(self._round_seconds)
        finally:
            for task in self._asking.values():
                task.cancel()

    async def _asked_for(self, queue: QueueId, newest: str) -> None:
        try:
            with contextlib.suppress(StoreError):
                if not await self.take(queue):
                    self._settled.rest(queue, newest)
        finally:
            del self._asking[queue]

    async def take(self, queue: QueueId) -> bool:
        """Take stock of one queue, if that is needed and it is our turn; answers whether it is needed."""
        try:
            settings = (await self._service.settings(queue)).settings
            if not settings.stock_url or not settings.stock_unknown:
                return False
            if await self._is_our_turn(queue):
                seats = await _asked(queue, settings.stock_url)
                if seats is not None:
                    await self._service.set_stock(queue, seats, source_url=settings.stock_url)
        except QueueNotFound:
            return False  # deleted meanwhile
        return True

    async def _is_our_turn(self, queue: QueueId) -> bool:
        """One try at a time, whichever worker makes it."""
        return await self._service.store.limit(queue, "keeper", "stock", 1, self._retry_seconds) == 0


async def _asked(queue: QueueId, url: str) -> int | None:
    try:
        seats = await fetch_seats(url)
    except ServiceFailed as error:
        log.warning("queue.stock_unknown", queue=queue, url=_named(url), error=error.message)
        return None
    log.info("queue.stock_taken", queue=queue, stock=seats)
    return seats


def _named(url: str) -> str:
    """A service as a log may name it, by scheme and host: all else in an address may be secret."""
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    return f"{scheme}://{host}/…"
