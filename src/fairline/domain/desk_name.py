"""The name of a desk: what people are told when they are called, on the board and by voice."""

from __future__ import annotations

import unicodedata

from fairline.errors import Invalid, InvalidRequest

LONGEST_NAME = 60
#: Control and format characters, halves of surrogate pairs, and breaks of lines and paragraphs: nobody sees them, or
#: they turn around what is beside them.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def desk_name(name: str, field: str = "desk", error: type[Invalid] = InvalidRequest) -> str:
    """A checked name of a desk, without space around it."""
    trimmed = name.strip()
    if not 1 <= len(trimmed) <= LONGEST_NAME or any(unicodedata.category(sign) in _UNSEEN for sign in trimmed):
        rule = f"1 to {LONGEST_NAME} characters that can be seen, in one line"
        raise error(field, f"must be the name of a desk, such as 'Desk 2': {rule}; got {name!r:.80}")
    return trimmed
