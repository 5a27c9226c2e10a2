"""A program run as a container engine would: in a root of its own that it cannot write to, as another user, without any
right of root's, as process 1, on a network of its own that has loopback alone."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.backends import wait_until

TOOLS = ("unshare", "nsenter", "setpriv", "chroot", "mount", "ip")
END_SECONDS = 60
_ASK = """
import http.client, sys
host, method, path, token = sys.argv[1:]
connection = http.client.HTTPConnection(host, 8080, timeout=20)
connection.request(method, path, headers={"authorization": f"Bearer {token}"} if token else {})
answer = connection.getresponse()
print(answer.status)
sys.stdout.write(answer.read().decode())
"""


def skip_without_namespaces() -> None:
    """Skip the test where this machine or this user cannot have roots and networks of their own."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a root folder and a network of its own")
    if missing := [name for name in TOOLS if not shutil.which(name)]:
        pytest.skip(f"needs {', '.join(missing)}")
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--net", "--fork", "true"], check=False, capture_output=True, text=True
    )
    if tried.returncode:
        pytest.skip(f"needs namespaces: {tried.stderr.strip()}")


@dataclass(frozen=True)
class Place:
    """A root folder, and what else is seen in it."""

    root: Path
    binds: Mapping[str, Path] = field(default_factory=dict)
    """What of this machine is where, and can be written to as its modes say."""
    borrowed: Mapping[str, Path] = field(default_factory=dict)
    """The same, and cannot be written to."""
    read_only: bool = True
    proc_options: str = ""

    def entering(self, user: str, environ: Mapping[str, str], workdir: str = "/") -> str:
        """A shell script, for namespaces that are new, that becomes `"$@"` in there."""
        root = shlex.quote(str(self.root))
        steps = ["set -e", f"mount --rbind {root} {root}"]
        for where, path in self.borrowed.items():
            steps += [f"mount --bind {shlex.quote(str(path))} {root}{where}", f"mount -o remount,bind,ro {root}{where}"]
        for where, path in self.binds.items():
            steps.append(f"mount --bind {shlex.quote(str(path))} {root}{where}")
        steps += [f"mount -t proc {self.proc_options} proc {root}/proc", f"mount --rbind /dev {root}/dev"]
        if self.read_only:
            steps += [
                f"mount -t tmpfs -o mode=1777 tmp {root}/tmp",
                f"mount -t tmpfs -o mode=1777,size=64m shm {root}/dev/shm",
                f"mount -o remount,bind,ro {root}",
                "ip link set lo up",
            ]
        return "\n".join([*steps, f'exec chroot {root} {shlex.join(becoming(user, environ, workdir))} "$@"'])

    def run(self, *command: str, environ: Mapping[str, str], workdir: str) -> None:
        """Run a command as root on the machine's network, to its end."""
        script = self.entering("0:0", environ, workdir)
        words = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
        ran = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert ran.returncode == 0, f"{shlex.join(command)}\n{ran.stdout}\n{ran.stderr}"


def becoming(user: str, environ: Mapping[str, str], workdir: str = "/") -> list[str]:
    """The words before a command that give it this user and this environment, and nothing else."""
    uid, _, gid = user.partition(":")
    rights = ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"] if uid != "0" else []
    who = ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups", *rights]
    return [*who, "env", "-i", f"--chdir={workdir}", *(f"{name}={value}" for name, value in environ.items())]


class Container:
    """A command that runs in a place of its own."""

    def __init__(
        self,
        place: Place,
        command: Sequence[str],
        *,
        user: str,
        environ: Mapping[str, str],
        log: Path,
        workdir: str = "/",
        stop_signal: str = "SIGTERM",
    ) -> None:
        self._environ, self._user, self._workdir, self._stop_signal = environ, user, workdir, stop_signal
        self.log = log
        script = place.entering(user, environ, workdir)
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--net", "--fork", "sh", "-c", script, "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process 1 of the container, as the machine knows it."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        wait_until(lambda: bool(children.read_text().split()), "unshare has started nothing")
        return int(children.read_text().split()[0])

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run another command in there, as the same user: what a health check does."""
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net", "--root", "--wd"]
        words = [*enter, *becoming(self._user, self._environ, self._workdir), *command]
        return subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def wait_until_healthy(self, check: Sequence[str]) -> None:
        """Wait until the health check says so."""

        def is_healthy() -> bool:
            assert self._process.poll() is None, f"it has ended: {self.log.read_text()}"
            return self.execute(*check).returncode == 0

        wait_until(is_healthy, f"it never became healthy; see {self.log}", seconds=120)

    def ask(self, method: str, path: str, token: str = "", host: str = "127.0.0.1") -> tuple[int, str]:
        """The status and the body that the server answers with, asked from inside."""
        told = self.execute("/opt/fairline/bin/python3", "-c", _ASK, host, method, path, token)
        assert told.returncode == 0, told.stderr
        status, _, body = told.stdout.partition("\n")
        return int(status), body

    def processes(self) -> list[dict[str, str]]:
        """What the kernel says of each process in there."""
        group = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "ns" / "pid").readlink() == group:
                    lines = (folder / "status").read_text().splitlines()
                    found.append({name: value.strip() for name, _, value in (line.partition(":") for line in lines)})
            except OSError:  # it has ended meanwhile
                continue
        return found

    def stop(self) -> int:
        """End it as it asks to be ended; its exit code."""
        if self._process.poll() is None:
            os.kill(self.pid, signal.Signals[self._stop_signal])
        return self._process.wait(END_SECONDS)

    def kill(self) -> None:
        """End it at once, if it runs. With process 1 of theirs all the others end."""
        if self._process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait()
