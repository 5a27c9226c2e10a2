"""The Pythons of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

#: What pyproject.toml names.
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def find_python(version: str) -> Path | None:
    """An interpreter of a version: the one that runs this, one on the path, or one that pyenv or uv keeps."""
    return next((each for each in _candidates(version) if _is(each, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    if version == RUNNING:
        yield Path(sys.base_prefix, "bin", name)
    if on_path := shutil.which(name):
        yield Path(on_path)
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    yield from kept.glob(f"{version}.*/bin/{name}")
    yield from (Path.home() / ".local/share/uv/python").glob(f"*-{version}.*/bin/{name}")


def _is(python: Path, version: str) -> bool:
    """A file of that name need not be one: pyenv's only says that no such version is chosen."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        asked = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return False
    return asked.returncode == 0 and asked.stdout.strip() == version
