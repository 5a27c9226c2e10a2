"""The calls about rehearsals: begin one, and see how it goes."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairline.domain.rehearsal import Rehearsal, RehearsalState, StepName
from fairline.service.rehearsal import Rehearsals
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.wire import Nothing
from fairline.web.api.wire import moment
from fairline.web.pages.languages import Language, staff_language
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation
from fairline.web.server.preferred_language import chosen


class RehearsalStepAnswer(Struct, frozen=True):
    """One thing that a rehearsal looked at."""

    step: StepName
    passed: bool
    title: str
    """What was looked at, in the language of the request, as `found`."""
    found: str


class RehearsalAnswer(Struct, frozen=True, kw_only=True):
    """A rehearsal of an opening."""

    state: RehearsalState
    began_at: datetime
    ended_at: datetime | None
    people: int
    """How many simulated people came."""
    steps: list[RehearsalStepAnswer]
    """What was looked at so far."""


class LastRehearsal(Struct, frozen=True):
    """The last rehearsal of an opening, or the one that is running; null if there was none."""

    rehearsal: RehearsalAnswer | None


class RehearsalCalls(OperatorCalls):
    """The calls about rehearsals."""

    def __init__(self, operators: Operators, rehearsals: Rehearsals) -> None:
        super().__init__(operators)
        self._rehearsals = rehearsals

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        path = "/queues/{queue}/openings/{opening}/rehearsal"
        return [
            self._row(
                Role.OPERATOR,
                f"POST {path}",
                "Begin a rehearsal: the opening in small, with simulated people, in a queue that is deleted then.",
                self.start,
                {202: RehearsalAnswer},
                takes=Nothing,
                problems=("rehearsal_running",),
            ),
            self._row(
                Role.VIEWER,
                f"GET {path}",
                "The last rehearsal of an opening, or how far the one is that is running.",
                self.last,
                {200: LastRehearsal},
            ),
        ]

    async def start(self, call: Call) -> Response:
        """Begin a rehearsal. It goes on after the answer."""
        call.take(Nothing)
        opening = call.request.params["opening"]
        rehearsal = await self._rehearsals.start(call.queue, opening)
        await call.record("opening.rehearsed", opening=opening)
        return private(202, rehearsal_answer(staff_language(chosen(call.request)), rehearsal))

    async def last(self, call: Call) -> Response:
        """How a rehearsal went, or how it is going."""
        found = await self._rehearsals.last(call.queue, call.request.params["opening"])
        t = staff_language(chosen(call.request))
        return private(200, LastRehearsal(rehearsal_answer(t, found) if found else None))


def rehearsal_answer(t: Language, rehearsal: Rehearsal) -> RehearsalAnswer:
    """A rehearsal as it is answered, in the words of a language."""
    return RehearsalAnswer(
        state=rehearsal.state,
        began_at=moment(rehearsal.began),
        ended_at=moment(rehearsal.ended) if rehearsal.ended else None,
        people=rehearsal.people,
        steps=[
            RehearsalStepAnswer(
                step.name, step.passed, t(f"rehearsed_{step.name}"), t(f"rehearsal_{step.found}", **step.values)
            )
            for step in rehearsal.steps
        ],
    )
