"""The words of notices, in the languages of the pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from fairline.domain.notices import NoticeKind

_RIGHT_TO_LEFT = {"ar"}


def direction(language: str) -> str:
    """Which way it is written."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


@cache
def words(language: str) -> dict[str, str]:
    """All words of a language, by their names."""
    file = files("fairline.domain.notices") / "catalogues" / f"{language}.json"
    found: dict[str, str] = msgspec.json.decode(file.read_bytes())
    return found


class Wording:
    """How a queue says things in one language: in our words, or in those an operator has put in their place."""

    def __init__(self, language: str, texts: dict[str, str]) -> None:
        self._words = words(language)
        self._language = language
        self._own = texts

    def subject(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """A notice in a few words."""
        return _filled(self._words[f"{kind}_subject"], values)

    def text(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """A notice; the link is at its end, unless an operator wants it elsewhere. Of our own words there are some for
        who has a position or a desk to go to, and some for who has not."""
        name = f"notice_{kind}"
        found = self._own.get(f"{name}.{self._language}") or self._own.get(name)
        if not found:
            there = {NoticeKind.JOINED: "position", NoticeKind.CALLED: "desk"}.get(kind)
            found = self._words[f"{kind}_{there}" if there and values[there] else kind.value]
        if values["url"] and "{url}" not in found:
            found += " {url}"
        return _filled(found, values).strip()


def _filled(words: str, values: dict[str, str]) -> str:
    # Only what is named is put in, and once: an operator's words may have braces of their own, and so may a name.
    parts = words.split("{")
    filled = parts[0]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        filled += values[name] + rest if closed and name in values else "{" + part
    return filled
