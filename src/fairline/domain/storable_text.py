"""Refuses text that no store can keep."""

from __future__ import annotations

from fairline.errors import Invalid


def check_text(field: str, text: str, error: type[Invalid]) -> None:
    """Raise `error` for text that no store can keep: NUL characters and halves of surrogate pairs."""
    if "\x00" in text:
        raise error(field, "must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(field, "must be valid Unicode; it contains half of a surrogate pair") from None
