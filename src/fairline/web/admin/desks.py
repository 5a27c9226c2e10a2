"""The calls about the desks of a queue: which are open, and what each has done."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from fairline.store import DeskState, DeskTallies, DeskTotals, Role
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.wire import rounded, when
from fairline.web.api.wire import Strict, moment
from fairline.web.server.compression import Compression
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class SetDesk(Strict, frozen=True):
    """A desk to open or close."""

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    open: bool


class DeskAnswer(Struct, frozen=True, kw_only=True):
    """A desk."""

    name: str
    open: bool
    """It has called recently or was opened, and was not closed since."""
    since: datetime | None
    """When it last called, opened or closed."""

    @classmethod
    def of(cls, desk: DeskState) -> DeskAnswer:
        """A desk of the store as an answer."""
        return cls(name=desk.name, open=desk.open, since=when(desk.since))


class DeskList(Struct, frozen=True):
    """The desks of a queue, by name."""

    desks: list[DeskAnswer]


class DeskFiguresAnswer(Struct, frozen=True, kw_only=True):
    """What one desk did over some time. An average is null if there is nothing to average."""

    name: str
    called: int
    served: int
    no_shows: int
    average_wait_seconds: float | None
    """From joining to the call, for the people it called."""
    average_claim_seconds: float | None
    """From the call until the people came."""
    average_service_seconds: float | None
    """From when the people came until they were done."""
    claim_seconds: float
    service_seconds: float

    @classmethod
    def all(cls, desks: dict[str, DeskTotals]) -> list[DeskFiguresAnswer]:
        """The statistics of desks, by name."""
        return [
            cls(
                name=name,
                called=of.called,
                served=of.served,
                no_shows=of.no_shows,
                average_wait_seconds=rounded(of.wait_seconds / of.called) if of.called else None,
                average_claim_seconds=rounded(of.claim_seconds / of.came) if of.came else None,
                average_service_seconds=rounded(of.service_seconds / of.served) if of.served else None,
                claim_seconds=of.claim_seconds,
                service_seconds=of.service_seconds,
            )
            for name, of in desks.items()
        ]


class DeskHourAnswer(Struct, frozen=True, kw_only=True):
    """What the desks did in one hour."""

    start: datetime
    desks: list[DeskFiguresAnswer]


class DeskStats(Struct, frozen=True, kw_only=True):
    """What the desks did in total, and in each hour, oldest first."""

    desks: list[DeskFiguresAnswer]
    hours: list[DeskHourAnswer]

    @classmethod
    def of(cls, figures: DeskTallies) -> DeskStats:
        """The statistics of the store as an answer."""
        hours = [DeskHourAnswer(start=moment(h.start), desks=DeskFiguresAnswer.all(h.desks)) for h in figures.hours]
        return cls(desks=DeskFiguresAnswer.all(figures.totals), hours=hours)


class Desks(OperatorCalls):
    """The calls about desks."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER, "GET /queues/{queue}/desks", "The desks, and which are open.", self.all, {200: DeskList}
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/desks",
                "Open or close a desk. A desk that calls someone opens by itself.",
                self.set,
                {200: DeskList},
                takes=SetDesk,
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/stats/desks",
                "What each desk did, in total and by hour.",
                self.stats,
                {200: DeskStats},
                compression=Compression.EACH,
            ),
        ]

    async def all(self, call: Call) -> Response:
        """The desks, by name."""
        return private(200, DeskList([*map(DeskAnswer.of, await self._walk_in.desks(call.queue))]))

    async def set(self, call: Call) -> Response:
        """Open or close a desk."""
        body = call.take(SetDesk)
        desks = await self._walk_in.set_desk(call.queue, body.name, is_open=body.open)
        await call.record("desk.opened" if body.open else "desk.closed", desk=body.name)
        return private(200, DeskList([*map(DeskAnswer.of, desks)]))

    async def stats(self, call: Call) -> Response:
        """What each desk did."""
        return private(200, DeskStats.of(await self._walk_in.desk_tallies(call.queue)))
