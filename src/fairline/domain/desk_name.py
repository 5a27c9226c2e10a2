"""Checks the name of a desk. People see it on the board and hear it when they are called."""

from __future__ import annotations

import unicodedata

from fairline.errors import Invalid, InvalidRequest

LONGEST_NAME = 60
#: Unicode categories of control and format characters, surrogates, and line and paragraph separators. They are
#: invisible, or they reverse the text next to them.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def desk_name(name: str, field: str = "desk", error: type[Invalid] = InvalidRequest) -> str:
    """Return the name without surrounding spaces, or raise `error` if it cannot be a desk name."""
    trimmed = name.strip()
    if not 1 <= len(trimmed) <= LONGEST_NAME or any(unicodedata.category(char) in _INVISIBLE for char in trimmed):
        rule = f"1 to {LONGEST_NAME} visible characters on one line"
        raise error(field, f"must be the name of a desk, such as 'Desk 2': {rule}; got {name!r:.80}")
    return trimmed
