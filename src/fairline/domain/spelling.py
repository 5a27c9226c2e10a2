"""Suggests names that are similar to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(typed: str, names: Iterable[str], *, prefix: str = "") -> str:
    """Return a question with the nearest names, to append to an error message; empty if none is near. `prefix` is put
    before each name and is not compared."""
    from difflib import get_close_matches  # imported late: only needed after a mistake

    known = list(names)
    word = typed.lower().replace("-", "_")
    by_name = {name.lower(): name for name in known}
    near = [by_name[name] for name in get_close_matches(word, by_name, n=3, cutoff=0.7)]
    parts = [name for name in known if word in name.lower().split("_") and name not in near]
    *first, last = [prefix + name for name in (*near, *parts)][:3] or [""]
    return f" Did you mean {', '.join(first)}{' or ' if first else ''}{last}?" if last else ""
