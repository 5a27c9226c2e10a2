"""A server of a store that a process owns, with its data in one folder and no TCP port.

What is in the folder, beside the server's own files:

    owner.lock       locked by the Fairline that owns the folder, which writes its pid into it
    <server>.lock    locked by the server for as long as it lives, whoever started it

Two locks, because two processes can die apart: a free `owner.lock` beside a held one of the server means a server that
outlived its owner. The kernel frees a lock at the moment of death, so neither can be stale and no pid is trusted.
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
SOCKET_PATH_BYTES = 100  # the systems' own limits are 104 (macOS) and 108 (Linux), the closing zero included

# Run by a fresh interpreter that then becomes the server under the same pid: the same in the fork itself (preexec_fn)
# can deadlock where other threads run. If the owner died before prctl took hold, the parent is another one by now.
BIND_TO_OWNER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, int(sys.argv[2]))  # 1 is PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[3], sys.argv[3:])
"""


class EmbeddedServer(ABC):
    """A server process that this process owns."""

    #: What it is called in file names, where its socket is in the folder, and the signal that ends it in order.
    name: ClassVar[str]
    socket_name: ClassVar[str]
    ending: ClassVar[signal.Signals] = signal.SIGTERM
    #: Variables it is started with, where nobody has set them otherwise.
    environ: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().resolve()
        self._socket = self.folder / self.socket_name
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._undo = ExitStack()

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs, else None."""
        return self._server.pid if self._server and self._server.poll() is None else None

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the store."""

    @abstractmethod
    def find(self) -> Path:
        """The server's binary, or StoreNotSupported."""

    @abstractmethod
    def prepare(self, server: Path) -> None:
        """Make the folder ready for a server that is about to start; no other runs in it."""

    @abstractmethod
    def command(self, server: Path) -> list[str]:
        """How the server is started, in the folder."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server answers calls."""

    @abstractmethod
    def end_leftover(self) -> bool:
        """Ask a server that outlived its owner to end; False where none answers."""

    @abstractmethod
    def advice(self, said: str, server: Path) -> str:
        """What to do about a server that did not start, judged by what it said."""

    @abstractmethod
    def remove_files(self) -> None:
        """Remove what a server that was killed could not."""

    def start(self) -> str:
        """Start the server, or start it again if it died, and return the store's URL once it answers."""
        if self.pid is None or not self.answers():
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
        return self.url

    def stop(self) -> None:
        """Shut the server down with its data on disk, and leave the folder to whoever comes next."""
        if self._owner != os.getpid():
            return  # nothing was started; or this is a fork, and the server belongs to its parent
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
        if len(os.fsencode(self.folder / self.socket_name)) > SOCKET_PATH_BYTES:
            self._socket = self._short_cut() / self.socket_name
        with ExitStack() as passed_on:  # what the server inherits is the server's alone, once it runs
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
        """What the server says."""
        return self.folder / f"{self.name}.log"

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
        if len(os.fsencode(link / self.socket_name)) > SOCKET_PATH_BYTES:
            raise StoreUnavailable(f"{link} is too long for a socket; set TMPDIR to a short path such as /tmp")
        return link

    def _end_leftover(self) -> int:
        """Lock other servers out; one that outlived its owner is shut down first, and its data taken over."""
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
        """The process that the server's own pid file names; only to be told."""
        return _read(self.folder / f"{self.name}.pid")

    def _spawn(self, server: Path, lock: int, log: int) -> subprocess.Popen[bytes]:
        """Start the process from a thread that lives as long as the process may.

        PR_SET_PDEATHSIG fires when the *thread* that forked ends, and whoever called start() may be a short-lived one.
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
                        start_new_session=True,  # or Ctrl-C would end the store under a Fairline still at work
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
                trouble = f"did not answer within {LOADING_SECONDS:g} s" if late else "ended while starting"
                said = _read(self.log, log_start)
                last = "\n".join(said.splitlines()[-5:])
                advice = self.advice(said, server)
                raise StoreUnavailable(f"{server} {trouble} in {self.folder}. {advice} It last said:\n{last}\n")
            time.sleep(0.01)


def check_folder(folder: Path) -> None:
    """Whether an embedded store can be kept in a folder, which need not be there yet, or StoreFolderUnfit. Nothing is
    changed: a folder that was there before us may be for others too, such as /tmp, and to close it would lock them out.
    But whoever can write to it could put files in the place of ours, so one that anybody can write to is refused. (A
    group that can is named by who made the folder: often it is that one user's own.) That others can look into it does
    no harm: all files in it are for their owner alone."""
    folder = folder.expanduser().absolute()
    found = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
    if not found.is_dir():
        raise StoreFolderUnfit(str(folder), f"{found} is no folder", "Name another with --data.")
    if not os.access(found, os.W_OK | os.X_OK):
        raise StoreFolderUnfit(str(folder), f"this user cannot write to {found}", "Name another with --data.")
    mode = stat.S_IMODE(found.stat().st_mode)
    if found == folder and mode & stat.S_IWOTH:
        close = f"chmod 700 {shlex.quote(str(folder))}"
        advice = f"Name another with --data, such as one in it; or, if it is Fairline's alone: {close}"
        raise StoreFolderUnfit(str(folder), f"anybody can write to it (mode {mode:04o})", advice)


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
