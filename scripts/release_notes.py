"""Prints what CHANGELOG.md says of a version: `python scripts/release_notes.py v1.2.3`.

Ends with 1 where that is not the version of this checkout, or where the changelog has nothing to say of it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(tag: str, version: str, changelog: str) -> str:
    """The section of the version that is tagged."""
    if tag != f"v{version}":
        raise ValueError(f"The tag is {tag}, and pyproject.toml says {version}: the tag should be v{version}.")
    section = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if not section or not section[1].strip():
        raise ValueError(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD' with something in it.")
    return section[1].strip()


def main(tag: str) -> int:
    """Print the notes of a tag."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        print(notes(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
