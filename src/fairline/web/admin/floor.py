"""The call behind the page of a desk: who waits, is called, is served, is on hold or did not come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueStatus
from fairline.domain.ticket import Ticket
from fairline.service.fairline import PAGE
from fairline.service.join_calendar import refused_now
from fairline.service.walk_in import WalkInSnapshot
from fairline.store import Role
from fairline.web.admin.desks import DeskAnswer
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.ticket_wire import AdminTicket
from fairline.web.admin.wire import limit_query
from fairline.web.api.wire import moment
from fairline.web.pages.languages import Language
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation

USUAL_FLOOR = 50


class FloorAnswer(Struct, frozen=True, kw_only=True):
    """A walk-in line at a moment. Lists have only their first tickets; `missed` has today's newest, by the queue's time
    zone."""

    queue: str
    name: str
    at: datetime
    """The time of the server's clock, as all times here."""
    status: QueueStatus
    takes_more: bool
    """Whether people can join now, by the opening hours and the time left."""
    named_desks: list[str]
    """The names that desks may have. If empty, any name is allowed."""
    series: list[str]
    series_texts: dict[str, str]
    """What each series is for, in English, if the queue's `texts` say so."""
    claim_seconds: float
    desks: list[DeskAnswer]
    waiting: int
    """The number of all people who wait, not only of those listed. The same holds for `on_hold_count`."""
    on_hold_count: int
    line: list[AdminTicket]
    on_hold: list[AdminTicket]
    called: list[AdminTicket]
    serving: list[AdminTicket]
    missed: list[AdminTicket]
    """People who were called and did not come. Records are kept for `retain_seconds`."""

    @classmethod
    def of(cls, queue: QueueId, floor: WalkInSnapshot) -> FloorAnswer:
        """A walk-in line of the service as an answer."""
        settings, snapshot = floor.settings, floor.snapshot
        words = Language(LANGUAGES[0], settings.texts, walk_in=True)

        def shown(tickets: Sequence[Ticket]) -> list[AdminTicket]:
            return [AdminTicket.of(queue, ticket, settings, snapshot.now, None) for ticket in tickets]

        return cls(
            queue=queue,
            name=settings.name or queue,
            at=moment(snapshot.now),
            status=settings.status,
            takes_more=refused_now(queue, settings, snapshot) is None,
            named_desks=list(settings.desks),
            series=list(settings.series),
            series_texts={name: words.series(name) for name in settings.series if words.series(name) != name},
            claim_seconds=settings.claim_seconds,
            desks=[*map(DeskAnswer.of, floor.desks)],
            waiting=snapshot.waiting,
            on_hold_count=snapshot.on_hold,
            line=shown(floor.line),
            on_hold=shown(floor.on_hold),
            called=shown(floor.called),
            serving=shown(floor.serving),
            missed=shown(floor.missed),
        )


class Floors(OperatorCalls):
    """The call behind the page of a desk."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/floor",
                "A walk-in line at a glance: its desks, and who waits, is called, is served, is on hold or missed.",
                self.floor,
                {200: FloorAnswer},
                query=(limit_query(PAGE, USUAL_FLOOR, " of each"),),
                problems=("invalid_request",),
            )
        ]

    async def floor(self, call: Call) -> Response:
        """The walk-in line at this moment."""
        floor = await self._walk_in.snapshot(call.queue, call.limit(PAGE, USUAL_FLOOR))
        return private(200, FloorAnswer.of(call.queue, floor))
