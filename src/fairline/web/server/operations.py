"""Every call of the API as one row: who answers it, what it takes and what it may answer.

The rows make the routes of both lanes and the OpenAPI page, so that neither can know of a call the other does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from fairline.domain.queue import ID_PATTERN
from fairline.store import Role
from fairline.web.server.fast_path import Route, Routed
from fairline.web.server.http import Handler, SlowHandler

EVENT_STREAM = "text/event-stream"

_PARAM = re.compile(r"{(\w+)}")

#: The parameter of the query that a token may come in, by the kind of token.
TOKEN_QUERIES = {"ticket": "token", "session": "fairline_session"}

#: Why nobody may join, or not now.
JOIN_REFUSALS = ("queue_not_found", "queue_full", "queue_maintenance", "queue_closed")
#: Why nobody may join whose site does not say who they are.
UNNAMED = ("user_token_missing", "user_token_invalid", "user_token_expired")
#: What an answer sends that brings a ticket.
TOKEN_COOKIE = {"Set-Cookie": "The token, for browsers."}


#: The id of a queue, as a query may have it.
QueueName = Annotated[str, Meta(pattern=f"^{ID_PATTERN}$")]


class Query(Struct, frozen=True):
    """A parameter of the query."""

    name: str
    type: Any
    about: str
    rule: str = ""
    """What it must be, in words: then it is refused before the call where its type does not allow it. Without, the call
    itself says what is wrong with it."""


class Operation(Struct, frozen=True):
    """One call."""

    name: str
    """Its method and its path, such as 'POST /api/v1/heartbeat'; so it is called in figures too."""
    about: str
    """One line: what it does."""
    group: str
    answers: dict[int, Any]
    """The type of its answer by status; None is an answer without a body."""
    fast: Handler | None = None
    slow: SlowHandler | None = None
    takes: Any = None
    """The type of its body, if it has one; an empty body is allowed where all fields have defaults."""
    takes_optional: bool = True
    media: str = "application/json"
    also: tuple[str, ...] = ()
    """Other types of text it may answer with, if asked to."""
    problems: tuple[str, ...] = ()
    """The codes it may be refused with, beside those any call may be."""
    query: tuple[Query, ...] = ()
    any_query: bool = False
    """Whether its query may say more than is listed: people follow links to it that others have added something to,
    such as `utm_source`."""
    headers: tuple[str, ...] = ()
    """Request headers it looks at."""
    token: str = ""
    """Which token it needs: ticket, session, or none."""
    role: Role | None = None
    """The admin key it needs."""
    store: bool = True
    """Whether it asks the store, which may be away."""
    refuses_with: int | None = None
    """The one status of all its refusals, where it has one."""
    sends: dict[int, dict[str, str]] = {}
    """Headers of its answers by status, with a word on each."""

    @property
    def method(self) -> str:
        """How it is asked."""
        return self.name.partition(" ")[0]

    @property
    def path(self) -> str:
        """Where it is asked; what is in braces is named by whoever asks."""
        return self.name.partition(" ")[2]

    @property
    def params(self) -> list[str]:
        """What its path names."""
        return _PARAM.findall(self.path)

    @property
    def query_names(self) -> tuple[str, ...]:
        """The names that its query may have."""
        token = TOKEN_QUERIES.get(self.token)
        return (*(query.name for query in self.query), *((token,) if token else ()))


def fast_route(operations: Sequence[Operation]) -> Route:
    """Finds the function of the fast lane for a method and a path. HEAD is GET without its body."""
    exact: dict[tuple[str, bytes], Routed] = {}
    patterns: list[tuple[str, re.Pattern[bytes], Handler, bool]] = []
    for operation in operations:
        if operation.fast is None:
            continue
        repeats = operation.media != EVENT_STREAM  # a stream is opened once, and stays
        methods = ("GET", "HEAD") if operation.method == "GET" else (operation.method,)
        for method in methods:
            if operation.params:
                pattern = _PARAM.sub(r"(?P<\1>[^/]+)", operation.path).encode()
                patterns.append((method, re.compile(pattern), operation.fast, repeats))
            else:
                exact[method, operation.path.encode()] = Routed(operation.fast, {}, repeats)

    def route(method: str, path: bytes) -> Routed | None:
        routed = exact.get((method, path))
        if routed is not None:
            return routed
        for pattern_method, pattern, handler, repeats in patterns:
            if method == pattern_method and (found := pattern.fullmatch(path)):
                params = {name: value.decode("ascii", "replace") for name, value in found.groupdict().items()}
                return Routed(handler, params, repeats)
        return None

    return route


def call_name(operations: Sequence[Operation]) -> Callable[[str, str], str]:
    """Names the call that a method and a path are for; 'other' is none of ours, so that strangers make no names."""
    exact = {(row.method, row.path): row.name for row in operations if not row.params}
    patterns = [(row.method, _pattern(row.path), row.name) for row in operations if row.params]

    def name(method: str, path: str) -> str:
        if method == "HEAD":
            method = "GET"
        found = exact.get((method, path))
        if found is not None:
            return found
        return next((name for of, pattern, name in patterns if of == method and pattern.fullmatch(path)), "other")

    return name


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_PARAM.sub("[^/]+", path))
