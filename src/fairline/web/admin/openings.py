"""The calls about openings: plan, change, preview and delete the scheduled starts of a queue."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from fairline.domain.opening import LONGEST_GRACE_SECONDS, YEARS, After, DrawKind, Opening, OpeningState, in_known_years
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import SETTINGS, Settings
from fairline.errors import InvalidRequest
from fairline.service.draws import draw_id
from fairline.service.openings import OpeningAt, Openings
from fairline.store import Role
from fairline.web.admin.operator_call import BASE, Call, OperatorCalls, Operators
from fairline.web.admin.queues import etag, expected_version
from fairline.web.api.wire import Strict
from fairline.web.server.http import NO_STORE, Headers, Response, private
from fairline.web.server.operations import Operation

Name = Annotated[str, Meta(max_length=200)]
Grace = Annotated[int, Meta(ge=0, le=LONGEST_GRACE_SECONDS)]
Amount = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class NewOpening(Strict, frozen=True):
    """An opening to plan. Times are in RFC 3339."""

    starts_at: datetime
    """When people are let in. With a draw, the order is drawn then."""
    name: Name = ""
    prequeue_at: datetime | None = None
    """From when people can join, in no order yet. Needed with a draw."""
    ends_at: datetime | None = None
    """When it ends; null lasts until the opening is deleted."""
    draw: DrawKind = DrawKind.NONE
    """`random` draws the order of those who joined before the start; `none` goes by when they came."""
    draw_grace_seconds: Grace = 0
    """Who joins this many seconds after the start is still in the draw."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Any settings of the queue: in force from the beginning of the opening to its end. The others stay as they are."""
    add_stock: Amount | None = None
    """How much is added to the stock at the start; it stays when the opening ends. If `settings` has a `stock`, the end
    brings back the stock from before, without what was added."""
    recheck_inside: bool = False
    """Whether the sessions of people who got in before end at the start."""
    after: After = After.RESTORE
    """What its end does: `restore` the settings from before it, or `close` the queue (maintenance)."""


class OpeningChanges(Strict, frozen=True):
    """The fields of an opening to change. The others stay as they are."""

    starts_at: datetime | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    prequeue_at: datetime | UnsetType | None = UNSET
    ends_at: datetime | UnsetType | None = UNSET
    draw: DrawKind | UnsetType = UNSET
    draw_grace_seconds: Grace | UnsetType = UNSET
    settings: dict[str, Any] | UnsetType = UNSET
    add_stock: Amount | UnsetType | None = UNSET
    recheck_inside: bool | UnsetType = UNSET
    after: After | UnsetType = UNSET


class OpeningAnswer(Struct, kw_only=True, frozen=True):
    """An opening."""

    id: str
    name: str
    state: OpeningState
    """`scheduled`, then `prequeue` if it has one, `drawing` while its order is drawn, `open` and `ended`."""
    prequeue_at: datetime | None
    starts_at: datetime
    ends_at: datetime | None
    draw: DrawKind
    draw_grace_seconds: int
    settings: dict[str, Any]
    add_stock: int | None
    recheck_inside: bool
    after: After
    count: int
    """How many people were drawn."""
    missed: bool
    """It ended without having begun, because Fairline was down in all that time."""
    draw_id: str | None
    """The id of its draw, for `/api/v1/draws/{draw}`; null without a draw, and before its pre-queue."""


class OpeningList(Struct, frozen=True):
    """The openings of a queue, by when they begin."""

    openings: list[OpeningAnswer]


def opening_answer(queue: QueueId, opening: Opening) -> OpeningAnswer:
    """An opening as it is answered."""
    fields = {name: getattr(opening, name) for name in OpeningAnswer.__struct_fields__ if name != "draw_id"}
    has_draw = opening.drawn and opening.state is not OpeningState.SCHEDULED and not opening.missed
    return OpeningAnswer(**fields, draw_id=draw_id(queue, opening.id) if has_draw else None)


