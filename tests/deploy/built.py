"""The image as buildah builds it, on a small Debian made by mmdebstrap: no image registry is needed."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.dockerfile import Stage

_BASE = """
FROM scratch
ADD base.tar /
ENV {environ}
"""
#: By which this machine reaches a package index. Nearly all comes from the wheels; an older Python needs some more.
_FOR_PIP = ("/etc/pip.conf", "/etc/ssl/certs")


def skip_without_tools() -> None:
    """Skip the test where it cannot be built here."""
    if missing := [name for name in ("mmdebstrap", "buildah") if not shutil.which(name)]:
        pytest.skip(f"needs {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("needs root, for mmdebstrap and buildah")


def build(root: Path, folder: Path, wheels: Path) -> Stage:
    """Build the image from the checkout; answers its root, and what it says of how it is run."""
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    _run("mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-pip", release, folder / "base.tar")
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")} | {
        "PIP_FIND_LINKS": "/wheels"
    }
    (folder / "Base").write_text(
        _BASE.format(environ=" ".join(f'{name}="{value}"' for name, value in settings.items()))
    )
    buildah = ("buildah", "--root", folder / "store", "--runroot", folder / "run", "--storage-driver", "vfs")
    bud = (*buildah, "bud", "--isolation", "chroot", "--format", "docker", "--pull=false")
    _run(*bud, "--file", folder / "Base", "--tag", "localhost/base", folder)
    seen = [f"--volume={path}:{path}:ro" for path in _FOR_PIP if Path(path).exists()]
    from_ours = ("--build-arg", "BASE=localhost/base", f"--volume={wheels}:/wheels:ro", *seen)
    _run(*bud, *from_ours, "--tag", "localhost/fairline", root)
    name = _run(*buildah, "from", "--pull-never", "localhost/fairline")
    says: dict[str, Any] = json.loads(_run(*buildah, "inspect", name))["Docker"]["config"]
    return Stage(
        Path(_run(*buildah, "mount", name)),
        environ=dict(pair.split("=", 1) for pair in says["Env"]),
        labels=says["Labels"],
        user=says["User"],
        volumes=list(says["Volumes"]),
        entrypoint=says["Entrypoint"],
        cmd=says["Cmd"],
        healthcheck=says["Healthcheck"]["Test"][1:],
        stop_signal=says["StopSignal"],
        tools={},
    )


def skip_without_the_same_python() -> None:
    """The wheels are of the Python that runs the tests; Debian's has to be of the same version."""
    debians = subprocess.run(
        ["apt-cache", "depends", "python3-minimal"], check=False, capture_output=True, text=True
    ).stdout
    if (mine := f"python3.{sys.version_info.minor}-minimal") not in debians:
        pytest.skip(f"this Debian has another Python than {mine.removesuffix('-minimal')}")


def _run(*words: str | Path) -> str:
    ran = subprocess.run(list(map(str, words)), check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.returncode == 0, f"{' '.join(map(str, words))}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout.strip()
