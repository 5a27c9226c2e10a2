"""The answers of the calls about the statistics and the events of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from msgspec import Struct

from fairline.domain.events import Event, EventType
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Reason
from fairline.service.fairline import Fairline
from fairline.store import Estimates, Hour, Stats, Totals
from fairline.web.admin.wire import rounded, when
from fairline.web.api.accuracy import AccuracyByWait, AccuracyFigures, by_wait
from fairline.web.api.wire import moment


class EstimatesAnswer(Struct, frozen=True):
    """The accuracy of the wait times shown at joining and halfway, measured on a sample of people who were let in
    since. Each stands for as many people as were left out."""

    compared: int
    within_range: int
    share_within: float | None
    """The share of them whose wait was within the range they were shown."""
    mean_error_seconds: float | None
    """The average difference between the wait shown and the real one, in either direction."""
    median_error_percent: float | None
    """The median of it, in percent of the real wait."""
    median_bias_percent: float | None
    """The same with its direction: above 0, people waited less than shown; below 0, more."""
    by_wait: list[AccuracyByWait]
    """By the length of the real wait; lengths that nobody waited are left out."""

    @classmethod
    def of(cls, found: Estimates) -> EstimatesAnswer:
        """The statistics of the store as an answer."""
        figures = AccuracyFigures.of(found)
        return cls(
            compared=found.compared,
            within_range=found.within,
            share_within=figures.share_within,
            mean_error_seconds=rounded(found.error_mean),
            median_error_percent=figures.median_error_percent,
            median_bias_percent=figures.median_bias_percent,
            by_wait=by_wait(found),
        )


class StatsAnswer(Struct, frozen=True, kw_only=True):
    """The statistics of a queue: now, recently, and in total."""

    queue: str
    at: datetime
    waiting: int
    admitted: int
    active: int
    joined_total: int
    admitted_total: int
    returned_total: int
    completed: int
    expired: int
    expired_by_reason: dict[Reason, int]
    joins_per_minute: int
    admissions_per_minute: int
    average_wait_seconds: float | None
    wait_p50_seconds: float | None
    wait_p90_seconds: float | None
    wait_p99_seconds: float | None
    last_admission_at: datetime | None
    peak_waiting: int
    estimates: EstimatesAnswer

    @classmethod
    def of(cls, queue: QueueId, stats: Stats) -> StatsAnswer:
        """The statistics of the store as an answer."""
        snapshot, totals = stats.snapshot, stats.totals
        return cls(
            queue=queue,
            at=moment(snapshot.now),
            waiting=snapshot.waiting,
            admitted=snapshot.admitted,
            active=snapshot.active,
            joined_total=totals.joined,
            admitted_total=totals.admitted,
            returned_total=totals.returned,
            completed=totals.completed,
            expired=totals.expired,
            expired_by_reason=_by_reason(totals),
            joins_per_minute=stats.joins_per_minute,
            admissions_per_minute=stats.admissions_per_minute,
            average_wait_seconds=rounded(totals.wait_mean),
            wait_p50_seconds=rounded(totals.wait_p50),
            wait_p90_seconds=rounded(totals.wait_p90),
            wait_p99_seconds=rounded(totals.wait_p99),
            last_admission_at=when(stats.last_admission),
            peak_waiting=totals.peak_waiting,
            estimates=EstimatesAnswer.of(totals.estimates),
        )


class CountsAnswer(Struct, frozen=True, kw_only=True):
    """The counts of a period. Waits are those of the people admitted in it."""

    joined: int
    admitted: int
    returned: int
    completed: int
    expired: int
    expired_by_reason: dict[Reason, int]
    peak_waiting: int
    average_wait_seconds: float | None
    wait_p50_seconds: float | None
    wait_p90_seconds: float | None
    wait_p99_seconds: float | None
    estimates: EstimatesAnswer

    @classmethod
    def of_totals(cls, totals: Totals, **more: Any) -> Self:
        """The statistics of the store as an answer."""
        return cls(
            joined=totals.joined,
            admitted=totals.admitted,
            returned=totals.returned,
            completed=totals.completed,
            expired=totals.expired,
            expired_by_reason=_by_reason(totals),
            peak_waiting=totals.peak_waiting,
            average_wait_seconds=rounded(totals.wait_mean),
            wait_p50_seconds=rounded(totals.wait_p50),
            wait_p90_seconds=rounded(totals.wait_p90),
            wait_p99_seconds=rounded(totals.wait_p99),
            estimates=EstimatesAnswer.of(totals.estimates),
            **more,
        )


class HourAnswer(CountsAnswer, frozen=True, kw_only=True):
    """The counts of one hour. Waits are those of the people admitted in it."""

    start: datetime

    @classmethod
    def of(cls, hour: Hour) -> HourAnswer:
        """The statistics of the store as an answer."""
        return cls.of_totals(hour.totals, start=moment(hour.start))


class HourList(Struct, frozen=True):
    """The stored hours, oldest first."""

    hours: list[HourAnswer]


def _by_reason(totals: Totals) -> dict[Reason, int]:
    """The count of every reason, also of those that did not occur."""
    return {reason: totals.expired_by_reason.get(reason, 0) for reason in Reason}


class EventAnswer(Struct, frozen=True, kw_only=True):
    """One event of a queue."""

    id: str
    type: EventType
    at: datetime
    ticket: int | None
    label: str | None
    """The label of the ticket, while the ticket is stored."""
    detail: str | None

    @classmethod
    def of(cls, event: Event, labels: Mapping[int, str]) -> EventAnswer:
        """An event of the store as an answer, with the label of its ticket."""
        label = labels.get(event.ticket or 0)
        return cls(
            id=event.id, type=event.type, at=moment(event.at), ticket=event.ticket, label=label, detail=event.detail
        )


async def labels_of(service: Fairline, queue: QueueId, events: Sequence[Event]) -> dict[int, str]:
    """The labels of the tickets in some events, by number."""
    numbers = sorted({event.ticket for event in events if event.ticket is not None})
    return await service.labels(queue, numbers) if numbers else {}


class EventList(Struct, frozen=True):
    """A page of events, oldest first. `after` is the `after` of the next page."""

    events: list[EventAnswer]
    after: str | None
