"""The call that reads the audit log: what was done with admin keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from fairline.service.fairline import PAGE
from fairline.store import AuditEntry, Role
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.admin.wire import Cursor, limit_query
from fairline.web.api.wire import moment
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query, QueueName

USUAL_ENTRIES = 50


class Actor(Struct, frozen=True):
    """An admin key as it was when it was used."""

    id: str
    name: str
    role: Role


class EntryAnswer(Struct, frozen=True, kw_only=True):
    """One action."""

    id: str
    at: datetime
    key: Actor
    action: str
    """The name that it has in the log, such as `queue.configured`."""
    queue: str | None
    ticket: int | None
    detail: dict[str, Any]
    request_id: str
    """The id that the answer had in `X-Request-Id` and the log has."""

    @classmethod
    def of(cls, entry: AuditEntry) -> EntryAnswer:
        """An entry of the store as an answer."""
        audited = entry.audited
        return cls(
            id=entry.id,
            at=moment(entry.at),
            key=Actor(audited.key, audited.name, audited.role),
            action=audited.action,
            queue=audited.queue,
            ticket=audited.ticket,
            detail=audited.detail,
            request_id=audited.request_id,
        )


class EntryList(Struct, frozen=True):
    """A page of the audit log, newest first. `cursor` is the `before` of the next page, null at the end."""

    entries: list[EntryAnswer]
    cursor: str | None


class Audit(OperatorCalls):
    """The call about the audit log."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.OPERATOR,
                "GET /audit",
                "What was done with admin keys, newest first.",
                self.all,
                {200: EntryList},
                query=(
                    Query(
                        "queue",
                        QueueName,
                        "only actions on this queue, which may have been deleted since",
                        "must be the id of a queue",
                    ),
                    Query("before", Cursor, "only entries before this one: the cursor of the page before"),
                    limit_query(PAGE, USUAL_ENTRIES),
                ),
            )
        ]

    async def all(self, call: Call) -> Response:
        """A page of the audit log."""
        args, limit = call.request.args, call.limit(PAGE, USUAL_ENTRIES)
        registry = self._service.store.registry
        found = await registry.audit(args.get("queue") or None, args.get("before") or None, limit + 1)
        cursor = found[limit - 1].id if len(found) > limit else None
        return private(200, EntryList([*map(EntryAnswer.of, found[:limit])], cursor))
