"""The packages as `make dist` builds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parents[2]
Build: TypeAlias = Callable[[str, Path], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds the wheel and the source distribution of a checkout into a new folder."""

    def run(name: str, checkout: Path) -> Path:
        folder = tmp_path_factory.mktemp(name)
        command: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, checkout]
        built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        return folder

    return run


@pytest.fixture(scope="session")
def dist(build: Build) -> Path:
    """The folder with both packages."""
    return build("dist", ROOT)


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(dist: Path) -> Path:
    (found,) = dist.glob("*.tar.gz")
    return found
