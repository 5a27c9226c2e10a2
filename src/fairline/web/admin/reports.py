"""The call for the report of an event, in total and by hour, as JSON, CSV or a page to print."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from fairline.domain.opening import Opening
from fairline.domain.queue import QueueId
from fairline.errors import InvalidRequest
from fairline.store import Role
from fairline.store.constants import MINUTES_KEPT
from fairline.web.admin.desks import DeskStats
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.report_csv import CSV, csv_by_desk, csv_by_hour, download
from fairline.web.admin.report_page import HTML, ReportPage
from fairline.web.admin.report_span import MINUTE_MS, day_in_query, hours_in_query, opening_in_query
from fairline.web.admin.report_wire import OpeningReport, ReportAnswer, report_answer
from fairline.web.pages.languages import staff_language
from fairline.web.server.compression import Compression
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query
from fairline.web.server.preferred_language import chosen

Form = Literal["json", "csv", "html"]
Line = Literal["hour", "desk"]
_Time = Annotated[str, Meta(max_length=40, extra_json_schema={"format": "date-time"})]


class Reports(OperatorCalls):
    """The call for the report of an event."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._page = ReportPage(self._service)

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/report",
                "The report of an event, in total and by hour: as JSON, as CSV, or as a page to print.",
                self.report,
                {200: ReportAnswer},
                compression=Compression.EACH,
                query=(
                    Query(
                        "day",
                        Annotated[str, Meta(pattern="^(today|yesterday|[0-9]{4}-[0-9]{2}-[0-9]{2})?$")],
                        "one of the last nine days in the queue's time zone: today, yesterday, or a date",
                    ),
                    Query("opening", Annotated[str, Meta(max_length=40)], "the id of an opening: its hours"),
                    Query("from", _Time, "start, such as 2027-01-15T18:00:00Z; rounded down to a whole hour"),
                    Query("to", _Time, "end; rounded up to a whole hour"),
                    Query("format", Form, "json, csv or html; default json", "must be json, csv or html"),
                    Query(
                        "by", Line, "with format=csv: hour for one line per hour, desk for one line per desk and hour"
                    ),
                ),
                problems=("invalid_request", "opening_not_found"),
                also=(CSV, HTML),
            )
        ]

    async def report(self, call: Call) -> Response:
        """The report in the requested format."""
        form = call.request.args.get("format", "json")
        by = call.request.args.get("by") or "hour"
        if by not in ("hour", "desk") or (by == "desk" and form != "csv"):
            raise InvalidRequest("by", f"must be hour, or desk with format=csv; got {by!r:.80}")
        snapshot, settings = await self._service.snapshot(call.queue)
        now = snapshot.now
        asked = opening_in_query(call, settings, now) or day_in_query(call, settings, now) or hours_in_query(call)
        report = await self._service.report(call.queue, asked.since, asked.until)
        figures = DeskStats.of(await self._walk_in.desk_tallies(call.queue, asked.since, asked.until))
        opening = await self._opening(call.queue, asked.opening, now) if asked.opening else None
        answer = report_answer(call.queue, settings, now, asked, report, figures, opening)
        if form == "csv":
            name = "-".join(
                [call.queue, *([str(asked.day)] if asked.day else []), "desks" if by == "desk" else "report"]
            )
            return download(f"{name}.csv", csv_by_desk(answer) if by == "desk" else csv_by_hour(answer))
        if form == "html":
            return await self._page.draw(staff_language(chosen(call.request)), answer, report, asked)
        return private(200, answer)

    async def _opening(self, queue: QueueId, opening: Opening, now: int) -> OpeningReport:
        """What an opening did, to the minute as long as its minutes are stored."""
        minutes = min(MINUTES_KEPT, (now - opening.begins_ms) // MINUTE_MS + 2)
        points = await self._service.series(queue, 1, minutes) if minutes > 0 else []
        return OpeningReport.of(queue, opening, now, points)
