"""The languages of the pages: the texts of each, with the right plural forms, numbers and waits.

The scripts of the pages write the same things from the same catalogue: `format.js` repeats the rules of this module,
and a test compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from fairline.domain.branding import TEXTS
from fairline.web.server.preferred_language import preferred

__all__ = [
    "PARTS",
    "PLURALS",
    "STAFF_PARTS",
    "Language",
    "Words",
    "catalogue",
    "preferred",
    "span_in_words",
    "staff_language",
]

#: The folders of `catalogues` whose words the pages of staff use, along with those of the visitors' pages, which are in
#: `catalogues` itself. No two of them have the same name.
STAFF_PARTS = ("staff", "settings", "openings")
PARTS = ("", *STAFF_PARTS)

_RIGHT_TO_LEFT = {"ar"}
_WALK_IN = "walk_in_"
#: A longer wait is only called "more than 12 hours".
LONGEST_HOURS = 12

Words = str | dict[str, str]


def _one_is_one(n: int) -> str:
    return "one" if n == 1 else "other"


def _spanish(n: int) -> str:
    return "one" if n == 1 else "many" if n and n % 1_000_000 == 0 else "other"


def _zero_is_one(n: int) -> str:
    return "one" if n in (0, 1) else "many" if n % 1_000_000 == 0 else "other"


def _arabic(n: int) -> str:
    if n in (0, 1, 2):
        return ("zero", "one", "two")[n]
    tail = n % 100
    return "few" if 3 <= tail <= 10 else "many" if tail >= 11 else "other"


#: The category of a whole number in each language, by Unicode's rules.
PLURALS: dict[str, Callable[[int], str]] = {
    "en": _one_is_one,
    "de": _one_is_one,
    "es": _spanish,
    "fr": _zero_is_one,
    "pt": _zero_is_one,
    "ar": _arabic,
    "ja": lambda _: "other",
    "ko": lambda _: "other",
}


class Language:
    """One language, with the texts that an operator has set in their place. A walk-in line has its own texts for some
    things: `walk_in_…` replaces the text without that prefix."""

    def __init__(
        self, code: str, texts: dict[str, str] | None = None, *, walk_in: bool = False, parts: tuple[str, ...] = ("",)
    ) -> None:
        self.code = code
        self.direction = "rtl" if code in _RIGHT_TO_LEFT else "ltr"
        self._own = texts or {}
        self._words = {name: words for part in parts for name, words in catalogue(code, part).items()}
        self._words |= _walk_in_words(code) if walk_in else {}
        self._words |= {name: found for name in TEXTS if (found := self._set(name))}

    def _set(self, name: str) -> str:
        """The text that an operator has set, for this language or for all; empty if there is none."""
        return self._own.get(f"{name}.{self.code}") or self._own.get(name, "")

    def series(self, name: str) -> str:
        """What a series of labels is for; its name if the operator has not said it."""
        return self._set(f"series_{name}") or name

    def __call__(self, name: str, **values: object) -> str:
        """The text of a name, with values put in."""
        words = self._words[name]
        if isinstance(words, dict):
            raise TypeError(f"{name} counts something")
        return _filled(words, values)

    @property
    def names(self) -> set[str]:
        """The names of all texts."""
        return set(self._words)

    def words(self, *names: str) -> dict[str, Words]:
        """The texts of some names, with all plural forms, for the page's script."""
        return {name: self._words[name] for name in names}

    def count(self, name: str, n: int, shown: str | None = None, **values: object) -> str:
        """A text that counts something, in the plural form for `n`."""
        forms = self._words[name]
        if isinstance(forms, str):
            raise TypeError(f"{name} counts nothing")
        form = forms.get(PLURALS[self.code](n), forms["other"])
        return _filled(form, {"n": shown or self.number(n), **values})

    def number(self, n: int) -> str:
        """A number with the separators of the language."""
        return f"{n:,}".replace(",", str(self._words["group"]))

    def ahead(self, position: int) -> str:
        """The number of people ahead of a position, in words."""
        return self.count("ahead", position - 1) if position > 1 else self("ahead_none")

    def behind(self, n: int) -> str:
        """The number of people behind, in words."""
        return self.count("behind", n) if n > 0 else self("behind_none")

    def wait(self, span: tuple[int, int] | None) -> str:
        """A wait in plain words, such as 'about 10–15 minutes'."""
        if span is None:
            return self("wait_unknown")
        name, low, high = span_in_words(*span)
        if name == "wait_soon":
            return self(name)
        return self.count(name, high, f"{low}–{high}" if low < high else None)

    def no_wait(self, at_least_seconds: float, people_per_minute: float) -> str:
        """What is said where there is no estimate: the shortest wait, or else how fast people go in."""
        if at_least_seconds >= 60:
            return self.count("wait_at_least", math.floor(at_least_seconds / 60))
        if people_per_minute >= 1:
            return self.count("wait_pace", math.floor(people_per_minute + 0.5))
        return self("wait_unknown")


def span_in_words(low: float, high: float) -> tuple[str, int, int]:
    """The text for a range of seconds, with its lowest and highest number."""
    if high <= 60:
        return "wait_soon", 0, 0
    if low >= LONGEST_HOURS * 3600:
        return "wait_long", LONGEST_HOURS, LONGEST_HOURS
    name, unit = ("wait_minutes", 60) if high <= 90 * 60 else ("wait_hours", 3600)
    step = 5 if name == "wait_minutes" and high > 10 * unit else 1
    most = math.ceil(high / unit / step) * step
    least = math.floor(low / unit / step + 0.5) * step
    return name, min(max(least, 1), most), most


def _filled(words: str, values: dict[str, Any]) -> str:
    # Only known names are replaced: an operator's text may contain other braces.
    for name, value in values.items():
        words = words.replace("{" + name + "}", str(value))
    return words


@cache
def staff_language(code: str) -> Language:
    """A language as the pages of staff speak it."""
    return Language(code, parts=PARTS)


@cache
def catalogue(code: str, part: str = "") -> dict[str, Words]:
    """The texts of a language: those of the visitors' pages, or those of another part."""
    file = files("fairline.web.pages") / "catalogues" / part / f"{code}.json"
    found: dict[str, Words] = msgspec.json.decode(file.read_bytes())
    return found


@cache
def _walk_in_words(code: str) -> dict[str, Words]:
    words = catalogue(code)
    return {name.removeprefix(_WALK_IN): found for name, found in words.items() if name.startswith(_WALK_IN)}
