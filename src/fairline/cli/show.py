"""How the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

console = Console(highlight=False)

#: Between two columns; and what is left for a column that is folded, with its gap.
GAP, NARROWEST = 2, 14
NOTHING = "[dim]–[/]"


def as_json(content: Any) -> None:
    """Print for programs."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def rows(
    title: str,
    columns: Sequence[str],
    lines: Iterable[Sequence[Any]],
    empty: str,
    *,
    short: Sequence[str] | None = None,
    stacks: Sequence[Sequence[str]] | None = None,
) -> None:
    """Print a table; numbers to the right. Where the terminal is too narrow for it, the columns have their `short`
    names, or those of each stack stand one below the other in one column; what is still too wide is folded, the widest
    first."""
    found = [list(line) for line in lines]
    if not found:
        console.print(empty)
        return
    numeric = [all(isinstance(line[i], int | float) for line in found) for i in range(len(columns))]
    cells = [[*map(cell, line)] for line in found]
    if sum(_widths(columns, cells)) > console.width:
        columns = short or columns
        if stacks:
            numeric = [len(stack) == 1 and numeric[columns.index(stack[0])] for stack in stacks]
            columns, cells = _stacked(columns, cells, stacks)
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, GAP, 0, 0))
    whole = _whole(_widths(columns, cells))
    for i, column in enumerate(columns):
        justify: JustifyMethod = "right" if numeric[i] else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=i in whole)
    for line in cells:
        table.add_row(*line)
    console.print(table)


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is with nothing folded, and with its gap."""
    texts = ([column, *(line[i] for line in cells)] for i, column in enumerate(columns))
    return [max(cell_len(part) for text in each for part in _plain(text).split("\n")) + GAP for each in texts]


def _plain(marked_up: str) -> str:
    return Text.from_markup(marked_up).plain


def _whole(widths: Sequence[int]) -> set[int]:
    """The columns that are not folded: the narrowest, as long as there is something left for each of the others."""
    whole: set[int] = set()
    left = console.width
    by_width = sorted(range(len(widths)), key=widths.__getitem__)
    for done, i in enumerate(by_width, 1):
        left -= widths[i]
        if left < (len(widths) - done) * NARROWEST:
            break
        whole.add(i)
    return whole


def _stacked(
    columns: Sequence[str], cells: Sequence[Sequence[str]], stacks: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The same table with the columns of each stack in one; what is not there leaves no gap."""
    places = [[columns.index(name) for name in stack] for stack in stacks]

    def stacked(line: Sequence[str]) -> list[str]:
        return ["\n".join([line[i] for i in stack if line[i] != NOTHING] or [NOTHING]) for stack in places]

    return stacked(columns), [stacked(line) for line in cells]


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
            return NOTHING
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
