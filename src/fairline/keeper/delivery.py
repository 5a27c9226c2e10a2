"""The delivery worker: sends the due deliveries of the outboxes, tries failed ones again, and gives up in the end.

A channel knows how to send: it is a function that takes a delivery and returns the outcome. Any number of delivery
workers may run. Each delivery is sent at least once, and usually exactly once. It is sent again if the receiver did not
answer in time, or if the process that sent it died before it noted the outcome.
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
#: A claim on a delivery lapses after this long. A channel must finish well before.
CLAIM_SECONDS = 20.0
#: How many deliveries are sent at once to one receiver, and in total.
AT_ONCE = 8
AT_ONCE_IN_ALL = 128
#: Deliveries that finish within this time are replaced by new ones together.
GATHER_SECONDS = 0.01
#: How long the deliveries under way may take when the worker is stopped.
GRACE_SECONDS = 3.0
#: The length to which an error is cut.
ERROR_LENGTH = 200


class Outcome(Struct, frozen=True):
    """The outcome of one try."""

    sent: bool
    error: str = ""
    """A short text. Of the receiver's answer it has only the status."""
    final: bool = False
    """Trying again cannot help."""
    overtaken: bool = False
    """It was not sent because it is no longer true. That is not a failure."""
    limited: bool = False
    """It was not sent because its recipient has received as many as allowed."""
    retry_after: float | None = None
    """The receiver asks for a pause of this many seconds."""
    done: bool = False
    """It was for nobody: a step of the outbox itself."""
    later: float | None = None
    """It is not time for it yet: look again in this many seconds. That is no try, and not a failure."""


Channel = Callable[[Delivery], Awaitable[Outcome]]


class RetryPolicy(Struct, frozen=True):
    """When to try again, and when to give up. Default: 12 tries in about four hours."""

    tries: int = 12
    first: float = 1.0
    factor: float = 3.0
    most: float = 3600.0

    def pause(self, tries: int, retry_after: float | None) -> float:
        """Seconds until the next try, with a random part so that deliveries that failed together spread out."""
        usual = min(self.most, self.first * self.factor ** (tries - 1)) * random.uniform(0.8, 1.2)
        return max(usual, min(retry_after or 0.0, self.most))


class DeliveryWorker:
    """Sends the deliveries of outboxes. `kind` names the outboxes in logs and metrics. `on_outcome` is called with
    `kind` and `sent`, `overtaken`, `limited`, `retried` or `dead`."""

    def __init__(
        self,
        outbox: Outbox,
        kind: str,
        *,
        round_seconds: float = ROUND_SECONDS,
        claim_seconds: float = CLAIM_SECONDS,
        retry_policy: RetryPolicy | None = None,
        on_outcome: Callable[[str, str], None] | None = None,
    ) -> None:
        self._outbox = outbox
        self._kind = kind
        self._round_seconds = round_seconds
        self._claim_seconds = claim_seconds
        self._retry_policy = retry_policy or RetryPolicy()
        self._on_outcome = on_outcome
        self._under_way: set[asyncio.Task[None]] = set()
        self._busy: Counter[str] = Counter()
        self._freed = asyncio.Event()

    async def run(self, channels: Callable[[], Mapping[str, Channel]]) -> None:
        """Send until cancelled. `channels` returns the channel of each current outbox. An outage of the store is waited
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
        """Start to send what is due, but claim only as much as can start at once, so that no claim lapses waiting."""
        boxes = [box for box in channels if self._busy[box] < AT_ONCE]
        random.shuffle(boxes)  # so that no outbox is always the last
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
        """Wait until no delivery is under way."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _deliver(self, box: str, delivery: Delivery, channel: Channel) -> None:
        try:
            await self._settle(box, delivery, await self._try_to_send(box, delivery, channel))
        except StoreError as error:
            # The claim lapses and the delivery is sent again: twice is better than never.
            log.warning("delivery.not_noted", kind=self._kind, box=box, delivery=delivery.id, error=error.message)
        finally:
            self._busy[box] -= 1
            if not self._busy[box]:
                del self._busy[box]
            self._freed.set()

    async def _try_to_send(self, box: str, delivery: Delivery, channel: Channel) -> Outcome:
        """The outcome from the channel. An unexpected exception counts as a failed try, so that tries stay limited."""
        try:
            return await channel(delivery)
        except StoreError:
            raise  # not the receiver's failure: the claim lapses, and it is tried again
        except Exception:
            log.exception("delivery.failed", kind=self._kind, box=box, delivery=delivery.id)
            return Outcome(sent=False, error="it could not be sent; the log says why")

    async def _settle(self, box: str, delivery: Delivery, outcome: Outcome) -> None:
        if outcome.later is not None:
            await self._outbox.settle_retry(box, delivery, outcome.later, "")
            return
        if outcome.done:
            await self._outbox.settle_sent(box, delivery)
            return
        error = outcome.error[:ERROR_LENGTH]
        if outcome.sent or outcome.overtaken or outcome.limited:
            became = "sent" if outcome.sent else "overtaken" if outcome.overtaken else "limited"
            noted = await self._outbox.settle_sent(box, delivery)
        elif outcome.final or delivery.tries >= self._retry_policy.tries:
            became, noted = "dead", await self._outbox.settle_dead(box, delivery, error)
        else:
            pause = self._retry_policy.pause(delivery.tries, outcome.retry_after)
            became, noted = "retried", await self._outbox.settle_retry(box, delivery, pause, error)
        if not noted:
            return  # the claim had lapsed, or the outbox is gone: another worker reports the outcome
        fields = {"kind": self._kind, "box": box, "delivery": delivery.id, "tries": delivery.tries, "error": error}
        if became == "dead":
            log.warning("delivery.dead", **fields)
        elif became == "overtaken":
            log.info("delivery.overtaken", **fields)
        elif became == "limited":
            log.info("delivery.limited", **fields)
        elif became == "retried":
            log.info("delivery.retried", **fields)
        if self._on_outcome:
            self._on_outcome(self._kind, became)

    async def _end(self) -> None:
        """Let the deliveries under way finish. Those that do not are sent again by another worker."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
