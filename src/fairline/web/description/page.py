"""The page `/docs`, which describes every call, and the call that returns the OpenAPI document. Both are made from the
table of operations, once per worker."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

import fairline
from fairline.store import Role
from fairline.web.description import openapi
from fairline.web.description.examples import ALSO, BODIES, PATH, QUERY, plain, sample
from fairline.web.server.assets import Assets
from fairline.web.server.http import Headers, Request, Response, encode
from fairline.web.server.operations import EVENT_STREAM, Operation
from fairline.web.server.problems import PROBLEMS

HTML = "text/html; charset=utf-8"
_PUBLIC: Headers = ((b"cache-control", b"public, max-age=60"),)
#: The page runs no scripts, loads nothing but its style sheet, and no other page may frame it.
_PAGE: Headers = (
    *_PUBLIC,
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
)
_CODE = re.compile("`([^`]+)`")
#: Lists of numbers in indented JSON.
_LISTS = re.compile(r"\[([\d\s.,]+)\]")
_TOKENS = re.compile(r'(?P<key>"[^"\n]*")(?=:)|(?P<text>"[^"\n]*")|(?P<word>\b(?:true|false|null|\d[\d.]*)\b)')


class Field(Struct):
    """A field or parameter, with its type in words."""

    name: str
    type: str
    about: str
    required: bool
    default: str = ""
    group: str = ""


class Shape(Struct):
    """A type of bodies and answers."""

    name: str
    about: str
    fields: list[Field]


class Reply(Struct):
    """One possible answer of a call."""

    status: int
    about: str
    shape: str
    media: list[str]


class Call(Struct):
    """One call, as the page shows it."""

    id: str
    method: str
    path: str
    about: str
    needs: str
    params: list[Field]
    body: Shape | None
    body_required: bool
    replies: list[Reply]
    refusals: dict[int, list[str]]
    curl: str
    sample: str


class Group(Struct):
    """A group of calls for the same audience."""

    id: str
    title: str
    about: str
    calls: list[Call]


class Docs:
    """The calls that return the description of the API."""

    def __init__(self, rows: Sequence[Operation], assets: Assets, url: str = "") -> None:
        self._rows = rows
        self._assets = assets
        self._url = url

    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(200, await asyncio.to_thread(lambda: self._json), headers=_PUBLIC)

    async def page(self, request: Request) -> Response:
        """The page `/docs`."""
        return Response(200, await asyncio.to_thread(lambda: self._page), HTML.encode(), _PAGE)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi.document(self._rows, self._url)

    @cached_property
    def _json(self) -> bytes:
        return encode(self._document)

    @cached_property
    def _page(self) -> bytes:
        loader = PackageLoader("fairline.web.pages")
        environment = Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
        )
        environment.filters |= {
            "prose": prose,
            "sentence": sentence,
            "path": path_markup,
            "name": name_markup,
            "json": json_markup,
            "shell": shell_markup,
        }
        document = self._document
        page = environment.get_template("docs.html").render(
            version=fairline.__version__,
            css=self._assets.url("docs.css"),
            groups=_groups(self._rows, document),
            shapes=_shapes(self._rows, document),
            problems=sorted((status, code, title) for code, (status, title) in PROBLEMS.items()),
            always=openapi.ANY_CALL,
        )
        return page.encode()


def _groups(rows: Sequence[Operation], document: dict[str, Any]) -> list[Group]:
    calls: dict[str, list[Call]] = {group: [] for group in openapi.GROUPS}
    for row in rows:
        calls.setdefault(row.group, []).append(_call(row, document))
    return [
        Group(name, *openapi.GROUPS.get(name, (name.capitalize(), "")), found) for name, found in calls.items() if found
    ]


def _call(row: Operation, document: dict[str, Any]) -> Call:
    operation = document["paths"][row.path][row.method.lower()]
    components = document["components"]["schemas"]
    return Call(
        id=openapi.operation_id(row),
        method=row.method,
        path=row.path,
        about=row.about,
        needs=_needs(row),
        params=[_parameter(each, components) for each in operation["parameters"]],
        body=_shape(row.takes.__name__, components, sent=True) if row.takes is not None else None,
        body_required=not row.takes_optional,
        replies=[_reply(row, status, operation) for status in row.answers],
        refusals=openapi.refusals(row),
        curl=_curl(row),
        sample=_sample(row, operation, components),
    )


def _needs(row: Operation) -> str:
    if row.role is not None:
        return "admin key" if row.role is Role.ADMIN else f"admin key: {row.role} or above"
    return {"ticket": "ticket token", "session": "session token"}.get(row.token, "nothing")


def _parameter(parameter: dict[str, Any], components: dict[str, Any]) -> Field:
    return Field(
        name=parameter["name"],
        type=f"{parameter['in']} · " + words(parameter["schema"], components),
        about=parameter["description"],
        required=parameter.get("required", False),
    )


def _reply(row: Operation, status: int, operation: dict[str, Any]) -> Reply:
    kind = row.answers[status]
    shape = kind.__name__ if hasattr(kind, "__struct_fields__") else ""
    return Reply(
        status, operation["responses"][str(status)]["description"], shape, openapi.media_types(row) if kind else []
    )


def _sample(row: Operation, operation: dict[str, Any], components: dict[str, Any]) -> str:
    """An example of the first answer that has a body."""
    for status, kind in row.answers.items():
        if hasattr(kind, "__struct_fields__"):
            schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
            found = plain(sample(schema, components)) | ALSO.get(row.path.rpartition("/")[2], {})
            return _LISTS.sub(_on_one_line, json.dumps(found, indent=2, ensure_ascii=False))
    return ""


def _on_one_line(found: re.Match[str]) -> str:
    return "[" + ", ".join(found[1].split()).replace(",,", ",") + "]"


def _curl(row: Operation) -> str:
    path = row.path
    for name in row.params:
        path = path.replace(f"{{{name}}}", PATH.get(name, name))
    query_string = "&".join(f"{query.name}={QUERY[query.name]}" for query in row.query if query.name in QUERY)
    address = f"$FAIRLINE{path}?{query_string}" if query_string else f"$FAIRLINE{path}"
    flags = ("-N " if row.media == EVENT_STREAM else "") + (f"-X {row.method} " if row.method != "GET" else "")
    lines = [f'curl {flags}"{address}"']
    token = "$ADMIN_KEY" if row.role is not None else {"ticket": "$TOKEN", "session": "$SESSION"}.get(row.token)
    if token:
        lines.append(f'-H "Authorization: Bearer {token}"')
    body = BODIES.get(row.takes.__name__) if row.takes is not None else None
    if body:
        lines.append('-H "Content-Type: application/json"')
        lines.append(f"-d '{json.dumps(body, ensure_ascii=False)}'")
    return " \\\n  ".join(lines)


# Types in words


def _shapes(rows: Sequence[Operation], document: dict[str, Any]) -> list[Shape]:
    """The types of answers, and the types inside them and inside bodies, in the order in which they first appear."""
    components = document["components"]["schemas"]
    found: dict[str, None] = {}

    def collect(schema: Any) -> None:
        if isinstance(schema, list):
            for inner in schema:
                collect(inner)
        elif isinstance(schema, dict):
            name = schema.get("$ref", "").rpartition("/")[2]
            if name and name not in found and "properties" in components[name]:
                found[name] = None
                collect(components[name])
            collect(list(schema.values()))

    for row in rows:
        for kind in row.answers.values():
            if hasattr(kind, "__struct_fields__"):
                collect({"$ref": kind.__name__})
        if row.takes is not None:  # a body itself is shown with its call
            collect(components[row.takes.__name__])
    collect({"$ref": "Problem"})
    return [_shape(name, components) for name in found]


def _shape(name: str, components: dict[str, Any], *, sent: bool = False) -> Shape:
    schema = components[name]
    required = schema.get("required", ())
    fields = [
        Field(
            name=field,
            type=words(_without_null(inner) if sent else inner, components),
            about=inner.get("description", ""),
            required=field in required or (not sent and "default" in inner),
            default=_default(inner) if sent else "",
            group=inner.get("x-group", ""),
        )
        for field, inner in schema["properties"].items()
    ]
    fields.sort(key=lambda field: (sent and not field.required, bool(field.group)))
    return Shape(name, schema.get("description", ""), fields)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field without its null option, if null means the same as leaving the field out."""
    if "anyOf" not in schema or schema.get("default", ...) is not None:
        return schema
    return {"anyOf": [option for option in schema["anyOf"] if option.get("type") != "null"]}


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, "") else json.dumps(plain(default), ensure_ascii=False)


