"""The settings of a queue as a form: in groups, each setting with a label, a description and its limits. All of it
comes from their definition (`domain/queue_settings.py`); the words of the dashboard come from `setting_words`. What has
none there has those of the definition, in English."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct, inspect

from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_groups import grouped_settings, setting_types
from fairline.web.description.schemas import Schema, Schemas


class SettingWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one setting."""

    label: str
    about: str


class FormWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of the form in one language: the titles of the groups, the settings by name, and what may be chosen."""

    groups: dict[str, str] = {}
    settings: dict[str, SettingWords] = {}
    choices: dict[str, str] = {}


@cache
def form_words(language: str) -> FormWords:
    """The words of the dashboard. English has only those of choices, and where a control says what the definition has
    to explain."""
    file = files("fairline.web.dashboard") / "setting_words" / f"{language}.json"
    return msgspec.json.decode(file.read_bytes(), type=FormWords)


@cache
def form(language: str = "") -> list[dict[str, Any]]:
    """The groups of the form, with their fields: in the words of the definition, or in those of the dashboard in a
    language."""
    components = Schemas([QueueSettings]).components
    properties = components["QueueSettings"]["properties"]
    defaults = msgspec.to_builtins(QueueSettings())
    words = form_words(language) if language else FormWords()
    return [
        {
            "id": title.lower().replace(" ", "-"),
            "title": words.groups.get(title, title),
            "fields": [
                _field(name, properties[name], components, defaults[name]) | _words(name, properties[name], words)
                for name in names
            ],
        }
        for title, names in grouped_settings().items()
    ]


def _words(name: str, schema: Schema, words: FormWords) -> dict[str, Any]:
    if name in words.settings:
        label, about = words.settings[name].label, words.settings[name].about
    else:
        label = schema.get("title", name.removesuffix("_seconds").replace("_", " ").capitalize())
        about = schema["description"]
    return {"label": label, "about": about}


def _field(name: str, schema: Schema, components: dict[str, Schema], default: Any) -> dict[str, Any]:
    options = schema.get("anyOf", [schema])
    own = _resolved(next(option for option in options if option.get("type") != "null"), components)
    found: dict[str, Any] = {
        "name": name,
        "kind": "text" if name.endswith("_url") else _control(setting_types()[name].kind) or _kind(own),
        "optional": len(options) > 1,
        "default": default,
    }
    limits = {"minimum": "min", "maximum": "max", "maxLength": "longest", "maxItems": "most", "enum": "choices"}
    found |= {attribute: own[keyword] for keyword, attribute in limits.items() if keyword in own}
    if name.endswith("_seconds"):
        found["unit"] = "seconds"
    if members := _resolved(own.get("items", {}), components).get("enum"):
        found |= {"kind": "several", "choices": members}
    return found


def choice_words(language: str) -> dict[str, str]:
    """What may be chosen, by value. A value without words is shown as it is."""
    return form_words("en").choices | form_words(language).choices


def _resolved(schema: Schema, components: dict[str, Schema]) -> Schema:
    """The schema that a reference leads to."""
    return components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _control(kind: inspect.Type) -> str:
    """The control that the definition asks for; empty if it asks for none."""
    match kind:
        case inspect.Metadata(extra={"control": str(control)}) if control:
            return control
        case inspect.Metadata(type=inner):
            return _control(inner)
    return ""


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
    return str(schema["type"])
