"""Text from strangers made safe to show on a terminal: what would move the cursor, change colours, or turn the reading
direction is written out, such as \\x1b."""

from __future__ import annotations

import re

#: Control characters, those that end a line or turn the direction of writing, and halves of surrogate pairs.
_UNSEEN = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROLS = re.compile(f"[{_UNSEEN}]")
_CONTROLS_IN_LINES = re.compile(f"(?![\n\t])[{_UNSEEN}]")


def visible(text: str) -> str:
    """One value, such as a name: it stays on its line."""
    return _CONTROLS.sub(_written_out, text)


def visible_lines(text: str) -> str:
    """Text of several lines, with tabs, as a program has put it together."""
    return _CONTROLS_IN_LINES.sub(_written_out, text)


def visible_json(text: str) -> str:
    """JSON that says the same: strings are the only place where such characters can be left in it."""
    return _CONTROLS_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
