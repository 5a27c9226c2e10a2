"""The entry point of `python -m fairline`, which is the same as the command `fairline`."""

from __future__ import annotations

from fairline.cli import main

if __name__ == "__main__":
    main()
