"""What a release is made of agrees with itself."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml

import fairline
from scripts.release_notes import notes
from tests.package.conftest import ROOT
from tests.package.pythons import VERSIONS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Not yet.

## [0.2.0] - 2027-01-15

### Fixed

- A fault.

## [0.1.0] - 2026-11-18

- The line.
"""


def test_the_version_is_the_same_everywhere_and_the_changelog_has_notes_on_it() -> None:
    version = PROJECT["version"]
    assert fairline.__version__ == version
    assert notes(f"v{version}", version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    assert notes("v0.2.0", "0.2.0", CHANGELOG) == "### Fixed\n\n- A fault."
    assert notes("v0.1.0", "0.1.0", CHANGELOG) == "- The line."


def test_no_release_is_made_of_a_tag_that_is_not_the_version() -> None:
    with pytest.raises(ValueError, match=r"The tag is v0\.3\.0, and pyproject\.toml says 0\.2\.0"):
        notes("v0.3.0", "0.2.0", CHANGELOG)


def test_no_release_is_made_without_notes() -> None:
    with pytest.raises(ValueError, match=r"no section '## \[0\.3\.0\]"):
        notes("v0.3.0", "0.3.0", CHANGELOG)


def test_every_python_that_is_named_is_tested() -> None:
    classifiers = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert tuple(classifiers) == VERSIONS
    assert f"python: {list(VERSIONS)}".replace("'", '"') in workflow


def misnamed(workflow: dict[str, Any]) -> list[str]:
    """What a workflow names and is not there. Its schema allows any name."""
    jobs: dict[str, dict[str, Any]] = workflow["jobs"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    kept = [step["with"]["name"] for job in jobs.values() for step in steps(job, "actions/upload-artifact")]
    found: list[str] = []
    for job in jobs.values():
        needs = job.get("needs", [])
        found += {needs} - jobs.keys() if isinstance(needs, str) else set(needs) - jobs.keys()
        found += set(re.findall(r"\bmatrix\.(\w+)", str(job))) - job.get("strategy", {}).get("matrix", {}).keys()
        uses = [job.get("uses", "")] + [step.get("uses", "") for step in job.get("steps", [])]
        found += [path for path in uses if path.startswith("./") and not (ROOT / path).is_file()]
        for command in (step["run"] for step in job.get("steps", []) if "run" in step):
            files = re.findall(r"(?:scripts|\.ci)/[\w./-]+", command)
            found += [file for file in files if not (ROOT / file).is_file()]
            targets = re.findall(r"\bmake ([\w-]+)", command)
            found += [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
        fetched = [step["with"].get("name") for step in steps(job, "actions/download-artifact")]
        found += [name for name in fetched if name and name not in kept]
    return found


def steps(job: dict[str, Any], action: str) -> list[dict[str, Any]]:
    return [step for step in job.get("steps", []) if step.get("uses", "").startswith(f"{action}@")]


def test_what_a_workflow_names_is_there() -> None:
    for name, right, wrong, said in (
        ("ci.yml", "matrix.python", "matrix.pyhton", "pyhton"),
        ("ci.yml", "scripts/system-packages", "scripts/system-package", "scripts/system-package"),
        ("ci.yml", ".ci/run", ".ci/runs", ".ci/runs"),
        ("release.yml", "needs: build", "needs: biuld", "biuld"),
        ("release.yml", "/workflows/ci.yml", "/workflows/cl.yml", "./.github/workflows/cl.yml"),
        ("release.yml", "scripts/release_notes.py", "scripts/notes.py", "scripts/notes.py"),
        ("release.yml", "make dist", "make dits", "dits"),
        ("release.yml", "name: dist\n          path: dist\n", "name: dits\n          path: dist\n", "dits"),
    ):
        text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
        assert misnamed(yaml.safe_load(text)) == [], name
        assert right in text, f"{name} has no {right}"
        assert misnamed(yaml.safe_load(text.replace(right, wrong))) == [said], f"{wrong} in {name} is not found"
