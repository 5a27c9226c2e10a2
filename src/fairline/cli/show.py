"""The output of the commands: tables for people, JSON for programs."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from io import TextIOWrapper
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fairline.domain.visible_text import visible, visible_json, visible_lines


class Terminal(Console):
    """The console that all commands print to. Much of the output was written by strangers: names, reasons, answers of
    servers. None of it may control the terminal, so control characters are printed visibly."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, highlight=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make control characters visible before the text is measured, so that columns have the right width."""
        return super().render_str(visible_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Make control characters visible in everything else, just before it is written. Control segments come from
        the console itself."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible_lines(text), style)


console = Terminal()
stderr_console = Terminal(stderr=True, soft_wrap=True)

#: The gap between two columns, and the narrowest folded column with its gap.
GAP, NARROWEST = 2, 14
NOTHING = "[dim]–[/]"
#: Characters that Fairline prints and not every terminal has, with their replacements.
REPLACEMENTS = {"–": "-", "→": ">", "…": "~"}
REPLACE_ERRORS = "fairline.replace"


def replace_unencodable_characters() -> None:
    """Replace characters that the terminal or file cannot encode with similar ones of the same width."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors=REPLACE_ERRORS)


def _replacement(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(REPLACEMENTS.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


codecs.register_error(REPLACE_ERRORS, _replacement)


def flush() -> None:
    """Write the buffered output, or raise OSError."""
    if sys.stdout is not None:
        sys.stdout.flush()


def cannot_write_output() -> bool:
    """Whether the output cannot be written. If so it is discarded, or the end of the process would try again."""
    try:
        print(flush=True)  # unbuffered output leaves nothing to flush, so something must be printed to find out
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def error(message: str) -> None:
    """Print an error in one line."""
    _print_to_stderr("Error:", "red", message)


def warning(message: str) -> None:
    """Print a warning in one line."""
    with contextlib.suppress(OSError):  # if nobody reads it, that is no reason to stop
        _print_to_stderr("Warning:", "yellow", message)


def _print_to_stderr(word: str, style: str, message: str) -> None:
    # Before it becomes a Text, which drops some of the control characters.
    stderr_console.print(Text.assemble((word, style), " ", visible_lines(message)))


def as_json(content: Any) -> None:
    """Print JSON for programs."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(visible_json(json.dumps(content, indent=2, ensure_ascii=not is_unicode)))


def as_text(content: str) -> None:
    """Print text for programs: unchanged, or with visible control characters if it goes to a terminal."""
    print(visible_lines(content) if console.is_terminal else content, end="")


def rows(
    title: str,
    columns: Sequence[str],
    lines: Iterable[Sequence[Any]],
    empty: str,
    *,
    short: Sequence[str] | None = None,
    stacks: Sequence[Sequence[str]] | None = None,
) -> None:
    """Print a table, with numbers aligned to the right. If the terminal is too narrow, the columns get their `short`
    names, and the columns of each stack share one column. What is still too wide is folded, the widest column first."""
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
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None, padding=(0, GAP, 0, 0))
    whole = _whole(_widths(columns, cells))
    for i, column in enumerate(columns):
        justify: JustifyMethod = "right" if numeric[i] else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=i in whole)
    for line in cells:
        table.add_row(*line)
    console.print(table)


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column with its gap, if nothing is folded."""
    texts = ([column, *(line[i] for line in cells)] for i, column in enumerate(columns))
    return [max(cell_len(part) for text in each for part in _plain(text).split("\n")) + GAP for each in texts]


def _plain(marked_up: str) -> str:
    return Text.from_markup(marked_up).plain


def _whole(widths: Sequence[int]) -> set[int]:
    """The columns that are not folded: the narrowest, as long as enough width is left for each of the others."""
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
    """The same table with the columns of each stack in one. Empty cells leave no gap."""
    places = [[columns.index(name) for name in stack] for stack in stacks]

    def stacked(line: Sequence[str]) -> list[str]:
        return ["\n".join([line[i] for i in stack if line[i] != NOTHING] or [NOTHING]) for stack in places]

    return stacked(columns), [stacked(line) for line in cells]


def facts(title: str, content: dict[str, Any]) -> None:
    """Print names and values, one per line."""
    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 2, 0, 0)
    )
    table.add_column(style="dim")
    table.add_column()
    for name, value in content.items():
        table.add_row(name, str(value) if name == "version" else cell(value))
    console.print(table)


def safe(value: Any) -> str:
    """A value for use within a sentence, escaped so that it cannot add markup."""
    return escape(visible(str(value)))


def plain(value: Any) -> str:
    """A value as plain text, for use within a sentence."""
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
            return escape(visible(json.dumps(value, ensure_ascii=False)))
        case str() if len(value) > 18 and value[4:5] == "-" and value[10:11] == "T":
            return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M:%S}"
        case _:
            return escape(visible_lines(str(value)))
