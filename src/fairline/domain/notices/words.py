"""The texts of notices, in the languages of the pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from fairline.domain.notices import NoticeKind

_RIGHT_TO_LEFT = {"ar"}


#: The kinds that have a text for when a value is known.
_VARIANTS = {NoticeKind.JOINED: "position", NoticeKind.CALLED: "desk", NoticeKind.OPENING_STARTED: "rank"}


def direction(language: str) -> str:
    """The text direction of a language: `ltr` or `rtl`."""
    return "rtl" if language in _RIGHT_TO_LEFT else "ltr"


@cache
def words(language: str) -> dict[str, str]:
    """All texts of a language, by name."""
    file = files("fairline.domain.notices") / "catalogues" / f"{language}.json"
    found: dict[str, str] = msgspec.json.decode(file.read_bytes())
    return found


def number(language: str, n: int) -> str:
    """A number with the separators of a language."""
    return f"{n:,}".replace(",", words(language)["group"])


class Wording:
    """The texts of a queue's notices in one language: the built-in texts, or the operator's own."""

    def __init__(self, language: str, texts: dict[str, str]) -> None:
        self._words = words(language)
        self._language = language
        self._own = texts

    def subject(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """The subject of a notice."""
        return filled(self._words[f"{kind}_subject"], values)

    def text(self, kind: NoticeKind, values: dict[str, str]) -> str:
        """The text of a notice. The link is at its end, unless the operator's text places it elsewhere. Some built-in
        texts have a variant with the position, the desk or the rank in a draw, which is used if there is one."""
        name = f"notice_{kind}"
        found = self._own.get(f"{name}.{self._language}") or self._own.get(name)
        if not found:
            variant = _VARIANTS.get(kind)
            found = self._words[f"{kind}_{variant}" if variant and values[variant] else kind.value]
        if values["url"] and "{url}" not in found:
            found += " {url}"
        return filled(found, values).strip()


def filled(words: str, values: dict[str, str]) -> str:
    """A text with these values in the place of their names."""
    # Only known names are replaced, and only once: the operator's text may contain other braces, and so may a name.
    parts = words.split("{")
    filled = parts[0]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        filled += values[name] + rest if closed and name in values else "{" + part
    return filled
