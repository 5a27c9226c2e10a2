"""Builds the OpenAPI document from the table of operations and the types of their bodies.

Nothing is written twice: a call is in the document because it is in the table; a field because it is in its type, with
the docstring after it as description; a problem because the row names it, or because of the kind of row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta

import fairline
from fairline.domain.queue import ID_PATTERN
from fairline.store import Role
from fairline.web.admin.wire import LARGEST_TICKET, Version
from fairline.web.api.boards import MOST_QUEUES
from fairline.web.api.wire import Problem
from fairline.web.description.examples import BODIES
from fairline.web.description.schemas import Schema, Schemas
from fairline.web.server.http import BODY_LIMIT, PROBLEM
from fairline.web.server.operations import EVENT_STREAM, Operation
from fairline.web.server.problems import PROBLEMS

#: The groups of calls in their order in the document: a title, and a description.
GROUPS: dict[str, tuple[str, str]] = {
    "people": (
        "People who wait",
        "Join a line, send heartbeats, follow the place live. Every later call needs the token that a join returns.",
    ),
    "sites": (
        "The protected site",
        "Calls of the site behind the line: may this visitor continue? The session token comes with the admission.",
    ),
    "public": ("Anyone", "Calls without a token: the state of a queue, and the keys that verify session tokens."),
    "operators": (
        "Operators",
        "Queues, tickets, statistics, priority passes and keys. Viewers read, operators act, admins create and remove.",
    ),
    "pages": ("Pages", "What people see in a browser. Programs that ask for JSON receive errors as problem+json."),
    "server": ("The server", "Health, metrics for Prometheus, and this description."),
}

#: The parameters of paths.
PARAMS: dict[str, tuple[Any, str]] = {
    "queue": (
        Annotated[str, Meta(pattern=f"^{ID_PATTERN}$")],
        "The queue's id: letters, digits, `.`, `_` and `-`, at most 64.",
    ),
    "queues": (
        Annotated[str, Meta(pattern=f"^{ID_PATTERN}(,{ID_PATTERN}){{0,{MOST_QUEUES - 1}}}$")],
        f"The ids of 1 to {MOST_QUEUES} queues, separated by commas.",
    ),
    "ticket": (Annotated[int, Meta(ge=1, le=LARGEST_TICKET)], "The ticket's number."),
    "version": (Version, "The version of the settings."),
    "opening": (Annotated[str, Meta(min_length=1, max_length=64)], "The opening's id."),
    "draw": (Annotated[str, Meta(min_length=1, max_length=130)], "The draw's id: `draw_id` of an opening."),
    "webhook": (Annotated[str, Meta(min_length=1, max_length=64)], "The webhook's id."),
    "delivery": (Annotated[str, Meta(min_length=1, max_length=64)], "The delivery's id."),
    "name": (Annotated[str, Meta(min_length=1, max_length=100)], "The file's name."),
    "pass_id": (Annotated[str, Meta(min_length=1, max_length=64)], "The id of the priority pass, not its text."),
    "key_id": (Annotated[str, Meta(min_length=1, max_length=64)], "The key's id, not the key."),
}

#: Request headers. `Accept` is not listed: OpenAPI describes it by the media types of an answer.
HEADERS: dict[str, tuple[Any, str]] = {
    "Idempotency-Key": (
        Annotated[str, Meta(min_length=1, max_length=200)],
        "The same key with the same body gets the first answer again; with another body it is refused.",
    ),
    "If-Match": (
        Annotated[str, Meta(pattern=r'^(\*|"[0-9]{1,16}")$')],
        'The version of the settings, as in `ETag`: `"7"`. The call is refused if they have changed.',
    ),
    "Last-Event-ID": (str, "The last event that the client has received; it is not sent again."),
}

#: The headers of answers with these statuses.
_STATUS_HEADERS = {
    401: {"WWW-Authenticate": "How to prove who you are."},
    429: {"Retry-After": "Seconds after which a retry can help."},
    503: {"Retry-After": "Seconds after which a retry can help."},
}

#: Any call may be refused with these codes.
ANY_CALL = ("bad_request", "request_timeout", "expectation_failed", "headers_too_large", "internal_error")
_STORE = ("store_unavailable", "store_overloaded")
#: Headers whose value is checked.
_CHECKED_HEADERS = {"Idempotency-Key", "If-Match"}

SCHEMES: dict[str, Schema] = {
    "ticketToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The ticket token, from the answer to the join. A heartbeat renews it past half its life.",
    },
    "ticketCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "fairline_ticket_{queue}",
        "description": "The same token in the cookie that the join sets, one for each queue.",
    },
    "ticketQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "token",
        "description": "The same token in the query: an EventSource cannot send headers.",
    },
    "sessionToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The session token that comes with the admission (`session_token`), signed with EdDSA.",
    },
    "sessionCookie": {"type": "apiKey", "in": "cookie", "name": "fairline_session"},
    "sessionQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "fairline_session",
        "description": "Once, on arrival, as in `redirect_url`.",
    },
    "adminKey": {"type": "http", "scheme": "bearer", "description": "An admin key."},
    "adminCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "fairline_admin",
        "description": "For the dashboard: a call that changes something also needs the header `X-Fairline-Admin: 1`, "
        "and must come from the same origin.",
    },
}


def security(row: Operation) -> list[dict[str, list[str]]]:
    """The security schemes of a call; each one is enough by itself."""
    if row.role is not None:
        names = ["adminKey", "adminCookie"]
    elif row.token == "ticket":
        names = ["ticketToken", "ticketCookie", "ticketQuery"]
    elif row.token == "session":
        names = ["sessionToken", "sessionCookie", "sessionQuery"]
    else:
        return []
    schemes: list[dict[str, list[str]]] = [{name: []} for name in names]
    if "token" in getattr(row.takes, "__struct_fields__", ()):
        schemes.append({})  # the body may contain the token
    return schemes


def refusals(row: Operation) -> dict[int, list[str]]:
    """The codes that a call may be refused with, by status; without the codes of ANY_CALL."""
    codes = [*row.problems]
    if row.role is not None:
        codes += ["key_missing", "key_invalid"] + ["forbidden"] * (row.role is not Role.VIEWER)
    if row.role is Role.VIEWER and "forbidden" in codes:
        codes.remove("forbidden")  # no key has fewer rights
    if row.params:
        codes.append("not_found")
    if _can_be_wrong(row):
        codes.append("invalid_request")
    if row.method in {"POST", "PATCH", "PUT"}:
        codes.append("body_too_large")
    if row.store:
        codes += _STORE
    found: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        status = PROBLEMS[code][0]
        if row.refuses_with and code not in (*_STORE, "body_too_large"):
            status = row.refuses_with
        found.setdefault(status, []).append(code)
    return dict(sorted(found.items()))


def _can_be_wrong(row: Operation) -> bool:
    return (
        row.takes is not None
        or "ticket" in row.params
        or not _CHECKED_HEADERS.isdisjoint(row.headers)
        or any(query.type is not str for query in row.query)
        or not row.any_query
    )


def media_types(row: Operation) -> list[str]:
    """The media types of a success; a call that reads `Accept` can also answer with a stream."""
    return [row.media.partition(";")[0], *([EVENT_STREAM] if "Accept" in row.headers else []), *row.also]


def _kinds(rows: Sequence[Operation]) -> Iterator[Any]:
    yield Problem
    for row in rows:
        if row.takes is not None:
            yield row.takes
        yield from (kind for kind in row.answers.values() if kind is not None)
        yield from (query.type for query in row.query)
        yield from (PARAMS[name][0] for name in row.params if name in PARAMS)
        yield from (HEADERS[name][0] for name in row.headers if name in HEADERS)
    yield str


def operation_id(row: Operation) -> str:
    """The name of a call in clients generated from the document: `post_queues_queue_join`."""
    # The pages of the dashboard and of draws have the same paths as their calls, except for the prefix.
    path = f"/page{row.path}" if row.path.startswith(("/admin", "/draws")) else row.path.removeprefix("/api/v1")
    path = path.replace("{", "").replace("}", "").replace("-", "_").replace(".", "_")
    return "_".join([row.method.lower(), *filter(None, path.split("/"))])


def document(rows: Sequence[Operation], url: str = "") -> Schema:
    """The whole OpenAPI document."""
    schemas = Schemas(list(_kinds(rows)))
    paths: dict[str, Schema] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schemas)
    groups = {row.group: GROUPS.get(row.group, (row.group, "")) for row in rows}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairline",
            "version": fairline.__version__,
            "summary": "A fair waiting line for websites and walk-in desks.",
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url or "/"}],
        "tags": [
            {"name": GROUPS[group][0], "description": GROUPS[group][1]} if group in GROUPS else {"name": group}
            for group in sorted(groups, key=[*GROUPS, *groups].index)
        ],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": SCHEMES,
            "headers": {
                "RequestId": {
                    "description": "The request id in the logs.",
                    "schema": {"type": "string"},
                }
            },
            "responses": {code: _refusal(status, [code]) for code, status in _any_call().items()},
        },
    }


def _any_call() -> dict[str, int]:
    return {code: PROBLEMS[code][0] for code in ANY_CALL}


_ABOUT = f"""\
Requests and answers are JSON. Unknown fields in a body are refused with 422, and so are unknown names in a query,
except on pages; bodies over {BODY_LIMIT // 1024} KiB are refused with 413, methods that are not listed with 405. Errors
are `application/problem+json` (RFC 9457) with a `code` from a fixed list and a `request_id`, which is also the
`X-Request-Id` header; 429 and 503 have `Retry-After`. Times are RFC 3339 in UTC, durations are numbers of seconds.
Answers about one person are never cached."""


def _operation(row: Operation, schemas: Schemas) -> Schema:
    refused = refusals(row)
    described = [row.about]
    if row.role is not None:
        described.append(
            f"Needs an admin key with the role `{row.role}`" + (" or above." if row.role != "admin" else ".")
        )
    if refused:
        codes = (f"`{code}` ({status})" for status, codes in refused.items() for code in codes)
        described.append("Refused with " + ", ".join(codes) + ".")
    operation: Schema = {
        "operationId": operation_id(row),
        "tags": [GROUPS.get(row.group, (row.group,))[0]],
        "summary": row.about,
        "description": "\n\n".join(described),
        "security": security(row),
        "parameters": list(_parameters(row, schemas)),
        "responses": _responses(row, schemas, refused),
    }
    if row.takes is not None:
        content: Schema = {"schema": schemas.of(row.takes)}
        if example := BODIES.get(row.takes.__name__):
            content["example"] = example
        operation["requestBody"] = {"required": not row.takes_optional, "content": {"application/json": content}}
    return operation


def _parameters(row: Operation, schemas: Schemas) -> Iterator[Schema]:
    for name in row.params:
        kind, about = PARAMS.get(name, (str, ""))
        yield {"name": name, "in": "path", "required": True, "description": about, "schema": schemas.of(kind)}
    for query in row.query:
        yield {
            "name": query.name,
            "in": "query",
            "required": False,
            "description": query.about,
            "schema": schemas.of(query.type),
        }
    for name in row.headers:
        if name in HEADERS:
            kind, about = HEADERS[name]
            yield {"name": name, "in": "header", "description": about, "schema": schemas.of(kind)}


def _responses(row: Operation, schemas: Schemas, refused: dict[int, list[str]]) -> Schema:
    responses: Schema = {}
    for status, kind in row.answers.items():
        responses[str(status)] = {
            "description": _answer_description(row, status, schemas),
            "headers": _headers(status, row),
        }
        if kind is not None:
            responses[str(status)]["content"] = {
                media: {"schema": {"type": "string"} if media in (EVENT_STREAM, *row.also) else schemas.of(kind)}
                for media in media_types(row)
            }
    for status, codes in refused.items():
        refusal = _refusal(status, codes, row)
        answered = responses.get(str(status), {"content": {}})
        responses[str(status)] = refusal | {"content": answered["content"] | refusal["content"]}
    for code, status in _any_call().items():
        responses.setdefault(str(status), {"$ref": f"#/components/responses/{code}"})
    return dict(sorted(responses.items()))


def _answer_description(row: Operation, status: int, schemas: Schemas) -> str:
    """The description of a successful answer."""
    if row.media == EVENT_STREAM:
        return {
            200: "Events: `position` when it has changed, `admitted`, `expired`, and `message` from the operator.",
            204: "The client already knows the end: it need not reconnect.",
        }[status]
    if row.answers[status] is None:
        return {200: "Yes.", 302: "Continue there.", 307: "Send it once more."}.get(status, "Done.")
    about = schemas.components.get(getattr(row.answers[status], "__name__", ""), {}).get("description")
    which = {201: "A new one. ", 200: "The existing one. "}[status] if row.answers.keys() == {201, 200} else ""
    return which + (about or "The requested content.")


def _refusal(status: int, codes: Sequence[str], row: Operation | None = None) -> Schema:
    """The description of all refusals with one status, which may have several codes; for pages, also as HTML."""
    page = {"text/html": {"schema": {"type": "string"}}} if row is not None and row.group == "pages" else {}
    return {
        "description": "; ".join(f"`{code}`: {PROBLEMS[code][1].lower()}" for code in codes) + ".",
        "headers": _headers(status, row),
        "content": {
            **page,
            PROBLEM.decode(): {
                "schema": {
                    "allOf": [{"$ref": "#/components/schemas/Problem"}],
                    "properties": {"code": {"enum": list(codes)}, "status": {"const": status}},
                }
            },
        },
    }


def _headers(status: int, row: Operation | None) -> Schema:
    named = _STATUS_HEADERS.get(status, {}) | (row.sends.get(status, {}) if row else {})
    return {
        "X-Request-Id": {"$ref": "#/components/headers/RequestId"},
        **{name: {"description": about, "schema": {"type": "string"}} for name, about in named.items()},
    }
