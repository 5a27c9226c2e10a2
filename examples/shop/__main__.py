"""Runs Fairline with a small shop behind it: `python -m examples.shop --help`.

This process is the server; the shop is a process next to it, with simulated visitors who make a line. Ctrl-C is for the
server alone, so the shop has a session of its own; a pipe ties it to the server. However the server ends, the pipe
closes, and the shop ends too.
"""

from __future__ import annotations

import argparse
import inspect
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

#: How many simulated visitors wait, and how often one of the line is let in.
CROWD, EVERY_SECONDS = 10, 4.0
#: So much at most, and at least.
MOST, SHORTEST, LONGEST = 100, 0.2, 60
PORT = 8090
END_SECONDS = 5


def main() -> None:
    """Serve until stopped."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until all is imported: a traceback would help nobody
    from fairline.cli import show
    from fairline.cli.serve import run, serve
    from fairline.errors import FairlineError

    given = vars(_options(list(inspect.signature(serve).parameters)).parse_args())
    shop = _Shop(given.pop("crowd"), given.pop("every"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = run(given, on_ready=shop.open)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except FairlineError as error:
        show.error(error.message)
        code = 1
    finally:
        shop.close()
    sys.exit(code)


def _options(of_server: list[str]) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m examples.shop",
        description="Fairline, a small shop behind it, and simulated visitors who make a line.",
    )
    options.add_argument(
        "--crowd", type=_crowd, default=CROWD, help=f"how many simulated visitors wait; 0 is none (default: {CROWD})"
    )
    options.add_argument(
        "--every",
        type=_seconds,
        default=EVERY_SECONDS,
        help=f"seconds from one who is let in to the next (default: {EVERY_SECONDS:g})",
    )
    others = options.add_argument_group("of the server, as 'fairline serve --help' tells")
    for name in of_server:
        others.add_argument(f"--{name}")
    return options


def _crowd(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {MOST}; got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not SHORTEST <= seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f"must be from {SHORTEST} to {LONGEST}; got {text!r}")
    return seconds


class _Shop:
    """The process of the shop."""

    def __init__(self, crowd: int, every: float) -> None:
        self._crowd = crowd
        self._every = every
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, server: str, admin_key: str) -> dict[str, str]:
        """Start it next to the server that runs at an address; answers what to print about it. A client that comes
        before it is quite ready waits for it."""
        with _listen() as listening:
            here = f"http://127.0.0.1:{listening.getsockname()[1]}"
            command = [sys.executable, "-m", "examples.shop.serve", "--beside", str(listening.fileno())]
            command += ["--fairline", server, "--crowd", str(self._crowd), "--every", str(self._every)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                pass_fds=[listening.fileno()],
                env=os.environ | {"FAIRLINE_ADMIN_KEY": admin_key},
                cwd=Path(__file__).parents[2],
                start_new_session=True,
            )
        return {"open this": f"{here}/", "": self._told()}

    def _told(self) -> str:
        if not self._crowd:
            return "A lamp shop with a line in front of it. Nobody is in line but you, so it lets you in at once."
        return (
            f"A lamp shop with a line in front of it: you wait about {self._crowd * self._every:.0f} seconds behind\n"
            f"{'':<22}{self._crowd} simulated visitors, see your place move up, and come in.\n"
            f'{"":<22}To start without them: make run ARGS="--crowd 0"'
        )

    def close(self) -> None:
        """End it, and wait until it is gone."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _listen() -> socket.socket:
    """At the usual port, or at a free one where that is taken."""
    try:
        return socket.create_server(("127.0.0.1", PORT))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))


if __name__ == "__main__":
    main()
