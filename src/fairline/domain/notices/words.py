"""The texts of notices, in the languages of the pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from fairline.domain.notices import NoticeKind

_RIGHT_TO_LEFT = {"ar"}


def direction(language: str) -> str:
    """The direction in which a language is written."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


@cache
def words(language: str) -> dict[str, str]:
    """All texts of a language, by name."""
    file = files("fairline.domain.notices") / "catalogues" / f"{language}.json"
    found: dict[str, str] = msgspec.json.decode(file.read_bytes())
    return found


class Wording:
    """The texts of one queue in one language: ours, or those that an operator has set instead."""

    def __init__(self, language: str, texts: dict[str, str]) -> None:
        self._words = words(language)
        self._language = language
        self._own = texts

    def subject(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """The subject of a notice."""
        return _filled(self._words[f"{kind}_subject"], values)

    def text(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """The text of a notice, with the link at its end unless an operator's text has `{url}`. Some of our own texts
        have a second form, for a person with a position or a desk."""
        name = f"notice_{kind}"
        found = self._own.get(f"{name}.{self._language}") or self._own.get(name)
        if not found:
            there = {NoticeKind.JOINED: "position", NoticeKind.CALLED: "desk"}.get(kind)
            found = self._words[f"{kind}_{there}" if there and values[there] else kind.value]
        if values["url"] and "{url}" not in found:
            found += " {url}"
        return _filled(found, values).strip()


def _filled(words: str, values: dict[str, str]) -> str:
    # Only known names are replaced, and once: an operator's text or a person's name may contain braces.
    parts = words.split("{")
    filled = parts[0]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        filled += values[name] + rest if closed and name in values else "{" + part
    return filled
