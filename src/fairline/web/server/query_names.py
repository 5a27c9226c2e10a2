"""Refuses unknown query parameters, for every call on the fast path and on ASGI: otherwise a misspelt name would have
no effect and nobody would notice. A value that breaks the rule of its parameter is refused too."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairline.errors import InvalidRequest
from fairline.web.server.head import MOST_FIELDS
from fairline.web.server.http import Outcome, Request, Response, Sent
from fairline.web.server.operations import Operation, Query
from fairline.web.server.problems import failure


def strict(row: Operation) -> Operation:
    """The operation, with a handler that refuses unknown query parameters and wrong values."""
    if row.any_query:
        return row
    refusal, fast, slow = _refusal_by(row), row.fast, row.slow

    def answer(request: Request) -> Outcome:
        assert fast is not None
        head = request.head
        if not head.query_allowed:
            if refused := refusal(request) if head.query else None:
                return refused
            head.query_allowed = True
        return fast(request)

    async def answer_slowly(request: Request) -> Sent:
        assert slow is not None
        return (refusal(request) if request.query else None) or await slow(request)

    return msgspec.structs.replace(row, fast=answer if fast else None, slow=answer_slowly if slow else None)


def _refusal_by(row: Operation) -> Callable[[Request], Response | None]:
    """A function that returns the refusal for a query with an unknown name or a wrong value, or None."""
    known_names = frozenset(row.query_names)
    available = ", ".join(row.query_names) or "none"
    ruled = [query for query in row.query if query.rule]

    def refusal(request: Request) -> Response | None:
        if request.query.count(b"&") >= MOST_FIELDS:
            return refused(request, "", f"The query has more than {MOST_FIELDS} fields.")
        unknown = next((name for name in request.args if name not in known_names), None)
        if unknown is not None:
            problem = f"is not a query parameter of this call. There are: {available}."
            return refused(request, unknown[:80], problem)
        for query in ruled:
            text = request.args.get(query.name)
            if text is not None and not _allows(query, text):
                return refused(request, query.name, f"{query.rule}; got {text!r:.80}")
        return None

    def refused(request: Request, name: str, problem: str) -> Response:
        return failure(request, InvalidRequest(name, problem), status=row.refuses_with)

    return refusal


def _allows(query: Query, text: str) -> bool:
    try:
        msgspec.convert(text, query.type)
    except msgspec.ValidationError:
        return False
    return True
