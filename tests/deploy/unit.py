"""A unit of systemd, as far as it can be had without systemd: its command on its settings, under equal restrictions."""

from __future__ import annotations

import configparser
import os
import shlex
from pathlib import Path

from tests.deploy.container import Container, Place
from tests.deploy.dockerfile import BASE, TOOLS


def start(unit: Path, root: Path, folder: Path, log: Path) -> Container:
    """Start what the unit starts, on a root that has /opt/fairline, with a folder for its StateDirectory."""
    said = configparser.ConfigParser(strict=False, interpolation=None)
    said.optionxform = str  # type: ignore[assignment,method-assign]
    said.read(unit, encoding="utf-8")
    service = said["Service"]
    state = f"/var/lib/{service['StateDirectory']}"
    (root / state.lstrip("/")).mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=int(service["StateDirectoryMode"], 8))
    os.chown(folder, UID, UID)
    return Container(
        Place(root, {state: folder}, TOOLS, proc_options=f"-o subset={service['ProcSubset']},hidepid=invisible"),
        shlex.split(service["ExecStart"]),
        user=str(UID),
        environ=BASE | dict(pair.split("=", 1) for pair in shlex.split(service["Environment"])),
        log=log,
        workdir=service["WorkingDirectory"],
    )


#: Anyone: the user that the unit names need not exist here.
UID = 10002
