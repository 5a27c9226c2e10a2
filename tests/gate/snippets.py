"""The code in the documentation, so that what is printed there is what runs here."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(?P<language>\w+)\n(?:#|//) (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def snippet(page: str, name: str) -> str:
    """The code on a page of docs/ that begins with its file name in a comment."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = {match["name"]: match["code"] for match in _FENCE.finditer(text)}
    assert name in found, f"{page} has {sorted(found)}, not {name}"
    return found[name]
