"""A database server that a process owns, with its data in one folder and no TCP port.

The folder contains, in addition to the server's own files:

    owner.lock       locked by the Fairline that owns the folder, which writes its pid into it
    <server>.lock    locked by the server for as long as it lives, no matter who started it

There are two locks because one process can die without the other: if `owner.lock` is free and the lock of the server is
not, the server has outlived its owner. The kernel frees a lock when its process dies, so no lock is ever stale, and no
pid has to be trusted.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Self

from fairline.errors import StoreFolderInUse, StoreFolderUnfit, StoreUnavailable

LOADING_SECONDS = 120.0
ENDING_SECONDS = 30.0  # the last fsync may have to wait for a busy disk
SOCKET_PATH_BYTES = 100  # the limits of the systems are 104 (macOS) and 108 (Linux), with the final zero byte

# A new interpreter runs this and then becomes the server under the same pid: doing it in the fork itself (preexec_fn)
# can deadlock if other threads run. If the owner died before prctl took effect, the parent is another process by now.
BIND_TO_OWNER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, int(sys.argv[2]))  # 1 is PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[3], sys.argv[3:])
"""


class EmbeddedServer(ABC):
    """A server process that this process owns."""

    #: Its name in file names, its socket in the folder, and the signal that shuts it down properly.
    name: ClassVar[str]
    socket_name: ClassVar[str]
    ending: ClassVar[signal.Signals] = signal.SIGTERM
    #: Environment variables it is started with, unless they are set already.
    environ: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().resolve()
        self._socket = self.folder / self.socket_name
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._undo = ExitStack()

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs, otherwise None."""
        return self._server.pid if self._server and self._server.poll() is None else None

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the store."""

    @abstractmethod
    def find(self) -> Path:
        """The server's binary; raises StoreNotSupported if there is none."""

    @abstractmethod
    def prepare(self, server: Path) -> None:
        """Prepare the folder for a server that is about to start; no other server runs in it."""

    @abstractmethod
    def command(self, server: Path) -> list[str]:
        """The command that starts the server in the folder."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server answers calls."""

    @abstractmethod
    def end_leftover(self) -> bool:
        """Ask a server that outlived its owner to end; False if none answers."""

    @abstractmethod
    def advice(self, log: str, server: Path) -> str:
        """What to do about a server that did not start, judged by its log."""

    @abstractmethod
    def remove_files(self) -> None:
        """Remove the files that a killed server left behind."""

    def start(self) -> str:
        """Start the server, or start it again if it died, and return the store's URL once it answers."""
        if self.pid is None or not self.answers():
            self.stop()
            # A fork does not touch the server of its parent.
            self._owner, self._server, self._undo = os.getpid(), None, ExitStack()
            try:
                self._start()
            except OSError as error:
                self.stop()
                raise StoreUnavailable(f"the embedded server could not start in {self.folder}: {error}") from error
            except BaseException:
                self.stop()
                raise
        return self.url

    def running_url(self) -> str | None:
        """The address of the server while another process owns it; None if nobody does."""
        path = self.folder / "owner.lock"
        if not path.exists():
            return None
        lock = _lock(path)
        if lock is not None:
            os.close(lock)
            return None
        if self._is_too_long(self._socket):
            self._socket = self._short_home() / "d" / self.socket_name
        return self.url

    def stop(self) -> None:
        """Shut the server down with its data on disk, and release the folder."""
        if self._owner != os.getpid():
            return  # nothing was started, or this is a fork and the server belongs to its parent
        if self._server is not None:
            self._server.send_signal(self.ending)
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
        server = self.find()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_folder(self.folder)
        self._own_folder()
        if self._is_too_long(self.folder / self.socket_name):
            self._socket = self._short_folder() / self.socket_name
        with ExitStack() as passed_on:  # files that only the server keeps open once it runs
            lock = self._end_leftover()
            passed_on.callback(os.close, lock)
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            passed_on.callback(os.close, log)
            log_start = os.fstat(log).st_size
            self.prepare(server)
            self._server = self._spawn(server, lock, log)
        # The kernel ends the server with its owner on Linux only; elsewhere at least an ordinary exit does.
        atexit.register(self.stop)
        self._undo.callback(atexit.unregister, self.stop)
        self._wait_until_ready(server, log_start)

    @property
    def log(self) -> Path:
        """The log file of the server."""
        return self.folder / f"{self.name}.log"

    def _own_folder(self) -> None:
        """Lock the folder for this process, or raise StoreFolderInUse with the process that has it."""
        path = self.folder / "owner.lock"
        lock = _lock(path)
        if lock is None:
            pid = _read(path)
            raise StoreFolderInUse(str(self.folder), int(pid) if pid.isdigit() else None)
        self._undo.callback(os.close, lock)
        # Keep the file: if it were removed, two processes could lock two different files.
        self._undo.callback(os.ftruncate, lock, 0)
        os.ftruncate(lock, 0)
        os.write(lock, b"%d\n" % os.getpid())

    @staticmethod
    def _is_too_long(path: Path) -> bool:
        return len(os.fsencode(path)) > SOCKET_PATH_BYTES

    def _short_home(self) -> Path:
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        return Path(tempfile.gettempdir(), f"fairline-{os.geteuid()}-{name}")

    def _short_folder(self) -> Path:
        """A short path to the folder: the address of a socket cannot hold a long one."""
        home = self._short_home()
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StoreUnavailable(f"{home} should be a private folder of this user; remove it or set TMPDIR elsewhere")
        guard = os.open(home, os.O_RDONLY)
        self._undo.callback(os.close, guard)
        fcntl.flock(guard, fcntl.LOCK_SH)  # systemd-tmpfiles never removes a locked folder
        self._undo.callback(shutil.rmtree, home, ignore_errors=True)
        link = home / "d"
        link.unlink(missing_ok=True)
        link.symlink_to(self.folder)
        if self._is_too_long(link / self.socket_name):
            raise StoreUnavailable(f"{link} is too long for a socket; set TMPDIR to a short path such as /tmp")
        return link

    def _end_leftover(self) -> int:
        """Lock out other servers. A server that outlived its owner is shut down first, and its data is taken over."""
        deadline = time.monotonic() + ENDING_SECONDS
        while True:
            if not self.end_leftover() and (lock := _lock(self.folder / f"{self.name}.lock")) is not None:
                self._undo.callback(self.remove_files)
                self.remove_files()
                return lock
            if time.monotonic() > deadline:
                pid = self.leftover_pid() or "not known"
                raise StoreUnavailable(f"the server of an earlier run (process {pid}) keeps {self.folder}; end it")
            time.sleep(0.02)

    def leftover_pid(self) -> str:
        """The process in the server's own pid file; used in messages only."""
        return _read(self.folder / f"{self.name}.pid")

    def _spawn(self, server: Path, lock: int, log: int) -> subprocess.Popen[bytes]:
        """Start the process from a thread that lives as long as the process may.

        PR_SET_PDEATHSIG fires when the *thread* that forked ends, and the one that called start() may be short-lived.
        """
        command = self.command(server)
        if sys.platform == "linux" and sys.executable:
            bound = [sys.executable, "-I", "-S", "-c", BIND_TO_OWNER, str(os.getpid()), str(int(self.ending))]
            command = [*bound, *command]
        born: Future[subprocess.Popen[bytes]] = Future()
        over = threading.Event()

        def keep() -> None:
            try:
                born.set_result(
                    subprocess.Popen(
                        command,
                        cwd=self.folder,
                        env={**self.environ, **os.environ},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        pass_fds=[lock],
                        umask=0o077,
                        start_new_session=True,  # otherwise Ctrl-C would end the store before Fairline has shut down
                    )
                )
                over.wait()
            except BaseException as error:
                born.set_exception(error)

        self._undo.callback(over.set)
        threading.Thread(target=keep, name=f"fairline-{self.name}", daemon=True).start()
        return born.result()

    def _wait_until_ready(self, server: Path, log_start: int) -> None:
        """Wait until the data is loaded and calls are answered."""
        deadline = time.monotonic() + LOADING_SECONDS
        while not self.answers():
            late = time.monotonic() > deadline
            if late or self.pid is None:
                failure = f"did not answer within {LOADING_SECONDS:g} s" if late else "ended while starting"
                log = _read(self.log, log_start)
                last = "\n".join(log.splitlines()[-5:])
                advice = self.advice(log, server)
                raise StoreUnavailable(f"{server} {failure} in {self.folder}. {advice} It last said:\n{last}\n")
            time.sleep(0.01)


