"""What `make` installs, and when."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.package.conftest import ROOT

CHANGED = ("pyproject.toml", "constraints.txt")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh clone, as far as make can see."""
    for name in ("Makefile", *CHANGED):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
        os.utime(tmp_path / name, (1_000, 1_000))
    return tmp_path


def would_do(checkout: Path, target: str) -> str:
    """The commands of a target that make would run now."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    asked = subprocess.run(
        ["make", "--dry-run", target], cwd=checkout, env=environ, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


def touch(checkout: Path, name: str, time: int) -> None:
    path = checkout / ".venv" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time, time))


def test_the_first_run_installs_what_running_needs_and_no_more(checkout: Path) -> None:
    commands = would_do(checkout, "run")
    assert "-m venv" in commands
    assert "-e .\n" in commands
    assert "[dev]" not in commands
    assert "-e '.[dev]'" in would_do(checkout, "test")


def test_nothing_is_installed_twice(checkout: Path) -> None:
    touch(checkout, "bin/python", 2_000)
    touch(checkout, ".run", 2_000)
    assert "pip install" not in would_do(checkout, "run")
    assert "pip install" in would_do(checkout, "test")
    touch(checkout, ".dev", 2_000)
    for target in ("run", "test", "check", "dist"):
        assert "pip install" not in would_do(checkout, target), target


def test_biome_is_installed_for_the_check_alone_and_again_only_for_another_version(checkout: Path) -> None:
    for made in ("bin/python", ".run", ".dev"):
        touch(checkout, made, 2_000)
    assert "@biomejs/biome@" not in would_do(checkout, "test")
    commands = would_do(checkout, "check")
    (version,) = re.findall(r"@biomejs/biome@(\S+)", commands)
    assert "--no-package-lock" in commands
    touch(checkout, f".biome-{version}", 2_000)
    assert "@biomejs/biome@" not in would_do(checkout, "check")
    makefile = checkout / "Makefile"
    makefile.write_text(makefile.read_text(encoding="utf-8").replace(version, "9.9.9"), encoding="utf-8")
    assert "@biomejs/biome@9.9.9" in would_do(checkout, "check")


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_of_what_is_needed_is_installed_into_the_same_environment(checkout: Path, name: str) -> None:
    for made in ("bin/python", ".run", ".dev"):
        touch(checkout, made, 2_000)
    os.utime(checkout / name, (3_000, 3_000))
    for target in ("run", "test"):
        assert "pip install" in would_do(checkout, target), target
        assert "-m venv" not in would_do(checkout, target), target


def test_no_debian_package_is_installed_where_that_is_not_wanted(tmp_path: Path) -> None:
    called = tmp_path / "called"
    for name, does in {"id": "echo 0", "apt-get": f'echo "$@" >>"{called}"', "dpkg-query": "exit 1"}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    asked = subprocess.run(
        [ROOT / "scripts" / "system-packages", "no-such-program"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "NO_APT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    assert not called.exists(), called.read_text()
    assert "Not installed: no-such-program." in asked.stderr
