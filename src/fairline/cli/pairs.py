"""The settings of a queue as they are typed, `name=value`, and the list of their names for the help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand

from fairline.cli import show
from fairline.domain.queue_settings import SETTINGS, QueueSettings
from fairline.errors import InvalidRequest

RULE = "Nothing after = restores the default: message= removes the message, stock= makes the stock unlimited."
#: Words that people type to unset a setting, although a text may be any of them.
_UNSET_WORDS = ("none", "null", "unset", "-")

Settings = Annotated[
    list[str],
    typer.Argument(
        help=f"Settings as name=value, such as admission_rate=40. {RULE}", metavar="NAME=VALUE…", show_default=False
    ),
]


def pairs(given: list[str]) -> dict[str, Any]:
    """The settings that were typed. An empty value is the default. The value of a text setting is taken as typed; any
    other is read as JSON if possible."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InvalidRequest(pair, "must have the form name=value, such as admission_rate=40")
        found[name] = _value(name, text)
    return found


def _value(name: str, text: str) -> Any:
    if not text:
        return msgspec.to_builtins(QueueSettings()).get(name)
    if any(issubclass(each, str) for each in _kinds(name)):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _kinds(name: str) -> list[type]:
    """The types that the value of a setting may have, without None."""
    kind = get_type_hints(QueueSettings).get(name)
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [each for each in kinds if isinstance(each, type)]


def unset_hints(given: dict[str, Any]) -> Iterator[str]:
    """Hints for text settings that were set to a word such as `none` and perhaps meant to be unset."""
    for name, value in given.items():
        is_text = any(issubclass(each, str) and not issubclass(each, StrEnum) for each in _kinds(name))
        if is_text and value in _UNSET_WORDS:
            yield f"{name} is the text {value!r} now. To remove it: {name}="


def unset_hint(given: dict[str, Any], problem: str) -> str:
    """A hint to add to the server's message about one of these settings."""
    name = problem.partition(":")[0]
    return f". To restore the default: {name}=" if given.get(name) and name in SETTINGS else ""


class WithSettings(TyperCommand):
    """A command whose help ends with the list of all settings."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help and the list."""
        super().format_help(ctx, formatter)
        from fairline.web.dashboard.form import form  # only the help needs it

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(ratio=1)
        for group in form():
            table.add_row(f"[bold]{group['title']}[/]")
            for field in group["fields"]:
                table.add_row(f"  {field['name']}", _default(field["default"]), _about(field))
        show.console.print("The settings, their defaults, and what they mean:\n", table, sep="\n")


def _default(value: Any) -> str:
    """The default as it would be typed; empty if it is a list or an object."""
    match value:
        case bool():
            return json.dumps(value)
        case int() | float() | str():
            return show.plain(value)
    return ""


def _about(field: dict[str, Any]) -> str:
    if choices := field.get("choices"):
        return ", ".join(choices)
    first = str(field["about"]).partition(". ")[0].rstrip(".")
    return escape(first[:1].upper() + first[1:])
