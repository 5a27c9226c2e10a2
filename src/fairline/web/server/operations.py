"""The table of operations: each call of the API as one row, with its handler, its body and its possible answers.

The rows make the routes of the fast path, the routes of ASGI and the OpenAPI document, so that none of them can have a
call that the others do not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from fairline.domain.queue import ID_PATTERN
from fairline.store import Role
from fairline.web.server.compression import Compression
from fairline.web.server.fast_path import Route, Routed
from fairline.web.server.http import Handler, SlowHandler

EVENT_STREAM = "text/event-stream"

_PARAM = re.compile(r"{(\w+)}")

#: The query parameter that may carry a token, by the kind of token.
TOKEN_QUERIES = {"ticket": "token", "session": "fairline_session"}

#: The codes that refuse every join, for good or for now.
JOIN_REFUSALS = ("queue_not_found", "queue_full", "queue_maintenance", "queue_closed")
#: The codes that refuse a join without a valid user token of the site.
UNNAMED = ("user_token_missing", "user_token_invalid", "user_token_expired")
#: The headers of an answer that brings a ticket token.
TOKEN_COOKIE = {"Set-Cookie": "The token, for browsers."}


#: The type of a queue's id in a query.
QueueName = Annotated[str, Meta(pattern=f"^{ID_PATTERN}$")]


class Query(Struct, frozen=True):
    """A query parameter of an operation."""

    name: str
    type: Any
    about: str
    rule: str = ""
    """What its value must be, in words: then a value that its type does not allow is refused before the handler runs.
    Without a rule, the handler itself checks the value."""


class Operation(Struct, frozen=True):
    """One call of the API."""

    name: str
    """Its method and its path, such as 'POST /api/v1/heartbeat'. Metrics use the same name."""
    about: str
    """One line: what it does."""
    group: str
    answers: dict[int, Any]
    """The type of its answer by status; None means an answer without a body."""
    fast: Handler | None = None
    slow: SlowHandler | None = None
    takes: Any = None
    """The type of its body, if it has one; an empty body is allowed where all fields have defaults."""
    takes_optional: bool = True
    media: str = "application/json"
    also: tuple[str, ...] = ()
    """Other media types that it answers with on request."""
    problems: tuple[str, ...] = ()
    """The codes it may be refused with, in addition to those of any call."""
    query: tuple[Query, ...] = ()
    any_query: bool = False
    """Whether its query may have fields that are not listed: people follow links to which others have added fields such
    as `utm_source`."""
    headers: tuple[str, ...] = ()
    """Request headers that it reads."""
    token: str = ""
    """Which token it needs: `ticket`, `session`, or empty for none."""
    role: Role | None = None
    """The role of the admin key it needs."""
    store: bool = True
    """Whether it needs the store, which may be unavailable."""
    compression: Compression = Compression.NEVER
    """Whether its answers are compressed: never, where one body may have a secret and the text of a stranger."""
    refuses_with: int | None = None
    """The one status of all its refusals, where it has one."""
    sends: dict[int, dict[str, str]] = {}
    """Headers of its answers by status, with a description of each."""

    @property
    def method(self) -> str:
        """Its HTTP method."""
        return self.name.partition(" ")[0]

    @property
    def path(self) -> str:
        """Its path; the parts in braces are parameters."""
        return self.name.partition(" ")[2]

    @property
    def params(self) -> list[str]:
        """The names of the parameters in its path."""
        return _PARAM.findall(self.path)

    @property
    def query_names(self) -> tuple[str, ...]:
        """The names that its query may have."""
        token = TOKEN_QUERIES.get(self.token)
        return (*(query.name for query in self.query), *((token,) if token else ()))


def fast_route(operations: Sequence[Operation]) -> Route:
    """A function that finds the fast handler for a method and a path. HEAD is GET without its body."""
    exact: dict[tuple[str, bytes], Routed] = {}
    patterns: list[tuple[str, re.Pattern[bytes], Handler, bool]] = []
    for operation in operations:
        if operation.fast is None:
            continue
        repeats = operation.media != EVENT_STREAM  # a stream is opened once and stays open
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
    """A function that names the operation for a method and a path; 'other' if there is none, so that strangers cannot
    create names."""
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