class OpeningCalls(OperatorCalls):
    """The calls about openings."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._openings = Openings(operators.service)

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        one = {200: OpeningAnswer}
        refused = ("settings_changed", "invalid_settings", "opening_overlaps")
        changed = (*refused, "draw_under_way")
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/openings",
                "The openings of a queue: those to come, the one in progress, and the last that have ended.",
                self.all,
                {200: OpeningList},
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/openings",
                "Plan an opening.",
                self.create,
                {201: OpeningAnswer},
                takes=NewOpening,
                headers=("If-Match",),
                problems=(*refused, "too_many_openings"),
            ),
            self._row(Role.VIEWER, "GET /queues/{queue}/openings/{opening}", "One opening.", self.one, one),
            self._row(
                Role.OPERATOR,
                "PATCH /queues/{queue}/openings/{opening}",
                "Change the fields given. Of an opening in progress, what lies ahead can be changed.",
                self.change,
                one,
                takes=OpeningChanges,
                headers=("If-Match",),
                problems=changed,
            ),
            self._row(
                Role.OPERATOR,
                "DELETE /queues/{queue}/openings/{opening}",
                "Delete an opening. One that is in progress is over: the settings from before it are in force again.",
                self.delete,
                {204: None},
                headers=("If-Match",),
                problems=("settings_changed", "draw_under_way"),
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/openings/{opening}/preview",
                "The settings of the queue as they will be while the opening is in progress.",
                self.preview,
                {200: Settings},
            ),
        ]

    async def all(self, call: Call) -> Response:
        """The openings of a queue."""
        found = await self._openings.all(call.queue)
        return private(200, OpeningList([opening_answer(call.queue, each) for each in found]))

    async def one(self, call: Call) -> Response:
        """One opening."""
        return self._answer(call, await self._openings.one(call.queue, _id(call)))

    async def create(self, call: Call) -> Response:
        """Plan an opening."""
        fields = _fields(call.take(NewOpening))
        version = await expected_version(self._service, call)
        found = await self._openings.create(call.queue, fields, version, call.staff.id)
        await call.record("opening.planned", opening=found.opening.id, version=found.configured.version)
        location = (b"location", f"{BASE}/queues/{call.queue}/openings/{found.opening.id}".encode())
        return self._answer(call, found, 201, (location,))

    async def change(self, call: Call) -> Response:
        """Change the fields given."""
        fields = _fields(call.take(OpeningChanges))
        version = await expected_version(self._service, call)
        found = await self._openings.change(call.queue, _id(call), fields, version, call.staff.id)
        changed = {"fields": sorted(fields), "version": found.configured.version}
        await call.record("opening.changed", opening=found.opening.id, **changed)
        return self._answer(call, found)

    async def delete(self, call: Call) -> Response:
        """Delete an opening."""
        version = await expected_version(self._service, call)
        configured = await self._openings.delete(call.queue, _id(call), version, call.staff.id)
        await call.record("opening.deleted", opening=_id(call), version=configured.version)
        return Response(204, headers=(*NO_STORE, etag(configured.version)))

    async def preview(self, call: Call) -> Response:
        """The settings during an opening."""
        settings = await self._openings.preview(call.queue, _id(call))
        return private(200, Settings(**{name: getattr(settings, name) for name in SETTINGS}))

    def _answer(self, call: Call, found: OpeningAt, status: int = 200, headers: Headers = ()) -> Response:
        content = opening_answer(call.queue, found.opening)
        return private(status, content, (etag(found.configured.version), *headers))


def _id(call: Call) -> str:
    return call.request.params["opening"]


def _fields(body: Struct) -> dict[str, Any]:
    """The fields that were given, with all times in UTC."""
    given = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    for name, value in given.items():
        if isinstance(value, datetime):
            if value.tzinfo is None:
                problem = "must be a time with its offset, such as 2027-01-15T09:00:00Z or 2027-01-15T10:00:00+01:00"
                raise InvalidRequest(name, problem)
            if not in_known_years(value):
                raise InvalidRequest(name, f"must be in the years {YEARS[0]} to {YEARS[-1]}")
            given[name] = value.astimezone(UTC)
    return given
