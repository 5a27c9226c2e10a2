"""Wheels of what is installed here already, so that a step that installs needs no network."""

from __future__ import annotations

import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def pack(folder: Path, *names: str) -> Path:
    """A folder with a wheel of all that these need, themselves left out where they are installed from a checkout."""
    folder.mkdir()
    wanted, seen = [Requirement(name) for name in names], set[str]()
    while wanted:
        needed = wanted.pop()
        name = canonicalize_name(needed.name)
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        if not _is_editable(found):
            _pack(found, folder)
        with_extra = {"extra": next(iter(needed.extras), "")}
        each = map(Requirement, found.requires or [])
        wanted += [one for one in each if one.marker is None or one.marker.evaluate(with_extra)]
    return folder


def _is_editable(found: Distribution) -> bool:
    return '"editable"' in (found.read_text("direct_url.json") or "")


def _pack(found: Distribution, folder: Path) -> None:
    about = found.read_text("WHEEL") or ""
    tags = [line.partition(": ")[2].split("-") for line in about.splitlines() if line.startswith("Tag: ")]
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    name = canonicalize_name(found.name).replace("-", "_")
    with zipfile.ZipFile(folder / f"{name}-{found.version}-{tag}.whl", "w", zipfile.ZIP_STORED) as wheel:
        for file in found.files or []:
            # Scripts are recreated from the entry points, byte code by the program that installs.
            if ".." not in file.parts and "__pycache__" not in file.parts:
                wheel.write(Path(str(file.locate())), str(file))
