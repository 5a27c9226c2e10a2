"""CSV that is safe to open in a spreadsheet: no text in it runs as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: The characters that start a formula, also their full-width forms, which spreadsheets accept in some languages.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
#: A place in a text where a formula would start if a spreadsheet ended the cell there, as some do even within quotes.
_INNER = re.compile(f"(?<!^)([;\t\r\n][\"' ]*)(?=[{re.escape(''.join(_FORMULA))}])")


def csv_of(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of cells as CSV. A text that starts like a formula gets an apostrophe before it, and so does a part that
    would start like one if a semicolon, a tab or a line break in the text ended the cell."""
    text = io.StringIO()
    csv.writer(text).writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = _INNER.sub(r"\1'", cell)
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
