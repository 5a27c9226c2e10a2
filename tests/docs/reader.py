"""Someone who follows a page: types what it says, in order, and looks whether it shows what it promises."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.docs.pages import TYPED, Block
from tests.docs.terminal import Terminal

#: What runs until Ctrl-C, and what it shows once it runs.
FOREGROUND = {
    r"make run\b": r"Fairline is ready.*\n.*http://\S+",
    r"(?:\S+/)?fairline serve\b": r"Fairline is ready.*\n.*http://\S+",
    r"curl (-\w+ )*-N\b": r"event: \w+",
    r"fairline top\b(?!.*--once)": r"\w+",
    r"python -m examples\.sms_gateway\b": r"listening on http://\S+",
    r"python -m examples\.shop\.serve\b": r"",
}
#: What the reader copies from the output into a line with `…`, by the name of the variable.
COPIED = {
    "TOKEN": r'"token":"([^"]+)"',
    "SESSION": r'"session_token":"([^"]+)"',
    "SESSION_TOKEN": r'"session_token":"([^"]+)"',
    "WEBHOOK": r"webhook's id is (\w+)",
    "FAIRLINE_WEBHOOK_SECRET": r"whsec_(\S+)",
    "DRAW": r"draw will be (\S+)\.",
    "VERSION": r"^(\d{13,})\s",
}
#: What no command may print, whatever it exits with.
TROUBLE = re.compile(r'Traceback \(most recent call last\)|"status":\s?[45]\d\d\b|^curl: \(\d+\)', re.MULTILINE)
_SETTINGS = r"^(?:export )?(?:\w+=(?:'[^']*'|\"[^\"]*\"|\S*)\s+)*"
_BLANK = re.compile(r"(\w+)=(['\"]?)(\w*)…")


class Reader:
    """Follows one page, in a folder. `elsewhere` says where the addresses of the page are here; the server has, or will
    have, its key in `data`."""

    def __init__(
        self, new_terminal: Callable[[], Terminal], folder: Path, server: str, data: Path, elsewhere: Mapping[str, str]
    ) -> None:
        self._new_terminal = new_terminal
        self._folder = folder
        self._server = server
        self._data = data
        self._elsewhere = elsewhere
        self._opened: list[Terminal] = []
        self._busy: list[Terminal] = []
        self._free = [self._open()]  # the one that is typed into is the last
        self._printed = ""
        self._last = ""  # what the last command printed
        self._showing: Terminal | None = None  # where that command still runs

    def follow(self, blocks: list[Block], then: Callable[[Block], None] = lambda _: None) -> None:
        """All of a page, with a check after each block, and Ctrl-C where something still runs."""
        was_run = True
        for block in blocks:
            if block.file:
                (self._folder / block.file).write_text(self._here(block.text), encoding="utf-8")
            elif block.language == TYPED:
                was_run = block.is_run
                if was_run:
                    self._type(block)
            elif block.language == "text" and was_run:
                self._expect(block)
            then(block)
        while self._busy:
            self._end(self._busy.pop())

    def tickets(self, queue: str) -> list[dict[str, Any]]:
        """Everyone in a queue of the server; nobody while it does not run."""
        try:
            headers = {"authorization": f"Bearer {self._key()}"}
            answer = httpx.get(f"{self._server}/api/v1/admin/queues/{queue}/tickets", headers=headers, timeout=30)
        except (httpx.TransportError, FileNotFoundError):
            return []
        found: list[dict[str, Any]] = answer.json().get("tickets", [])
        return found

    def close(self) -> None:
        """End what is left."""
        for terminal in self._opened:
            terminal.close()

    def _type(self, block: Block) -> None:
        if block.note == "in another terminal":
            assert "terminal" in block.prose, f"{block}: the text does not say that another terminal is needed"
            self._free.append(self._open())
        elif block.note in ("after Ctrl-C", "after Ctrl-C, in the first terminal"):
            assert "Ctrl-C" in block.prose, f"{block}: the text does not say Ctrl-C"
            self._end(self._busy.pop(0 if "first" in block.note else -1))
            self._free.append(self._open())
        else:
            assert block.note in ("", "refused", "long"), f"{block}: <!-- {block.note} --> means nothing"
        for command in block.commands():
            assert self._free, f"{block}: no terminal is free; say that another one is needed"
            self._run(block, command, self._free[-1])

    def _run(self, block: Block, written: str, terminal: Terminal) -> None:
        command = self._filled(block, self._here(written))
        for pattern, ready in FOREGROUND.items():
            if re.search(_SETTINGS + pattern, command):
                self._free.remove(terminal)
                self._busy.append(terminal)
                self._showing = terminal
                terminal.type(command)
                self._last = terminal.see(ready)
                self._printed += self._last
                return
        code, self._last = terminal.run(command)
        self._showing = None
        self._printed += self._last
        if block.note == "refused":
            assert code or TROUBLE.search(self._last), f"{block}: {command}\nis not refused:\n{self._last}"
        else:
            assert code == 0, f"{block}: {command}\nends with {code}:\n{self._last}"
            assert not TROUBLE.search(self._last), f"{block}: {command}\nis in trouble:\n{self._last}"

    def _expect(self, block: Block) -> None:
        expected = _pattern(self._here(block.text))
        if showing := self._busy[-1] if block.note == "in the other terminal" else self._showing:
            self._printed += showing.see(expected)
            return
        assert re.search(expected, self._last), f"{block}: what is printed is\n{self._last}"

    def _here(self, text: str) -> str:
        for there, here in self._elsewhere.items():
            text = text.replace(there, here)
        return text

    def _filled(self, block: Block, command: str) -> str:
        """The command with what the reader has seen in place of `…`."""

        def copy(blank: re.Match[str]) -> str:
            name, quote, begin = blank.groups()
            if name == "KEY":
                return f"{name}={quote}{self._key()}"
            assert name in COPIED, f"{block}: nobody knows what goes into {name}"
            running = "".join(terminal.shown() for terminal in self._busy)
            found = re.findall(COPIED[name], self._printed + running, re.MULTILINE)
            assert found, f"{block}: nothing was printed that {name} could be:\n{self._printed}"
            return f"{name}={quote}{begin}{found[-1]}"

        filled = _BLANK.sub(copy, command)
        assert "…" not in filled, f"{block}: what goes in place of … in {command!r}?"
        return filled

    def _key(self) -> str:
        return (self._data / "admin-key").read_text(encoding="utf-8").strip()

    def _open(self) -> Terminal:
        terminal = self._new_terminal()
        self._opened.append(terminal)
        return terminal

    def _end(self, terminal: Terminal) -> None:
        said = terminal.interrupt()
        assert "Traceback" not in said, f"after Ctrl-C:\n{said}"


def _pattern(expected: str) -> str:
    """What an output must have in it: these lines, one after the other. `…` is anything, on a line of its own any
    lines; how wide spaces are does not matter."""
    lines = []
    for line in filter(None, map(str.strip, expected.splitlines())):
        words = r"[ \t]+".join(re.escape(word).replace("…", r"[^\n]*?") for word in line.split())
        lines.append(r"(?:[^\n]*\n)*?" if line == "…" else rf"[ \t]*{words}[ \t\r]*(?:\n\s*|$)")
    return r"(?:^|(?<=\n))" + "".join(lines)
