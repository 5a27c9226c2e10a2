"""The answers of the calls and streams with live data."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from fairline.domain.estimate import Forecast
from fairline.domain.opening import OpeningState, Phase
from fairline.domain.opening_steps import current_opening, next_opening
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import Admission, QueueSettings, QueueStatus
from fairline.service.join_calendar import refused_now
from fairline.web.admin.record_wire import StatsAnswer
from fairline.web.api.wire import moment


class NextOpening(Struct, frozen=True):
    """An opening at a glance."""

    id: str
    name: str
    state: OpeningState
    begins_at: datetime
    """When it begins: with its pre-queue, if it has one."""
    starts_at: datetime

    @classmethod
    def of(cls, settings: QueueSettings) -> NextOpening | None:
        """The opening of a queue that is in progress, or else the next one."""
        found = current_opening(settings) or next_opening(settings)
        if found is None:
            return None
        return cls(found.id, found.name, found.state, found.prequeue_at or found.starts_at, found.starts_at)


class Glance(Struct, frozen=True, kw_only=True):
    """A queue at a glance: what an operator watches and changes during an event."""

    id: str
    name: str
    ticket_prefix: str
    """The prefix of ticket labels: a label is `R`, this prefix, and the number."""
    version: int
    status: QueueStatus
    takes_more: bool
    """Whether people can join now, by the opening hours and the time left."""
    admission: Admission
    admission_rate: float
    max_active: int
    max_queue_size: int
    waiting: int
    admitted: int
    active: int
    estimated_wait_seconds: int | None
    """The wait of someone who joins now."""
    stock: int | None
    stock_left: int | None
    message: str
    phase: Phase
    """What the opening in progress does; empty if there is none."""
    next_opening: NextOpening | None
    """The opening in progress, or else the next one; null if there is none."""

    @classmethod
    def of(cls, queue: QueueId, settings: QueueSettings, version: int, snapshot: QueueSnapshot) -> Glance:
        """A queue with its snapshot, as an answer."""
        wait = Forecast(settings, snapshot).wait(snapshot.waiting + 1)
        return cls(
            id=queue,
            name=settings.name or queue,
            ticket_prefix=settings.ticket_prefix or queue.upper(),
            version=version,
            status=settings.status,
            takes_more=refused_now(queue, settings, snapshot) is None,
            admission=settings.admission,
            admission_rate=settings.admission_rate,
            max_active=settings.max_active,
            max_queue_size=settings.max_queue_size,
            waiting=snapshot.waiting,
            admitted=snapshot.admitted,
            active=snapshot.active,
            estimated_wait_seconds=round(wait.seconds) if wait else None,
            stock=settings.stock,
            stock_left=snapshot.stock_left(settings.stock),
            message=settings.message,
            phase=settings.phase,
            next_opening=NextOpening.of(settings),
        )


class GlanceList(Struct, frozen=True):
    """All queues at a glance, by id."""

    queues: list[Glance]

    @property
    def steady(self) -> GlanceList:
        """The part that must change before the data is sent again."""
        return self


class QueueNow(Struct, frozen=True):
    """A queue at this moment: its settings and its statistics."""

    glance: Glance
    stats: StatsAnswer

    @property
    def steady(self) -> QueueNow:
        """The part that must change before the data is sent again: everything but the time."""
        return QueueNow(self.glance, msgspec.structs.replace(self.stats, at=moment(0)))
