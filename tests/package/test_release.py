"""What a release is made of agrees with itself."""

from __future__ import annotations

import tomllib

import pytest

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
