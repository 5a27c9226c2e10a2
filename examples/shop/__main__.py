"""Runs Fairline with a small shop behind it: `python -m examples.shop [options of fairline serve]`.

This process becomes the server; the shop is a process beside it. A pipe that the server holds without knowing ties them
together: however the server ends, the pipe closes, and the shop ends too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Start the shop, and become the server."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    subprocess.Popen(
        [sys.executable, "-m", "examples.shop.serve", "--beside", *sys.argv[1:]],
        stdin=reading,
        cwd=Path(__file__).parents[2],
    )
    os.close(reading)
    os.execv(sys.executable, [sys.executable, "-m", "fairline", "serve", *sys.argv[1:]])


if __name__ == "__main__":
    main()
