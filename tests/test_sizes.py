"""Files that one can read at a sitting: no module is long, and no line is wider than a screen."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import fairline

SOURCE = Path(fairline.__file__).parent
STATIC = SOURCE / "web" / "pages" / "static"
LONGEST_MODULE, USUAL_MODULE, WIDEST_LINE = 400, 130, 120


def test_no_module_is_long_and_most_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > LONGEST_MODULE} == {}
    assert median(lengths.values()) <= USUAL_MODULE


def test_no_script_is_long() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in STATIC.glob("*.js")}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_no_line_of_a_script_or_a_style_sheet_is_too_wide() -> None:
    """The formatter leaves comments and long texts as they are."""
    wide = [
        f"{path.name}:{number}"
        for path in sorted(STATIC.iterdir())
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDEST_LINE
    ]
    assert wide == []
