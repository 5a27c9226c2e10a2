"""CSV that a spreadsheet can open: no text in it is run as a formula, whoever wrote it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

#: How a formula begins; in wide letters too, which a spreadsheet takes where it is set to a language that types them.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def csv_of(rows: Iterable[Sequence[Any]]) -> str:
    """Rows of cells as CSV. A text that begins like a formula has an apostrophe before it."""
    text = io.StringIO()
    csv.writer(text).writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
