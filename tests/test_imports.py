"""Who imports whom: the layering rule of CONTRIBUTING.md, and what a site that is guarded has to have."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairline

SOURCE = Path(fairline.__file__).parent
ROOT = Path(__file__).parents[1]
#: What of ours the gate may import beside itself.
OF_THE_GATE = {"fairline", "fairline.errors", "fairline.domain.bypass"}
#: Beside the layers, yet to the left of all but `cli`: it begins the program, or plays an evening with all of it.
LEFT = {"__main__.py", "simulation.py"}
#: To the left of each layer: what it must not import.
ABOVE = {
    "store": ("room", "keeper", "web", "cli", "gate"),
    "keeper": ("web", "cli", "gate"),
    "web": ("cli", "gate"),
    "cli": ("gate",),
}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports by way of dots"
            yield node.module or ""
            yield from (f"{node.module}.{each.name}" for each in node.names)


def ours(path: Path) -> set[str]:
    """The parts of ours that a file imports: packages, and the modules beside them."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("fairline.")}


@pytest.mark.parametrize("layer", ABOVE)
def test_imports_point_to_the_right_only(layer: str) -> None:
    for path in (SOURCE / layer).rglob("*.py"):
        assert not ours(path) & set(ABOVE[layer]), path


def test_what_is_beside_the_layers_imports_none_of_those_that_speak_to_the_world() -> None:
    for path in [*SOURCE.glob("*.py"), *(SOURCE / "notices").glob("*.py")]:
        if path.name not in LEFT:
            assert not ours(path) & {"keeper", "web", "cli", "gate"}, path


def test_the_gate_is_built_on_the_standard_library_and_cryptography() -> None:
    files = [*(SOURCE / "gate").rglob("*.py"), *(SOURCE / f"{name}.py" for name in ("errors", "bypass"))]
    names = {name for path in files for name in imported(path)}
    others = {name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "cryptography"}}
    modules = {name for name in others if not name.startswith("fairline.gate")}
    assert {".".join(name.split(".")[:2]) for name in modules} <= OF_THE_GATE


@pytest.mark.parametrize("module", ["fairline.gate.asgi", "fairline.gate.wsgi"])
def test_a_site_that_has_the_gate_loads_nothing_of_the_server(module: str) -> None:
    words = [sys.executable, "-c", f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"]
    loaded = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout)
    of_ours = {name for name in loaded if name.split(".")[0] == "fairline" and not name.startswith("fairline.gate")}
    assert of_ours == OF_THE_GATE


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/reference/gate.md"])
def test_the_pages_name_what_the_gate_imports(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    told = re.search(r"stands apart: [^:]*would\.|## What it needs .*? no web\.", text)
    assert told
    assert {f"fairline.{name}" for name in re.findall(r"`(\w+)\.py`", told[0])} | {"fairline"} == OF_THE_GATE
