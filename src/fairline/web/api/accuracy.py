"""How accurate the waits were that a queue told people, for everyone to see."""

from __future__ import annotations

from typing import Self

from msgspec import Struct

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from fairline.service.recent_reads import RecentReads
from fairline.store import Accuracy, Estimates

#: How long an answer may be cached, here and by HTTP caches: the counts grow slowly.
FRESH_SECONDS = 10


class AccuracyFigures(Struct, kw_only=True, frozen=True):
    """How accurate the shown waits were. Percentages are those of the true wait, of at least five seconds."""

    compared: int
    """How many shown waits were compared with the true ones."""
    share_within: float | None
    """The share of true waits that were within the range shown."""
    median_error_percent: float | None
    """The median difference between the wait shown and the true one, in either direction."""
    median_bias_percent: float | None
    """The same with its direction: above 0, people waited less than shown; below 0, more."""

    @classmethod
    def of(cls, found: Estimates | Accuracy, **more: int | None) -> Self:
        """The figures of the store as an answer."""
        return cls(
            compared=found.compared,
            share_within=round(found.within / found.compared, 4) if found.compared else None,
            median_error_percent=_rounded(found.error_percent),
            median_bias_percent=_rounded(found.bias_percent),
            **more,
        )


class AccuracyByWait(AccuracyFigures, kw_only=True, frozen=True):
    """The same for true waits of one length."""

    from_seconds: int
    to_seconds: int | None
    """Null for the longest ones."""


class AccuracyAnswer(AccuracyFigures, kw_only=True, frozen=True):
    """How accurate the waits were that a queue showed, since it was created."""

    queue: str
    by_wait: list[AccuracyByWait]
    """By the length of the true wait; lengths that nobody waited are left out."""


def by_wait(found: Estimates) -> list[AccuracyByWait]:
    """The figures by the length of the wait."""
    return [
        AccuracyByWait.of(each, from_seconds=each.from_seconds, to_seconds=each.to_seconds) for each in found.by_wait
    ]


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 1)


class Accuracies:
    """The answers about accuracy, cached for a few seconds."""

    def __init__(self, service: Fairline) -> None:
        self._service = service
        self._read = RecentReads(service, self._answer, FRESH_SECONDS)

    async def of(self, queue: QueueId) -> AccuracyAnswer:
        """The accuracy of a queue; QueueNotFound if there is none."""
        return await self._read.get(queue)

    async def _answer(self, queue: QueueId) -> AccuracyAnswer:
        found = (await self._service.stats(queue)).totals.estimates
        figures = AccuracyFigures.of(found)
        return AccuracyAnswer(
            queue=queue,
            compared=figures.compared,
            share_within=figures.share_within,
            median_error_percent=figures.median_error_percent,
            median_bias_percent=figures.median_bias_percent,
            by_wait=by_wait(found),
        )
