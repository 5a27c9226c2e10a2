"""The languages of the pages: which one a reader wants, and its words, with plurals and waits put right.

The page's script says the same things live, from the same catalogue: `waiting.js` has the rules of this module again,
and a test holds the two together.
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

__all__ = ["PLURALS", "Language", "Words", "catalogue", "preferred", "span_in_words"]

_RIGHT_TO_LEFT = {"ar"}
_WALK_IN = "walk_in_"
#: Beyond this a wait is only said to be long.
LONGEST_HOURS = 12

Words = str | dict[str, str]


def _one_is_one(n: int) -> str:
    return "one" if n == 1 else "other"


def _zero_is_one(n: int) -> str:
    return "one" if n in (0, 1) else "other"


def _arabic(n: int) -> str:
    if n in (0, 1, 2):
        return ("zero", "one", "two")[n]
    tail = n % 100
    return "few" if 3 <= tail <= 10 else "many" if tail >= 11 else "other"


#: The category of a whole number in each language, by Unicode's rules.
PLURALS: dict[str, Callable[[int], str]] = {
    "en": _one_is_one,
    "de": _one_is_one,
    "es": _one_is_one,
    "fr": _zero_is_one,
    "pt": _zero_is_one,
    "ar": _arabic,
    "ja": lambda _: "other",
    "ko": lambda _: "other",
}


class Language:
    """One language, with the words an operator has put in place of ours. At a counter some things are called otherwise
    than on a site: its words, `counter_…`, stand in place of those."""

    def __init__(self, code: str, texts: dict[str, str] | None = None, *, walk_in: bool = False) -> None:
        self.code = code
        self.direction = "rtl" if code in _RIGHT_TO_LEFT else "ltr"
        self._own = texts or {}
        self._words = catalogue(code) | (_walk_in_words(code) if walk_in else {})
        self._words |= {name: found for name in TEXTS if (found := self._set(name))}

    def _set(self, name: str) -> str:
        """What an operator has set in place of ours; for this language, or for all."""
        return self._own.get(f"{name}.{self.code}") or self._own.get(name, "")

    def series(self, name: str) -> str:
        """What a series of labels is for, as the operator says; its name where they do not."""
        return self._set(f"series_{name}") or name

    def __call__(self, name: str, **values: object) -> str:
        """The words of a name, with values put in; the form for `n` where the words count something."""
        words = self._words[name]
        if isinstance(words, dict):
            raise TypeError(f"{name} counts something")
        return _filled(words, values)

    def words(self, *names: str) -> dict[str, Words]:
        """The words of some names, plural forms and all: for the page's script."""
        return {name: self._words[name] for name in names}

    def count(self, name: str, n: int, shown: str | None = None) -> str:
        """Words that count something, in the form that goes with `n`."""
        forms = self._words[name]
        if isinstance(forms, str):
            raise TypeError(f"{name} counts nothing")
        form = forms.get(PLURALS[self.code](n), forms["other"])
        return _filled(form, {"n": shown or self.number(n)})

    def number(self, n: int) -> str:
        """A number as one writes it."""
        return f"{n:,}".replace(",", str(self._words["group"]))

    def ahead(self, position: int) -> str:
        """How many are ahead of someone at a position."""
        return self.count("ahead", position - 1) if position > 1 else self("ahead_none")

    def behind(self, n: int) -> str:
        """How many are behind someone."""
        return self.count("behind", n) if n > 0 else self("behind_none")

    def wait(self, span: tuple[int, int] | None) -> str:
        """A wait in plain words, such as 'about 10–15 minutes'."""
        if span is None:
            return self("wait_unknown")
        name, low, high = span_in_words(*span)
        if name == "wait_soon":
            return self(name)
        return self.count(name, high, f"{low}–{high}" if low < high else None)


def span_in_words(low: float, high: float) -> tuple[str, int, int]:
    """Which words say a span of seconds, and from which to which number."""
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
    # Only what is named is put in: an operator's words may have braces of their own.
    for name, value in values.items():
        words = words.replace("{" + name + "}", str(value))
    return words


@cache
def catalogue(code: str) -> dict[str, Words]:
    """All words of a language."""
    file = files("fairline.web.pages") / "catalogues" / f"{code}.json"
    found: dict[str, Words] = msgspec.json.decode(file.read_bytes())
    return found


@cache
def _walk_in_words(code: str) -> dict[str, Words]:
    words = catalogue(code)
    return {name.removeprefix(_WALK_IN): found for name, found in words.items() if name.startswith(_WALK_IN)}
