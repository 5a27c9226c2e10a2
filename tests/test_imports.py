"""Which package may import which: the layering rule of CONTRIBUTING.md, and what a protected site loads."""

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

#: Modules at the root that depend on no layer.
SHARED = {"errors", "caches", "settings", "logs"}
#: Every layer, and what it may import. A layer is a package with all that is inside it, or a module at the root.
MAY_IMPORT = {
    # The rules of a waiting line. Settings and logs belong to a running server: the rules need neither.
    "domain": {"errors", "caches"},
    "aio": {"errors", "caches"},
    "store": {"domain", "aio", *SHARED},
    "service": {"store", "domain", "aio", *SHARED},
    # Values and answers of the store (tickets, deliveries, snapshots) pass through every layer above it.
    "keeper": {"service", "store", "domain", "aio", "__init__", *SHARED},
    "web": {"service", "store", "domain", "aio", "__init__", *SHARED},
    # It replaces the web with simulated people, and runs the rest as it is.
    "simulation": {"keeper", "service", "store", "domain", "aio", *SHARED},
    # A worker runs the web and a keeper in one event loop.
    "process": {"web", "keeper", "service", "store", "domain", "aio", "__init__", *SHARED},
    # `serve` starts the processes, `doctor` checks their secrets and sockets, and the other commands find the running
    # server. `db` migrates a store without a server. All else goes through the HTTP API.
    "cli": {"process", "simulation", "store", "domain", "aio", "__init__", *SHARED},
    # Runs in other people's sites, and speaks to the server as any site would.
    "gate": {"errors", "domain"},
    # The public Python API.
    "__init__": {"keeper", "service", "store", "domain", "errors"},
    "__main__": {"cli"},
    "errors": set(),
    "caches": set(),
    "settings": {"domain", "errors"},
    "logs": {"domain", "settings", "errors"},
}
#: Modules that import a layer which theirs may not import, and why each is allowed to.
EXCEPTIONS = {
    # The settings and their groups, as the dashboard's form has them, are listed in the help of `queue create`.
    ("cli.pairs", "web"),
    # `/health/ready` asks the keeper that runs in the same worker whether it is alive.
    ("web.api.public", "keeper"),
    ("web.app", "keeper"),
    # The address of a push service comes from a stranger's browser: it is checked as that of a webhook.
    ("web.api.tellings", "keeper"),
    # The checklist of an opening asks whether the site answers: it is called as guardedly as a webhook.
    ("web.admin.checklist", "keeper"),
    # Operators try out a webhook or the mail server at once: it is sent as the keeper would send it.
    ("web.admin.deliveries", "keeper"),
    ("web.admin.mail", "keeper"),
    ("web.admin.webhook_manager", "keeper"),
    # The names of the outboxes that the keeper delivers from are values of a label.
    ("web.metrics.measurements", "keeper"),
    ("web.metrics.page", "keeper"),
}
#: Modules of the standard library that wait, or read a clock, a file or the network.
INPUT_AND_OUTPUT = {"asyncio", "concurrent", "io", "os", "pathlib", "socket", "subprocess", "threading", "time"}
#: What the gate may import of Fairline, apart from its own modules.
OF_THE_GATE = {"fairline", "fairline.errors", "fairline.domain.bypass"}
#: The same with what comes along: the families of the errors, and the domain, which has nothing in it but a docstring.
LOADED_BY_THE_GATE = {"fairline.domain", *OF_THE_GATE} | {
    f"fairline.errors.{path.stem}" for path in (SOURCE / "errors").glob("*.py") if path.stem != "__init__"
}


def modules() -> dict[str, Path]:
    """Every module of the source by its name within `fairline`: `web.app`, `keeper`, and `__init__` for the root."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """The full names that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def layer_of(name: str) -> str:
    """The layer of a module, by its name within `fairline`."""
    return name.partition(".")[0]


def imported_layers(path: Path) -> set[str]:
    """The layers that a file imports. What is not a layer is a name of the root: `from fairline import __version__`."""
    names = [name.split(".") for name in imported(path)]
    ours = {name[1] if len(name) > 1 else "__init__" for name in names if name[0] == "fairline"}
    return {name if name in MAY_IMPORT else "__init__" for name in ours}


def upwards() -> set[tuple[str, str]]:
    """Every module that imports a layer which its own may not import, with that layer."""
    return {
        (name, layer)
        for name, path in MODULES.items()
        for layer in imported_layers(path) - MAY_IMPORT[layer_of(name)] - {layer_of(name)}
    }


def test_every_package_and_root_module_is_a_layer_and_no_layer_is_empty() -> None:
    assert {layer_of(name) for name in MODULES} == set(MAY_IMPORT)
    for layer in MAY_IMPORT:
        if (SOURCE / layer).is_dir():
            assert [name for name in MODULES if name.startswith(f"{layer}.")], f"{layer} has no modules"


def test_no_layer_may_import_one_that_may_import_it() -> None:
    def below(layer: str) -> set[str]:
        direct = MAY_IMPORT[layer] - {"__init__"}  # other layers import nothing but the version from there
        return direct.union(*map(below, direct))

    for layer in MAY_IMPORT:
        assert layer not in below(layer)


def test_every_module_imports_only_what_its_layer_may() -> None:
    assert upwards() - EXCEPTIONS == set()


def test_no_exception_is_left_that_is_not_needed() -> None:
    assert EXCEPTIONS - upwards() == set()


def test_the_layers_import_nothing_but_the_version_from_the_public_api() -> None:
    for name, path in MODULES.items():
        ours = {each.removeprefix("fairline.") for each in imported(path) if each.startswith("fairline.")}
        assert {each for each in ours if layer_of(each) not in MAY_IMPORT} <= {"__version__"}, name


def test_nothing_in_the_domain_awaits_or_reads_the_world() -> None:
    paths = [path for name, path in MODULES.items() if layer_of(name) == "domain"]
    for path in paths:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        awaits = [node for node in nodes if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor)]
        assert not awaits, f"{path}:{awaits[0].lineno}"
        assert not {name.partition(".")[0] for name in imported(path)} & INPUT_AND_OUTPUT, path


def test_the_gate_is_built_on_the_standard_library_and_cryptography() -> None:
    shared = [MODULES[name.removeprefix("fairline.")] for name in LOADED_BY_THE_GATE - {"fairline"}]
    files = [*(path for name, path in MODULES.items() if layer_of(name) == "gate"), *shared]
    names = {name for path in files for name in imported(path)}
    others = {name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "cryptography"}}
    assert {name for name in others if not name.startswith(("fairline.gate", *(OF_THE_GATE - {"fairline"})))} == set()


@pytest.mark.parametrize("module", ["fairline.gate.asgi", "fairline.gate.wsgi"])
def test_a_protected_site_loads_nothing_of_the_server(module: str) -> None:
    command = [sys.executable, "-c", f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout)
    ours = {name for name in loaded if name.split(".")[0] == "fairline" and not name.startswith("fairline.gate")}
    assert ours == LOADED_BY_THE_GATE


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/reference/gate.md"])
def test_the_pages_name_what_the_gate_imports(page: str) -> None:
    parts = re.split(r"\n\n|\n- |(?=`gate`)", (ROOT / page).read_text(encoding="utf-8"))
    about = [part for part in parts if "`cryptography`" in part and "standard library" in part]
    named = {name for part in about for name in re.findall(r"`(?:[\w/]+/)?(\w+)(?:\.py|/)`", part)}
    assert named == {name.rpartition(".")[2] for name in OF_THE_GATE - {"fairline"}}
