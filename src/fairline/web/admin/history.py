"""The calls about the history of a queue's settings: read it, and restore an earlier version."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairline.service.history import REVISIONS, Change
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.queue_wire import AdminQueue
from fairline.web.admin.queues import expected_version, queue_answer
from fairline.web.admin.wire import Nothing, Version, limit_query
from fairline.web.api.wire import moment
from fairline.web.server.compression import Compression
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query

USUAL_REVISIONS = 50


class By(Struct, frozen=True):
    """The admin key that made a change."""

    id: str
    name: str
    """The current name of the key; empty if the key was removed."""


class RevisionAnswer(Struct, frozen=True):
    """One change of the settings."""

    version: int
    at: datetime
    by: By | None
    """Null if Fairline itself made the change: the first queue, or stock from `stock_url`."""
    changes: dict[str, Change] | None
    """The changed settings; null if the version before it is no longer stored."""


class RevisionList(Struct, frozen=True):
    """A page of changes, newest first. `cursor` is the `before` of the next page, null at the end."""

    revisions: list[RevisionAnswer]
    cursor: int | None


class History(OperatorCalls):
    """The calls about the history of settings."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/history",
                "Who changed which settings and when, newest first.",
                self.all,
                {200: RevisionList},
                compression=Compression.EACH,
                query=(
                    Query("before", Version, "only versions before this one: the cursor of the page before"),
                    limit_query(REVISIONS, USUAL_REVISIONS),
                ),
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/history/{version}/restore",
                "Restore all settings of a version. To undo the last change, restore the version before it.",
                self.restore,
                {200: AdminQueue},
                takes=Nothing,
                headers=("If-Match",),
                problems=("settings_changed", "invalid_settings"),
            ),
        ]

    async def all(self, call: Call) -> Response:
        """A page of the history."""
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
        """Restore a version, which is a change like any other."""
        call.take(Nothing)
        queue, to = call.queue, call.version("version", call.request.params["version"])
        configured = await self._service.restore(queue, to, await expected_version(self._service, call), call.staff.id)
        await call.record("queue.restored", restored=to, version=configured.version)
        return await queue_answer(self._service, queue, configured)
