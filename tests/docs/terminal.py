"""A terminal in which a page is typed: a real bash, with a folder that looks like a checkout, and a home of its own."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

#: What a command may take at most; those that never end must have shown what they show by then.
PATIENCE_SECONDS = 120
_END = re.compile(rb"\x1e(\d+)\x1e")
_READ_AND_RUN = r"""
shopt -s expand_aliases
while IFS= read -r -d '' typed; do
  eval "$typed" </dev/null
  printf '\036%s\036' "$?"
done
"""

#: Runs a program that Ctrl-C ends. Where the tests themselves were started in the background, it is ignored, and bash
#: cannot take that back.
_WITH_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """One bash. What is typed has one command after the other as its turn; all output is kept."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._bash = subprocess.Popen(
            [sys.executable, "-c", _WITH_CTRL_C, "bash", "--noprofile", "--norc", "-c", _READ_AND_RUN],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._seen = b""
        self._from = 0

    def type(self, command: str) -> None:
        """Type a command, without waiting for its end."""
        assert self._bash.stdin
        self._from = len(self._seen)
        self._bash.stdin.write(command.encode() + b"\0")
        self._bash.stdin.flush()

    def run(self, command: str) -> tuple[int, str]:
        """Type a command and wait for its end: its exit code, and what it printed."""
        self.type(command)
        found = self._await(_END, f"{command!r} does not end")
        output = self._seen[self._from : found.start()]
        return int(found[1]), output.decode(errors="replace")

    def see(self, pattern: str) -> str:
        """Wait until what was typed last shows something; all that it printed so far."""
        self._await(re.compile(pattern.encode()), f"{pattern!r} is not shown")
        return self.shown()

    def shown(self) -> str:
        """What was typed last has printed so far."""
        self._read(0)
        return self._seen[self._from :].decode(errors="replace")

    def interrupt(self) -> str:
        """Ctrl-C, and wait for the end of what was typed last: what it printed at last."""
        before = len(self._seen)
        self._signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE_SECONDS
        # What ends by the signal takes bash along, what ends by itself does not.
        while not self._read(max(0.0, deadline - time.monotonic())) and not _END.search(self._seen, before):
            assert time.monotonic() < deadline, f"Ctrl-C does not end it:\n{self.shown()[-2000:]}"
        self.close()
        return self._seen[before:].decode(errors="replace")

    def close(self) -> None:
        """End all that runs in here."""
        self._signal(signal.SIGKILL)
        self._bash.wait()
        for pipe in (self._bash.stdin, self._bash.stdout):
            if pipe and not pipe.closed:
                pipe.close()

    def _await(self, pattern: re.Pattern[bytes], trouble: str) -> re.Match[bytes]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := pattern.search(self._seen, self._from)):
            left = deadline - time.monotonic()
            ended = self._read(max(0.0, left)) or _END.search(self._seen, self._from)
            shown = self._seen[self._from :].decode(errors="replace")
            assert not ended or pattern.search(self._seen, self._from), f"{trouble}, and it has ended:\n{shown}"
            assert left > 0, f"{trouble} within {PATIENCE_SECONDS} s:\n{shown}"
        return found

    def _read(self, seconds: float) -> bool:
        """Take what was printed, for which it waits so long; whether all has ended."""
        assert self._bash.stdout
        if self._bash.stdout.closed:
            return True
        while select.select([self._bash.stdout], [], [], seconds)[0]:
            more = os.read(self._bash.stdout.fileno(), 65_536)
            if not more:
                return True
            self._seen += more
            seconds = 0
        return False

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._bash.pid, number)
        except ProcessLookupError:
            return
