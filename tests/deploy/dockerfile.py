"""A Dockerfile done step by step without a container engine: its stages are folders, its steps run in a chroot.

The Python that runs the tests and the tools of this machine stand for the base image. What a step installs comes from
wheels in a folder, so nothing is fetched.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import string
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.container import Container, Place

PYTHON = Path(sys.base_prefix)
#: What of this machine is the base image, and what that says of itself.
TOOLS = {
    str(path): path for path in {Path("/usr"), PYTHON} if path == Path("/usr") or not PYTHON.is_relative_to("/usr")
}
BASE = {"PATH": f"{PYTHON / 'bin'}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
#: How pip, in a step, learns where the wheels are; a user's own settings are not asked.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PIP_CONFIG_FILE": os.devnull}


@dataclass
class Stage:
    """A stage: a folder, and what the image says of how it is run."""

    root: Path
    args: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=lambda: dict(BASE))
    labels: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    cmd: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"
    tools: dict[str, Path] = field(default_factory=lambda: TOOLS)
    """What of this machine is seen in there."""

    def start(self, volume: Path, log: Path, **environ: str) -> Container:
        """Run what it is for, with one folder for its volume."""
        (name,) = self.volumes
        return Container(
            Place(self.root, {name: volume}, self.tools),
            [*self.entrypoint, *self.cmd],
            user=self.user,
            environ=self.environ | environ,
            log=log,
            workdir=self.workdir,
            stop_signal=self.stop_signal,
        )


def instructions(text: str) -> list[tuple[str, str]]:
    """Each instruction with what follows it, on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in whole.splitlines() if line.strip()]


def build(file: Path, context: Path, folder: Path, wheels: Path) -> Stage:
    """Do all that the file says; answers its last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder / "none")
    for word, rest in instructions(file.read_text(encoding="utf-8")):
        values = {**BASE, **stage.environ, **stage.args}
        match word:
            case "ARG":
                name, _, value = rest.partition("=")
                stage.args[name] = value
            case "FROM":
                name = rest.partition(" AS ")[2] or "last"
                stage = stages[name] = Stage(_empty_root(folder / name))
            case "WORKDIR":
                stage.workdir = rest
                (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "ENV":
                stage.environ |= _pairs(rest, values)
            case "LABEL":
                stage.labels |= _pairs(rest, values)
            case "COPY":
                _copy(rest, context, stage, stages)
            case "RUN":
                _run(rest, stage, wheels)
            case "USER":
                stage.user = rest
            case "VOLUME":
                stage.volumes.append(rest)
            case "STOPSIGNAL":
                stage.stop_signal = rest
            case "HEALTHCHECK":
                stage.healthcheck = json.loads(rest.partition(" CMD ")[2])
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.cmd = json.loads(rest)
            case "EXPOSE":
                pass
            case _:
                raise NotImplementedError(f"{word} in the Dockerfile is not known to the tests; teach it them")
    return stage


def _pairs(text: str, values: dict[str, str]) -> dict[str, str]:
    words = (word.partition("=") for word in shlex.split(text))
    return {name: string.Template(value).substitute(values) for name, _, value in words}


def _empty_root(root: Path) -> Path:
    """The file system of the base image, but for what of this machine is put into it when it is used."""
    for name in ("dev", "proc", "sys", "tmp", "run", "wheels", *TOOLS):
        (root / name.lstrip("/")).mkdir(parents=True)
    for path in Path("/").iterdir():
        if path.is_symlink() and str(path.readlink()).startswith("usr/"):
            (root / path.name).symlink_to(path.readlink())
    shutil.copytree("/etc", root / "etc", symlinks=True)
    return root


def _copy(text: str, context: Path, stage: Stage, stages: dict[str, Stage]) -> None:
    *sources, target = text.split()
    if sources[0].startswith("--from="):
        context = stages[sources.pop(0).removeprefix("--from=")].root
    to = stage.root / stage.workdir.lstrip("/") / target if not target.startswith("/") else stage.root / target[1:]
    for source in sources:
        path = context / source.lstrip("/")
        if path.is_dir():
            shutil.copytree(path, to, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(path, to / path.name if target.endswith("/") else to)


def _run(command: str, stage: Stage, wheels: Path) -> None:
    place = Place(stage.root, borrowed={**stage.tools, "/wheels": wheels}, read_only=False)
    place.run("sh", "-c", command, environ={**OFFLINE, **stage.args, **stage.environ}, workdir=stage.workdir)
