"""The pages that are followed, and the blocks on them.

On these pages an indented block is what the reader types; a fenced block says in which language it is:

- `text` is what the command before it prints; `…` stands for what differs from run to run;
- one that begins with a comment that names a file (`# check_session_token.py`) is that file;
- anything else is there to be read.

A comment in front of a block says how it is typed, if not in the terminal of the last one:

- `<!-- in another terminal -->`, or of an output: `<!-- in the other terminal -->`;
- `<!-- after Ctrl-C -->`, which ends what was started last, or `<!-- after Ctrl-C, in the first terminal -->`;
- `<!-- refused -->`: the answer is an error, and that is the point;
- `<!-- long -->`: it takes many seconds of a processor, and runs with FAIRLINE_LONG=1 only;
- `<!-- not run: why -->`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
TYPED = "typed"
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n)\n((?: {4,}[^\n]*\n)(?:(?: {4,}[^\n]*)?\n)*)")
_COMMENT = re.compile(r"<!-- ([^>]*?) -->\s*$")
_FILE = re.compile(r"(?:#|//|--|<!--) ([\w-]+\.\w+)(?: -->)?\n")


@dataclass(frozen=True)
class Block:
    """One block: where it is on its page, what it is, and the comment in front of it."""

    page: str
    line: int
    language: str
    text: str
    note: str
    prose: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason_not_to_run(self) -> str | None:
        """Why it is not run; None if it is."""
        return self.note.removeprefix("not run: ") if self.note.startswith("not run:") else None

    @property
    def is_run(self) -> bool:
        """Whether the reader types it today."""
        is_long = self.note == "long" and not os.environ.get("FAIRLINE_LONG")
        return self.reason_not_to_run is None and not is_long

    @property
    def file(self) -> str | None:
        """The file that this is, if the first line says so."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    def commands(self) -> Iterator[str]:
        """What is typed, one command after the other: a command may have several lines."""
        typed: list[str] = []
        for line in self.text.splitlines():
            typed.append(line)
            if line.strip() and _is_whole("\n".join(typed)):
                yield "\n".join(typed)
                typed = []
        assert not "".join(typed).strip(), f"{self}: this command has no end:\n{typed}"


def followed() -> list[str]:
    """The README, the tutorial, and the how-tos."""
    pages = [*sorted((ROOT / "docs" / "tutorial").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
    return ["README.md", *(str(page.relative_to(ROOT)) for page in pages)]


def blocks_of(page: str, text: str | None = None) -> list[Block]:
    """All blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    fences = [(match.start(), match[1], match[2]) for match in _FENCE.finditer(text)]
    # What is in a fence is not indented text of the page; the positions stay.
    rest = _FENCE.sub(lambda match: re.sub(r"[^\n]", "-", match[0]), text)
    indented = [(match.start(1), TYPED, match[1].rstrip() + "\n") for match in _INDENTED.finditer(rest)]
    found, end = [], 0
    for start, language, code in sorted([*fences, *indented]):
        prose, note = _before(text[end:start])
        found.append(Block(page, text.count("\n", 0, start) + 1, language, dedent(code), note, prose))
        end = start + len(code) if language == TYPED else end
    return found


def _before(text: str) -> tuple[str, str]:
    """What is said since something was typed, and the comment in front of this one."""
    found = _COMMENT.search(text)
    return (text[: found.start()], found[1]) if found else (text, "")


def _is_whole(typed: str) -> bool:
    if typed.endswith("\\"):
        return False
    try:
        shlex.split(typed, comments=True)
    except ValueError:
        return False
    return True
