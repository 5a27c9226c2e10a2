"""The public Python API: what `from fairline import …` offers, and the how-to that shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fairline

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "use-from-python.md"


def test_all_that_is_exported_is_there_and_is_what_its_module_has() -> None:
    for name in fairline.__all__:
        value = getattr(fairline, name)
        if name != "__version__":
            assert value is getattr(import_module(fairline._MODULES[name]), name), name
    assert set(fairline._MODULES) | {"__version__"} == set(fairline.__all__)


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Rooms'"):
        _ = fairline.Rooms


def test_a_program_runs_a_line_as_the_how_to_prints_it(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (printed,) = re.findall(r"```\n\n((?:    .*\n)+)", text)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [line.strip() for line in printed.splitlines()]
