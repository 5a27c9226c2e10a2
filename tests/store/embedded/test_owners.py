"""The embedded server and its owner, really killed: one owner a folder, and no orphans."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fairline.errors import StoreFolderInUse, StoreUnavailable
from fairline.store import embedded as any_embedded
from fairline.store.valkey.embedded import EmbeddedValkey
from tests.store.embedded.servers import UNBOUND, Make, StartOwner, client, comes_true, leftovers, linux_only, running

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


def hanging(make: Make, monkeypatch: pytest.MonkeyPatch) -> tuple[EmbeddedValkey, int]:
    """A server that neither answers nor ends when it is asked to, and is not waited for long."""
    server = make()
    server.start()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    monkeypatch.setattr(any_embedded, "ENDING_SECONDS", 0.2)
    return server, server.pid


def test_server_that_hangs_is_ended_all_the_same(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server, pid = hanging(make, monkeypatch)
    server.stop()
    assert not running(pid)
    assert leftovers(server.folder) == []
    make().start()


def test_server_that_does_not_answer_is_started_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server, pid = hanging(make, monkeypatch)
    with client(server.start()) as store:
        assert store.ping()
    assert server.pid != pid
