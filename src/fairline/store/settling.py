"""How a store settles deliveries: three ends of a try, by one operation."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fairline.store.checks import milliseconds
from fairline.store.constants import DEAD_KEPT
from fairline.store.outbox import Delivery


class Settling(ABC):
    """Settles a claimed delivery in one of three ways, by one operation of a store. `Outbox` documents them."""

    async def settle_sent(self, box: str, delivery: Delivery) -> bool:
        return await self._settle(box, delivery, "sent")

    async def settle_retry(self, box: str, delivery: Delivery, seconds: float, error: str) -> bool:
        return await self._settle(box, delivery, "retry", milliseconds(seconds), error)

    async def settle_dead(self, box: str, delivery: Delivery, error: str) -> bool:
        return await self._settle(box, delivery, "dead", DEAD_KEPT, error)

    @abstractmethod
    async def _settle(self, box: str, delivery: Delivery, what: str, number: int = 0, error: str = "") -> bool:
        """Do it, unless the delivery was claimed again since. `number` is when it is due again, or how many dead ones
        are kept."""
