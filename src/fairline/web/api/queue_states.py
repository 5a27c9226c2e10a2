"""The states of queues for public calls, cached for a second."""

from __future__ import annotations

import time

from msgspec import Struct

from fairline.domain.branding import opening_time
from fairline.domain.estimate import Forecast
from fairline.domain.opening import milliseconds
from fairline.domain.opening_steps import current_opening, next_opening
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.service.fairline import Fairline
from fairline.service.join_calendar import refused_now
from fairline.service.recent_reads import RecentReads
from fairline.web.api.wire import QueueAnswer, moment

#: Seconds for which the state of a queue may be cached, here and by HTTP caches.
FRESH_SECONDS = 1.0


class State(Struct, frozen=True):
    """A queue at a moment: its settings, and the answer that everybody may see."""

    settings: QueueSettings
    answer: QueueAnswer
    now: int
    """When it was read, by the store's clock, in milliseconds since 1970."""
    read_at: float
    """The same by our own clock, in seconds."""

    @property
    def present(self) -> int:
        """The store's time at this moment, in milliseconds since 1970."""
        return self.now + round(1000 * (time.monotonic() - self.read_at))


class QueueStates:
    """The cached states of queues."""

    def __init__(self, service: Fairline) -> None:
        self._service = service
        self._states = RecentReads(service, self._read, FRESH_SECONDS)

    async def state(self, queue: QueueId) -> State:
        """A queue with its current settings and counts at most a second old; QueueNotFound if there is none."""
        return await self._states.get(queue)

    async def _read(self, queue: QueueId) -> State:
        snapshot, settings = await self._service.snapshot(queue)
        return State(settings, _answer(queue, snapshot, settings), snapshot.now, time.monotonic())


def _answer(queue: QueueId, snapshot: QueueSnapshot, settings: QueueSettings) -> QueueAnswer:
    wait = None if settings.held_back else Forecast(settings, snapshot).wait(snapshot.waiting + 1)
    calendar, now = settings.calendar, snapshot.now
    opens = calendar.opens_at(now) if calendar.limited else None
    if settings.opens_at and settings.status is QueueStatus.MAINTENANCE:
        opens = max(milliseconds(opening_time(settings.opens_at)), opens or 0)
    closes = calendar.closes_at(now) if calendar.limited else None
    takes_people = refused_now(queue, settings, snapshot) is None
    closed = not takes_people or settings.status is QueueStatus.MAINTENANCE
    opening = next_opening(settings)
    lasting = current_opening(settings) or opening
    return QueueAnswer(
        id=queue,
        name=settings.name or queue,
        status=settings.status,
        queue_length=snapshot.waiting,
        admission_rate=settings.admission_rate,
        now_serving=snapshot.inside,
        estimated_wait_seconds=round(wait.seconds) if wait else None,
        sold_out=snapshot.sold_out(settings.stock),
        stock_unknown=settings.stock_unknown,
        message=(settings.closed_message if closed else "") or settings.message,
        open=takes_people,
        opens_at=moment(opens) if opens else None,
        closes_at=moment(closes) if closes else None,
        phase=settings.phase or None,
        prequeue_at=opening.prequeue_at if opening else None,
        starts_at=opening.starts_at if opening else None,
        draws=opening is not None and opening.drawn,
        ends_at=lasting.ends_at if lasting else None,
    )
