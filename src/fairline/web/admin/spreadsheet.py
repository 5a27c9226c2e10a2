"""CSV that a spreadsheet can open: no text in it is run as a formula, whoever wrote it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: How a formula begins; in wide letters too, which a spreadsheet takes where it is set to a language that types them.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
#: Where a text has one after a sign that some spreadsheets take for the end of a cell, whatever is quoted.
_INNER = re.compile(f"(?<!^)([;\t\r\n][\"' ]*)(?=[{re.escape(''.join(_FORMULA))}])")


def csv_of(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of cells as CSV. A text that begins like a formula has an apostrophe before it, and so has what would begin
    like one where a semicolon, a tab or a new line within it ended the cell."""
    text = io.StringIO()
    csv.writer(text).writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = _INNER.sub(r"\1'", cell)
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
