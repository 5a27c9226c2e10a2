"""The courier: sends what is due in the outboxes, tries again what did not arrive, and gives up in the end.

How something is sent is the channel's business: a plain function that answers what became of a delivery. Any number of
couriers may run. Each delivery is sent at least once, and once as a rule: one is sent again where the receiver did not
say in time that it has it, or whoever sent it died before noting so.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

import structlog
from msgspec import Struct

from fairline.errors import StoreError
from fairline.store import Delivery, Outbox

log = structlog.get_logger()

ROUND_SECONDS = 0.5
#: A claim lapses after so long. Whatever a channel does must be over well before.
CLAIM_SECONDS = 20.0
#: Sent at once for one receiver, and in all.
AT_ONCE = 8
AT_ONCE_IN_ALL = 128
#: What is freed within so many seconds is filled again in one go.
GATHER_SECONDS = 0.01
#: How long those under way have to end when the courier is told to.
GRACE_SECONDS = 3.0
#: What is kept of an error.
ERROR_LENGTH = 200


class Outcome(Struct, frozen=True):
    """What became of one try."""

    sent: bool
    error: str = ""
    """Short, and nothing of what the receiver answered but its status."""
    final: bool = False
    """Trying again is of no use."""
    overtaken: bool = False
    """It was not sent, since it is not true any more: nobody needs to know, and nothing failed."""
    limited: bool = False
    """It was not sent, since whom it is for was told enough already."""
    retry_after: float | None = None
    """The receiver asks to be left alone so long."""


Channel = Callable[[Delivery], Awaitable[Outcome]]


class Patience(Struct, frozen=True):
    """When to try again, and when to give up: 12 tries in about four hours."""

    tries: int = 12
    first: float = 1.0
    factor: float = 3.0
    most: float = 3600.0

    def pause(self, tries: int, retry_after: float | None) -> float:
        """Seconds until the next try; scattered, so that what failed together does not come back together."""
        usual = min(self.most, self.first * self.factor ** (tries - 1)) * random.uniform(0.8, 1.2)
        return max(usual, min(retry_after or 0.0, self.most))


class DeliveryWorker:
    """Sends from outboxes. `kind` names them in logs and figures; `on_outcome` hears `sent`, `overtaken`, `limited`,
    `retried` or `dead`."""

    def __init__(
        self,
        outbox: Outbox,
        kind: str,
        *,
        round_seconds: float = ROUND_SECONDS,
        claim_seconds: float = CLAIM_SECONDS,
        patience: Patience | None = None,
        on_outcome: Callable[[str, str], None] | None = None,
    ) -> None:
        self._outbox = outbox
        self._kind = kind
        self._round_seconds = round_seconds
        self._claim_seconds = claim_seconds
        self._patience = patience or Patience()
        self._on_outcome = on_outcome
        self._under_way: set[asyncio.Task[None]] = set()
        self._busy: Counter[str] = Counter()
        self._freed = asyncio.Event()

    async def run(self, channels: Callable[[], Mapping[str, Channel]]) -> None:
        """Send until cancelled; `channels` says how, for each outbox there is now. An outage of the store is waited
        out."""
        try:
            while True:
                self._freed.clear()
                with contextlib.suppress(StoreError):
                    await self.round(channels())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._round_seconds):
                        await self._freed.wait()
                        await asyncio.sleep(GATHER_SECONDS)
        finally:
            await self._end()

    async def round(self, channels: Mapping[str, Channel]) -> None:
        """Begin to send what is due, as far as there are hands free: a claim must not lapse while it waits for one."""
        boxes = [box for box in channels if self._busy[box] < AT_ONCE]
        random.shuffle(boxes)  # nobody is always the last
        for box in await self._outbox.due(boxes) if boxes else ():
            free = min(AT_ONCE - self._busy[box], AT_ONCE_IN_ALL - len(self._under_way))
            if free < 1:
                continue
            for delivery in await self._outbox.claim(box, free, self._claim_seconds):
                self._busy[box] += 1
                task = asyncio.create_task(self._deliver(box, delivery, channels[box]))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def idle(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _deliver(self, box: str, delivery: Delivery, channel: Channel) -> None:
        try:
            await self._settle(box, delivery, await self._sent(box, delivery, channel))
        except StoreError as error:
            # The claim lapses, and it is sent again: twice is better than never.
            log.warning("delivery.not_noted", kind=self._kind, box=box, delivery=delivery.id, error=error.message)
        finally:
            self._busy[box] -= 1
            if not self._busy[box]:
                del self._busy[box]
            self._freed.set()

    async def _sent(self, box: str, delivery: Delivery, channel: Channel) -> Outcome:
        """What the channel says. One that fails in a way of its own is a failed try, and no reason to try for ever."""
        try:
            return await channel(delivery)
        except StoreError:
            raise  # that is our own trouble: the claim lapses, and it is tried again
        except Exception:
            log.exception("delivery.failed", kind=self._kind, box=box, delivery=delivery.id)
            return Outcome(sent=False, error="it could not be sent; the log says why")

    async def _settle(self, box: str, delivery: Delivery, outcome: Outcome) -> None:
        error = outcome.error[:ERROR_LENGTH]
        if outcome.sent or outcome.overtaken or outcome.limited:
            became = "sent" if outcome.sent else "overtaken" if outcome.overtaken else "limited"
            noted = await self._outbox.settle_sent(box, delivery)
        elif outcome.final or delivery.tries >= self._patience.tries:
            became, noted = "dead", await self._outbox.settle_dead(box, delivery, error)
        else:
            pause = self._patience.pause(delivery.tries, outcome.retry_after)
            became, noted = "retried", await self._outbox.settle_retry(box, delivery, pause, error)
        if not noted:
            return  # the claim had lapsed, or the outbox is gone: it is someone else's to tell
        told = {"kind": self._kind, "box": box, "delivery": delivery.id, "tries": delivery.tries, "error": error}
        if became == "dead":
            log.warning("delivery.dead", **told)
        elif became == "overtaken":
            log.info("delivery.overtaken", **told)
        elif became == "limited":
            log.info("delivery.limited", **told)
        elif became == "retried":
            log.info("delivery.retried", **told)
        if self._on_outcome:
            self._on_outcome(self._kind, became)

    async def _end(self) -> None:
        """Let those under way end; what does not is sent again by another courier."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