def words(schema: dict[str, Any], components: dict[str, Any]) -> str:
    """A schema in words: 'whole number, 1 to 1,000'."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        inner = components[name]
        return words(inner, components) if "enum" in inner else f"[{name}]"
    if "anyOf" in schema:
        return " or ".join(words(option, components) for option in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"`{value}`" for value in schema["enum"])
    match schema.get("type"):
        case "string":
            kind = "time" if schema.get("format") == "date-time" else "text"
            return kind + _range(schema, "minLength", "maxLength", " characters")
        case "integer" | "number" as number:
            return ("whole number" if number == "integer" else "number") + _range(schema, "minimum", "maximum")
        case "boolean":
            return "true or false"
        case "null":
            return "null"
        case "array":
            item, count = (schema.get("prefixItems") or [schema["items"]])[0], schema.get("minItems")
            return f"list of {f'{count}: ' if count else ''}{words(item, components)}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"object of {words(schema['additionalProperties'], components)}"
        case "object":
            return "object"
    return "anything"


def _range(schema: dict[str, Any], low: str, high: str, unit: str = "") -> str:
    least, most = schema.get(low), schema.get(high)
    if least is None and most is None:
        return ""
    if most is None:
        return f", at least {least:,}{unit}"
    if least is None:
        return f", at most {most:,}{unit}"
    return f", {least:,} to {most:,}{unit}"


# Words into markup


def prose(text: str) -> Markup:
    """Markup of a text, with `code` marked and the names of [Shapes] as links."""
    marked = _CODE.sub(r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\[(\w+)\]", r'<a href="#shape-\1">\1</a>', marked))


def sentence(text: str) -> Markup:
    """Markup of a remark as a sentence, with a capital letter and a full stop."""
    return prose(text[:1].upper() + text[1:].removesuffix(".") + ".")


def path_markup(path: str) -> Markup:
    """Markup of a path, with its parameters marked; lines may break after each part."""
    parts = (Markup("<var>{}</var>").format(part) if part.startswith("{") else escape(part) for part in path.split("/"))
    return Markup("/<wbr>").join(parts)


def name_markup(name: str) -> Markup:
    """Markup of a name; lines may break after each word."""
    return Markup("_<wbr>").join(name.split("_"))


def json_markup(text: str) -> Markup:
    """Markup of JSON, with its keys, texts and other values in different colours."""
    return Markup("".join(_pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    end = 0
    for found in _TOKENS.finditer(text):
        yield escape(text[end : found.start()])
        yield f'<span class="{found.lastgroup}">{escape(found[0])}</span>'
        end = found.end()
    yield escape(text[end:])


def shell_markup(text: str) -> Markup:
    """Markup of a command, with its variables marked."""
    return Markup(re.sub(r"(\$[A-Z_]+)", r"<var>\1</var>", str(escape(text))))