def check_folder(folder: Path) -> None:
    """Raise StoreFolderUnfit if an embedded store cannot be kept in this folder, which need not exist yet.

    Nothing is changed: an existing folder may have other users, such as /tmp, and closing it would lock them out. But a
    user who can write to it could replace the store's files, so a folder that anybody can write to is refused. (A
    group that can write to it was chosen by the owner of the folder, and often has only that user.) It does no harm if
    others can list the folder: only their owner can read the files in it."""
    folder = folder.expanduser().absolute()
    found = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
    if not found.is_dir():
        raise StoreFolderUnfit(str(folder), f"{found} is not a folder", "Name another with --data.")
    if not os.access(found, os.W_OK | os.X_OK):
        raise StoreFolderUnfit(str(folder), f"this user cannot write to {found}", "Name another with --data.")
    mode = stat.S_IMODE(found.stat().st_mode)
    if found == folder and mode & stat.S_IWOTH:
        close = f"chmod 700 {shlex.quote(str(folder))}"
        advice = f"Name another with --data, such as one in it; or, if it is Fairline's alone: {close}"
        raise StoreFolderUnfit(str(folder), f"anybody can write to it (mode {mode:04o})", advice)


def _lock(path: Path) -> int | None:
    """Lock a file and return its descriptor; None if another process has locked it. Children do not inherit it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _read(path: Path, start: int = 0) -> str:
    """The text of a file from an offset; empty if there is no file."""
    try:
        return path.read_bytes()[start:].decode(errors="replace").strip()
    except OSError:
        return ""
