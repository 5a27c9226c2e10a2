"""The words that the scripts of a page use. They are found in the scripts themselves, so that no page has a list of its
words to keep, and gets no others.

A script asks for a text with `t("name")` or `count("name", n)`. A name may end with a value, as in
``t(`state_${ticket.status}`)``: then the page gets all texts whose names begin like that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_USED = re.compile(r"""\b(?:t|count)\(\s*(?:"(\w+)"|`(\w+_)\$\{)""")
#: What `format.js` needs of every language.
_ALWAYS = ("group",)


def names_used(script: str) -> tuple[set[str], set[str]]:
    """The names of texts in a script, and the beginnings of names."""
    found = _USED.findall(script)
    return {name for name, _ in found if name}, {beginning for _, beginning in found if beginning}


def words_used(scripts: Iterable[str], names: Iterable[str]) -> list[str]:
    """Those of all names whose texts some scripts use. A name in a script that is no text is named too, so that asking
    for its text fails."""
    exact, beginnings = set(_ALWAYS), set[str]()
    for script in scripts:
        for found, into in zip(names_used(script), (exact, beginnings), strict=True):
            into |= found
    return sorted(exact | {name for name in names if name.startswith(tuple(beginnings))})
