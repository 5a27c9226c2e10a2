"""What all calls of operators have in common: the check of the admin key, the arguments, and the audit log."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from fairline.domain.queue import QueueId
from fairline.errors import InvalidRequest, KeyMissing, SignedOut
from fairline.service.walk_in import WalkIn
from fairline.store import AdminKey, Role
from fairline.web.admin.access import SIGN_IN, Access
from fairline.web.admin.audit_record import AuditRecorder
from fairline.web.admin.wire import LARGEST_TICKET
from fairline.web.api.people import named_queue
from fairline.web.context import Context
from fairline.web.server.compression import Compression
from fairline.web.server.http import NO_STORE, Request, Response, Sent
from fairline.web.server.operations import Operation, Query

B = TypeVar("B", bound=Struct)

BASE = "/api/v1/admin"
#: The answer without a body.
DONE = Response(204, headers=NO_STORE)

_NUMBER = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)
_KEY_PROBLEMS = ("key_missing", "key_invalid", "signed_out", "forbidden", "cross_site", "rate_limited")
_PATH_PROBLEMS = {
    "queue": "queue_not_found",
    "ticket": "ticket_not_found",
    "version": "revision_not_found",
    "opening": "opening_not_found",
    "webhook": "webhook_not_found",
    "delivery": "delivery_not_found",
}


class Call:
    """One call of an operator: the request, the admin key it came with, and the arguments in its path."""

    __slots__ = ("_audit_recorder", "_began", "request", "staff")

    def __init__(self, request: Request, staff: AdminKey, audit_recorder: AuditRecorder, began: float) -> None:
        self.request = request
        self.staff = staff
        self._audit_recorder = audit_recorder
        self._began = began

    @property
    def queue(self) -> QueueId:
        """The queue in the path."""
        return named_queue(self.request.params["queue"])

    @property
    def number(self) -> int:
        """The ticket number in the path."""
        text = self.request.params["ticket"]
        if not _NUMBER.fullmatch(text) or int(text) > LARGEST_TICKET:
            raise InvalidRequest("ticket", f"must be the number of a ticket, such as 123; got {text!r:.80}")
        return int(text)

    def take(self, kind: type[B]) -> B:
        """The body, decoded as a type. A missing body counts as an empty object."""
        if not self.request.body:
            self.request.body = b"{}"
        decoder: msgspec.json.Decoder[B] = _decoder(kind)
        return self.request.decode(decoder)

    def limit(self, most: int, usual: int) -> int:
        """The `limit` of the query."""
        text = self.request.args.get("limit", str(usual))
        if not _NUMBER.fullmatch(text) or int(text) > most:
            raise InvalidRequest("limit", f"must be a whole number from 1 to {most}; got {text!r:.80}")
        return int(text)

    def version(self, name: str, text: str) -> int:
        """A version of the settings in the path or the query."""
        if not _NUMBER.fullmatch(text):
            raise InvalidRequest(name, f"must be a version of the settings; got {text!r:.80}")
        return int(text)

    async def record(self, action: str, /, **fields: Any) -> None:
        """Record an action, its key and its duration in the log and in the audit log. Among the fields, `queue` is by
        default the one in the path, and `ticket` is the ticket that was acted on."""
        await self._audit_recorder.record(self.staff, action, **self._with_context(fields))

    def log(self, event: str, /, **fields: Any) -> None:
        """Record in the log a call that changed nothing."""
        self._audit_recorder.log(self.staff, event, **self._with_context(fields))

    def _with_context(self, fields: dict[str, Any]) -> dict[str, Any]:
        queue = self.request.params.get("queue")
        took = round((time.perf_counter() - self._began) * 1000, 1)
        return {**({"queue": queue} if queue else {}), **fields, "duration_ms": took, "request_id": self.request.id}


StaffHandler = Callable[[Call], Awaitable[Sent]]


class Operators:
    """Creates the operations of the operators' API. The role of an operation is enforced here, and nowhere else."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.service = context.service
        self.walk_in = WalkIn(context.service)
        self.access = Access(context)
        self.audit_recorder = AuditRecorder(context.service.store.registry)

    def row(
        self,
        role: Role,
        call: str,
        about: str,
        do: StaffHandler,
        answers: dict[int, Any],
        *,
        takes: Any = None,
        problems: tuple[str, ...] = (),
        query: tuple[Query, ...] = (),
        headers: tuple[str, ...] = (),
        also: tuple[str, ...] = (),
        streams: bool = False,
        compression: Compression = Compression.NEVER,
    ) -> Operation:
        """One operation, such as 'GET /queues/{queue}', for keys of this role and above. An operation that may answer
        with a stream runs on the fast path, which ends its streams when the server stops."""
        method, _, path = call.partition(" ")

        async def guarded(request: Request) -> Sent:
            began = time.perf_counter()
            try:
                staff = await self.access.check(request, role)
            except (KeyMissing, SignedOut):
                if not _is_opened_in_a_browser(request):
                    raise
                return _to_sign_in(request)
            return await do(Call(request, staff, self.audit_recorder, began))

        named = tuple(code for param, code in _PATH_PROBLEMS.items() if f"{{{param}}}" in path)
        return Operation(
            f"{method} {BASE}{path}",
            about,
            group="operators",
            fast=guarded if streams else None,
            slow=None if streams else guarded,
            takes=takes,
            takes_optional=takes is None or not any(field.required for field in msgspec.structs.fields(takes)),
            answers=answers,
            problems=(*_KEY_PROBLEMS, *named, *problems),
            query=query,
            headers=headers,
            also=also,
            role=role,
            compression=compression,
        )


class OperatorCalls(ABC):
    """A group of the operators' calls."""

    def __init__(self, operators: Operators) -> None:
        self._operators = operators
        self._row = operators.row
        self._service = operators.service
        self._walk_in = operators.walk_in

    @abstractmethod
    def rows(self) -> list[Operation]:
        """The operations of this class."""


def _is_opened_in_a_browser(request: Request) -> bool:
    """Whether someone followed a link to a call, such as that to a report; the scripts of the pages ask for JSON."""
    return request.method == "GET" and "text/html" in (request.text(b"accept") or "")


def _to_sign_in(request: Request) -> Response:
    """To the page for signing in, which leads back here."""
    wanted = f"{request.path}?{request.query.decode('ascii', 'replace')}" if request.query else request.path
    return Response(303, headers=(*NO_STORE, (b"location", f"{SIGN_IN}?next={quote(wanted, safe='/')}".encode())))


@lru_cache
def _decoder(kind: type[B]) -> msgspec.json.Decoder[B]:
    return msgspec.json.Decoder(kind)
