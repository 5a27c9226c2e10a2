"""Queues as they were a moment ago: read once a second, however many ask."""

from __future__ import annotations

import asyncio
import time

from msgspec import Struct

from fairline.estimate import Forecast
from fairline.queue import QueueId, QueueSettings, QueueStatus, QueueView
from fairline.room import Room
from fairline.terms import refused_now
from fairline.web.wire import QueueAnswer, moment

#: How long the state of a queue is good for, in caches and here.
FRESH_SECONDS = 1.0


class State(Struct, frozen=True):
    """A queue at a moment: what it is set to, and what everyone may see of it."""

    settings: QueueSettings
    told: QueueAnswer


class Recent:
    """The states of queues."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._states: dict[QueueId, tuple[float, State]] = {}
        self._reading: dict[QueueId, asyncio.Task[State]] = {}

    async def state(self, queue: QueueId) -> State:
        """The state of a queue, at most a second old; QueueNotFound where there is none."""
        read_at, state = self._states.get(queue, (0.0, None))
        if state is not None and time.monotonic() - read_at <= FRESH_SECONDS:
            return state
        reading = self._reading.get(queue)
        if reading is None:
            reading = self._reading[queue] = asyncio.ensure_future(self._read(queue))
            reading.add_done_callback(lambda task: self._have_read(queue, task))
        return await asyncio.shield(reading)

    def _have_read(self, queue: QueueId, task: asyncio.Task[State]) -> None:
        del self._reading[queue]
        if not task.cancelled():
            task.exception()  # seen to, even where nobody waits for it any more

    async def _read(self, queue: QueueId) -> State:
        self._states.pop(queue, None)
        view, settings = await self._room.view(queue)
        state = State(settings, _told(queue, view, settings))
        self._states[queue] = (time.monotonic(), state)
        return state


def _told(queue: QueueId, view: QueueView, settings: QueueSettings) -> QueueAnswer:
    wait = Forecast(settings, view).wait(view.waiting + 1)
    calendar, now = settings.calendar, view.now
    opens = calendar.opens_at(now) if calendar.limited else None
    closes = calendar.closes_at(now) if calendar.limited else None
    takes_people = refused_now(queue, settings, view) is None
    closed = not takes_people or settings.status is QueueStatus.MAINTENANCE
    return QueueAnswer(
        id=queue,
        name=settings.name or queue,
        status=settings.status,
        queue_length=view.waiting,
        admission_rate=settings.admission_rate,
        now_serving=view.inside,
        estimated_wait_seconds=round(wait.seconds) if wait else None,
        sold_out=view.sold_out(settings.stock),
        stock_unknown=settings.stock_unknown,
        message=(settings.closed_message if closed else "") or settings.message,
        open=takes_people,
        opens_at=moment(opens) if opens else None,
        closes_at=moment(closes) if closes else None,
    )
