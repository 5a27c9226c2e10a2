"""The history of a queue's settings, and the way back."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairline.service.history import REVISIONS, Change
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.queue_wire import AdminQueue
from fairline.web.admin.queues import expected_version, told
from fairline.web.admin.wire import Nothing, Version, limit_query
from fairline.web.api.wire import moment
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query

USUAL_REVISIONS = 50


class By(Struct, frozen=True):
    """Whose key it was."""

    id: str
    name: str
    """As the key is called now; empty where it is gone."""


class RevisionAnswer(Struct, frozen=True):
    """One change of the settings."""

    version: int
    at: datetime
    by: By | None
    """Null where it was Fairline itself: the first queue, or stock from `stock_url`."""
    changes: dict[str, Change] | None
    """What it changed, by setting; null where the version before it is not kept any more."""


class RevisionList(Struct, frozen=True):
    """Some changes, newest first, and the version to go on before; null at the end."""

    revisions: list[RevisionAnswer]
    cursor: int | None


class History(OperatorCalls):
    """What became of a queue's settings."""

    def rows(self) -> list[Operation]:
        """Its calls."""
        row = self._operators.row
        return [
            row(
                Role.VIEWER,
                "GET /queues/{queue}/history",
                "Who changed which settings and when, newest first.",
                self.all,
                {200: RevisionList},
                query=(
                    Query("before", Version, "only versions before this one: the cursor of the page before"),
                    limit_query(REVISIONS, USUAL_REVISIONS),
                ),
            ),
            row(
                Role.OPERATOR,
                "POST /queues/{queue}/history/{version}/restore",
                "Set everything as it was at a version. To undo the last change, restore the version before it.",
                self.restore,
                {200: AdminQueue},
                takes=Nothing,
                headers=("If-Match",),
                problems=("settings_changed", "invalid_settings"),
            ),
        ]

    async def all(self, call: Call) -> Response:
        """The history, a page at a time."""
        text = call.request.args.get("before")
        before = None if text is None else call.version("before", text)
        past = await self._service.history(call.queue, before, call.limit(REVISIONS, USUAL_REVISIONS))
        names = {key.id: key.name for key in await self._operators.access.keys.all()}
        revisions = [
            RevisionAnswer(
                version=revision.version,
                at=moment(revision.at),
                by=By(revision.by, names.get(revision.by, "")) if revision.by else None,
                changes=changes,
            )
            for revision, changes in ((each.revision, each.changes) for each in past.changed)
        ]
        return private(200, RevisionList(revisions, past.cursor))

    async def restore(self, call: Call) -> Response:
        """Go back, which is a change like any other."""
        call.take(Nothing)
        queue, to = call.queue, call.version("version", call.request.params["version"])
        configured = await self._service.restore(queue, to, await expected_version(self._service, call), call.staff.id)
        await call.record("queue.restored", restored=to, version=configured.version)
        return await told(self._service, queue, configured)
