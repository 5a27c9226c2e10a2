"""Checks that the packages contain what they should and nothing else: `python scripts/check_dist.py dist`."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Each of these is met by at least one file. In a pattern `*` also stands for folders.
WHEEL_NEEDS = (
    "fairline/py.typed",
    "fairline/cli/*.py",
    "fairline/store/valkey/scripts/*.lua",
    "fairline/store/postgres/sql/*.sql",
    "fairline/web/pages/catalogues/en.json",
    "fairline/web/pages/catalogues/ar.json",
    "fairline/web/pages/static/fairline.js",
    "fairline/web/pages/static/*.css",
    "fairline/web/pages/templates/*.html",
    "fairline-*.dist-info/METADATA",
    "fairline-*.dist-info/entry_points.txt",
    "fairline-*.dist-info/licenses/LICENSE",
)
#: No file is met by none of these.
WHEEL_MAY_HAVE = (
    *(f"fairline/*.{kind}" for kind in ("css", "html", "js", "json", "lua", "py", "sql", "typed")),
    *(
        f"fairline-*.dist-info/{name}"
        for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    ),
)

SDIST_NEEDS = (
    ".github/workflows/*.yml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "bench/__main__.py",
    "biome.jsonc",
    "constraints.txt",
    "deploy/*",
    "docs/README.md",
    "examples/shop/*.py",
    "pyproject.toml",
    "scripts/system-packages",
    "src/fairline/py.typed",
    "tests/conftest.py",
)
SDIST_MAY_HAVE = (
    *(
        f"{folder}/*.{kind}"
        for folder, kinds in {
            "bench": "json md py",
            "deploy": "cfg conf example json md service yaml yml",
            "docs": "gif md png svg webp",
            "examples": "html md py",
            "scripts": "py",
            "src/fairline": "css html js json lua py sql typed",
            "tests": "js json md mjs py yaml",
        }.items()
        for kind in kinds.split()
    ),
    "*.md",
    ".ci/run",
    ".dockerignore",
    ".github/*.md",
    ".github/*.yml",
    ".gitignore",  # the build backend puts it in
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "biome.jsonc",
    "constraints.txt",
    "deploy/kubernetes/settings.env",
    "pyproject.toml",
    "scripts/*-*",
)
#: Wherever they are.
NOWHERE = ("*__pycache__*", "*/.*/*", "*~")


def wheel_faults(names: Iterable[str], source: Iterable[str]) -> list[str]:
    """What is wrong with a wheel of these names, made from these files below `src`."""
    names = set(names)
    inside = {name for name in names if name.startswith("fairline/")}
    return [
        *_faults("wheel", names, WHEEL_NEEDS, WHEEL_MAY_HAVE),
        *(f"wheel: {name} is missing" for name in sorted(set(source) - inside)),
    ]


def sdist_faults(names: Iterable[str], source: Iterable[str]) -> list[str]:
    """What is wrong with a source distribution of these names, without its first folder."""
    names = set(names)
    missing = {f"src/{name}" for name in source} - names
    return [
        *_faults("sdist", names, SDIST_NEEDS, SDIST_MAY_HAVE),
        *(f"sdist: {name} is missing" for name in sorted(missing)),
    ]


def names_in_wheel(path: Path) -> list[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def names_in_sdist(path: Path) -> list[str]:
    """The files of a source distribution, without its first folder."""
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def source_files() -> list[str]:
    """The files of the package in the checkout, as they are named in a wheel."""
    package = ROOT / "src" / "fairline"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [path.relative_to(package.parent).as_posix() for path in files]


def _faults(archive: str, names: set[str], needed: Iterable[str], allowed: Iterable[str]) -> list[str]:
    missing = [pattern for pattern in needed if not any(fnmatchcase(name, pattern) for name in names)]
    stray = [name for name in sorted(names) if not _is_one_of(name, allowed) or _is_one_of(name, NOWHERE)]
    return [
        *(f"{archive}: {pattern} is missing" for pattern in missing),
        *(f"{archive}: {name} does not belong there" for name in stray),
    ]


def _is_one_of(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def main(folder: str) -> int:
    """Check the one wheel and the one source distribution in a folder."""
    (wheel,) = Path(folder).glob("*.whl")
    (sdist,) = Path(folder).glob("*.tar.gz")
    source = source_files()
    faults = [*wheel_faults(names_in_wheel(wheel), source), *sdist_faults(names_in_sdist(sdist), source)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"{wheel.name} and {sdist.name} have in them what they should, and nothing else.")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
