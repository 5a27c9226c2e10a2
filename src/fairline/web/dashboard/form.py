"""The settings of a queue as a form: in groups, each setting with a label, a description and its limits. All of it
comes from their definition (`domain/queue_settings.py`)."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from fairline.domain.queue_settings import QueueSettings, grouped_settings
from fairline.web.description.schemas import Schema, Schemas


@cache
def form() -> list[dict[str, Any]]:
    """The groups of the form, with their fields."""
    components = Schemas([QueueSettings]).components
    properties = components["QueueSettings"]["properties"]
    defaults = msgspec.to_builtins(QueueSettings())
    return [
        {"title": title, "fields": [_field(name, properties[name], components, defaults[name]) for name in names]}
        for title, names in grouped_settings().items()
    ]


def _field(name: str, schema: Schema, components: dict[str, Schema], default: Any) -> dict[str, Any]:
    options = schema.get("anyOf", [schema])
    own = _resolved(next(option for option in options if option.get("type") != "null"), components)
    found: dict[str, Any] = {
        "name": name,
        "label": schema.get("title", name.removesuffix("_seconds").replace("_", " ").capitalize()),
        "about": schema["description"],
        "kind": "text" if name.endswith("_url") else _kind(own),
        "optional": len(options) > 1,
        "default": default,
    }
    limits = {"minimum": "min", "maximum": "max", "maxLength": "longest", "enum": "choices"}
    found |= {attribute: own[keyword] for keyword, attribute in limits.items() if keyword in own}
    if name.endswith("_seconds"):
        found["unit"] = "seconds"
    if members := _resolved(own.get("items", {}), components).get("enum"):
        found["members"] = members
    return found


def _resolved(schema: Schema, components: dict[str, Schema]) -> Schema:
    """The schema that a reference leads to."""
    return components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _kind(schema: Schema) -> str:
    match schema.get("type"):
        case "string" if "enum" in schema:
            return "choice"
        case "string":
            return "long" if schema.get("maxLength", 0) >= 2000 else "text"
        case "array" if schema.get("minItems"):
            return "numbers"
        case "array":
            return "lines"
        case "object":
            return "object"
    return str(schema["type"])
