"""The audit log: what was done with admin keys, as operators read it."""

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
    """One thing that was done."""

    id: str
    at: datetime
    key: Actor
    action: str
    """By the name it has in the log, such as `queue.configured`."""
    queue: str | None
    ticket: int | None
    detail: dict[str, Any]
    request_id: str
    """As the answer had it in `X-Request-Id`, and the log has it."""

    @classmethod
    def of(cls, entry: AuditEntry) -> EntryAnswer:
        """An entry as operators see it."""
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
    """Some of the audit log, newest first, and the entry to go on before; null at the end."""

    entries: list[EntryAnswer]
    cursor: str | None


class Audit(OperatorCalls):
    """What operators read of what operators did."""

    def rows(self) -> list[Operation]:
        """Its call."""
        return [
            self._operators.row(
                Role.OPERATOR,
                "GET /audit",
                "What was done with admin keys, newest first.",
                self.all,
                {200: EntryList},
                query=(
                    Query(
                        "queue",
                        QueueName,
                        "only what was done to this queue; it may be gone by now",
                        "must be the id of a queue",
                    ),
                    Query("before", Cursor, "only entries before this one: the cursor of the page before"),
                    limit_query(PAGE, USUAL_ENTRIES),
                ),
            )
        ]

    async def all(self, call: Call) -> Response:
        """The audit log, a page at a time."""
        args, limit = call.request.args, call.limit(PAGE, USUAL_ENTRIES)
        registry = self._service.store.registry
        found = await registry.audit(args.get("queue") or None, args.get("before") or None, limit + 1)
        cursor = found[limit - 1].id if len(found) > limit else None
        return private(200, EntryList([*map(EntryAnswer.of, found[:limit])], cursor))
