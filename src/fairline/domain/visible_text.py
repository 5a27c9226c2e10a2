"""Makes untrusted text safe to show on a terminal: characters that would move the cursor, change colours or reverse the
reading direction are escaped, such as \\x1b."""

from __future__ import annotations

import re

#: Control characters, characters that end a line or change the text direction, and halves of surrogate pairs.
_ESCAPED = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROLS = re.compile(f"[{_ESCAPED}]")
_CONTROLS_IN_LINES = re.compile(f"(?![\n\t])[{_ESCAPED}]")


def visible(text: str) -> str:
    """Escape one value, such as a name, so that it stays on one line."""
    return _CONTROLS.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Escape text of several lines; line breaks and tabs stay."""
    return _CONTROLS_IN_LINES.sub(_escaped, text)


def visible_json(text: str) -> str:
    """Escape JSON without changing its meaning: such characters can only be inside its strings."""
    return _CONTROLS_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
