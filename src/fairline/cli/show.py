"""How the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console(highlight=False)


def as_json(content: Any) -> None:
    """Print for programs."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def rows(title: str, columns: Sequence[str], lines: Iterable[Sequence[Any]], empty: str) -> None:
    """Print a table; numbers to the right."""
    found = [list(line) for line in lines]
    if not found:
        console.print(empty)
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        numeric = all(isinstance(line[number], int | float) for line in found)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for line in found:
        table.add_row(*map(cell, line))
    console.print(table)


def facts(title: str, content: dict[str, Any]) -> None:
    """Print names and values, one a line."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(style="dim")
    table.add_column()
    for name, value in content.items():
        table.add_row(name.replace("_", " "), str(value) if name == "version" else cell(value))
    console.print(table)


def plain(value: Any) -> str:
    """A value as text within a sentence."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() if all(isinstance(each, str | int) for each in value):
            return " ".join(map(str, value))
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def cell(value: Any) -> str:
    """A value as text in a table."""
    match value:
        case None | "":
            return "[dim]–[/]"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.6g}"
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case str() if len(value) > 18 and value[4:5] == "-" and value[10:11] == "T":
            return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M:%S}"
        case _:
            return str(value).replace("[", r"\[")
