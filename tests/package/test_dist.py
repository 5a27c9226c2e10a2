"""What `make dist` builds: complete, with nothing stray inside, the same each time."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from scripts import check_dist
from tests.package.conftest import Build


def test_the_packages_have_in_them_what_they_should_and_nothing_else(wheel: Path, sdist: Path) -> None:
    source = check_dist.source_files()
    assert check_dist.wheel_faults(check_dist.names_in_wheel(wheel), source) == []
    assert check_dist.sdist_faults(check_dist.names_in_sdist(sdist), source) == []


def test_a_file_that_is_missing_from_a_package_is_named(wheel: Path, sdist: Path) -> None:
    source = check_dist.source_files()
    names = set(check_dist.names_in_wheel(wheel))
    for name in (
        "fairline/py.typed",
        "fairline/store/valkey/scripts/join.lua",
        "fairline/web/pages/templates/page/place.html",
        "fairline/web/pages/static/fairline.js",
        "fairline/web/pages/catalogues/de.json",
    ):
        assert name in names
        assert f"wheel: {name} is missing" in check_dist.wheel_faults(names - {name}, source)
    (licence,) = (name for name in names if name.endswith("/LICENSE"))
    assert check_dist.wheel_faults(names - {licence}, source) == [
        "wheel: fairline-*.dist-info/licenses/LICENSE is missing"
    ]

    names = set(check_dist.names_in_sdist(sdist))
    for name in ("constraints.txt", "tests/conftest.py", "src/fairline/store/valkey/scripts/join.lua"):
        assert check_dist.sdist_faults(names - {name}, source) == [f"sdist: {name} is missing"]


def test_a_file_that_does_not_belong_into_a_package_is_named(wheel: Path, sdist: Path) -> None:
    source = check_dist.source_files()
    names = check_dist.names_in_wheel(wheel)
    for name in (
        "tests/conftest.py",
        "bench/__main__.py",
        "docs/images/architecture.svg",
        "fairline/__pycache__/fairline.cpython-311.pyc",
        "fairline/web/pages/static/picture.png",
        "fairline/service/fairline.py.orig",
    ):
        assert check_dist.wheel_faults([*names, name], source) == [f"wheel: {name} does not belong there"]

    names = check_dist.names_in_sdist(sdist)
    for name in (
        ".venv/pyvenv.cfg",
        "data/secret",
        "fairline.toml",
        "tests/.hypothesis/unicode.json",
        "tests/__pycache__/conftest.py",
        "docs/server.log",
    ):
        assert check_dist.sdist_faults([*names, name], source) == [f"sdist: {name} does not belong there"]


def test_a_registry_takes_the_packages_as_they_are(wheel: Path, sdist: Path) -> None:
    command: list[str | Path] = [sys.executable, "-m", "twine", "check", "--strict", wheel, sdist]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_source_distribution_is_enough_to_make_the_same_packages(
    build: Build, wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    again = build("again", tmp_path / sdist.name.removesuffix(".tar.gz"))
    for first in (wheel, sdist):
        assert (again / first.name).read_bytes() == first.read_bytes(), first.name
