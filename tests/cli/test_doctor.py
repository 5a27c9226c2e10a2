"""The doctor: it finds what would hurt, as `serve` would find it, and changes nothing that it checks."""

from __future__ import annotations

import re
import socket
import stat
from pathlib import Path

import pytest

from tests.cli.typed import as_anyone, fairline, other_program
from tests.drand import CHAIN, fake_drand, sign
from tests.web.running import RunningServer


@pytest.fixture
def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


def mode_of(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


@pytest.mark.parametrize("store", ["embedded", "embedded-postgres"])
def test_the_doctor_leaves_nothing_where_nothing_was(tmp_path: Path, free_port: str, store: str) -> None:
    (tmp_path / "empty").mkdir(mode=0o755)
    for data in (tmp_path / "fresh", tmp_path / "empty"):
        well = fairline("doctor", "--store", store, "--data", str(data), FAIRLINE_PORT=free_port)
        assert well.returncode == 0, well.stdout
        assert "Ready." in well.stdout
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]
    assert mode_of(tmp_path / "empty") == 0o755


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o776])
def test_a_folder_that_others_can_write_to_is_refused_and_left_as_it_is(
    tmp_path: Path, free_port: str, mode: int
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    told = fairline("doctor", "--data", str(shared), FAIRLINE_PORT=free_port)
    assert told.returncode == 1
    assert "1 to fix" in told.stdout
    assert f"chmod 700 {shared}" in told.stdout
    refused = fairline("serve", "--data", str(shared), "--port", "0")
    assert refused.returncode == 1
    assert f"chmod 700 {shared}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert (mode_of(shared), list(shared.iterdir())) == (mode, [])


def test_a_folder_that_cannot_be_written_to_is_refused_and_left_as_it_is(tmp_path: Path, free_port: str) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    for data in (locked, locked / "new"):
        told = as_anyone("doctor", "--data", str(data), FAIRLINE_PORT=free_port)
        assert "1 to fix" in told.stdout
        assert "cannot write to" in told.stdout
        refused = as_anyone("serve", "--data", str(data), "--port", "0")
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
        assert str(data) in refused.stderr
        assert "--data" in refused.stderr
    assert (mode_of(locked), list(locked.iterdir())) == (0o555, [])


def test_a_folder_in_which_nothing_is_kept_is_only_looked_at(tmp_path: Path, server: RunningServer) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    words = ("doctor", "--data", str(tmp_path / "shared"), "--store", f"valkey+unix://{server.data}/valkey.sock")
    secret = (server.data / "secret").read_text(encoding="utf-8").strip()
    own = {"FAIRLINE_SECRET": secret, "FAIRLINE_ADMIN_KEY": "k" * 32, "FAIRLINE_PORT": str(server.port)}
    told = fairline(*words, **own)
    assert told.returncode == 0, told.stdout
    assert re.search(r"warn +data folder", told.stdout)
    del own["FAIRLINE_SECRET"]
    assert re.search(r"fix +data folder", fairline(*words, **own).stdout)


def test_a_folder_that_cannot_be_looked_into_is_no_stack_trace(tmp_path: Path, free_port: str) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    for data in (closed, closed / "new"):
        told = as_anyone("doctor", FAIRLINE_DATA=str(data), FAIRLINE_PORT=free_port)
        assert "1 to fix" in told.stdout
        assert told.stderr == ""


def test_a_file_is_no_data_folder(tmp_path: Path, free_port: str) -> None:
    (tmp_path / "file").touch()
    for data in (tmp_path / "file", tmp_path / "file" / "new"):
        told = fairline("doctor", "--data", str(data), FAIRLINE_PORT=free_port)
        assert "1 to fix" in told.stdout
        assert f"{tmp_path / 'file'} is not a folder" in told.stdout
        assert "--store" not in told.stdout


def test_a_store_that_is_there_is_looked_at(tmp_path: Path, server: RunningServer, free_port: str) -> None:
    server.stop()
    try:
        told = fairline("doctor", "--data", str(server.data), FAIRLINE_PORT=free_port)
        assert "embedded answers, 1 queues" in told.stdout
    finally:
        server.start()
    told = fairline("doctor", "--data", str(server.data), FAIRLINE_PORT=str(server.port))
    assert told.returncode == 0
    assert "in use by a running server" in told.stdout
    assert f"a Fairline answers on 127.0.0.1:{server.port} already" in told.stdout


def test_the_other_embedded_store_is_not_overlooked(tmp_path: Path, free_port: str) -> None:
    """Data that `serve` would not take, since another store is named, or none."""
    for kept, missing, other in (
        ("postgres/data", "embedded", "embedded-postgres"),
        ("appendonlydir", "embedded-postgres", "embedded"),
    ):
        data = tmp_path / other
        (data / kept).mkdir(parents=True)
        told = fairline("doctor", "--store", missing, "--data", str(data), FAIRLINE_PORT=free_port)
        assert told.returncode == 1
        assert f"{missing} has no data in {data}, but {other} has" in told.stdout
        assert f"--store {other}" in told.stdout


def test_a_mistyped_variable_is_reported(tmp_path: Path, free_port: str) -> None:
    told = fairline("doctor", "--data", str(tmp_path), FAIRLINE_PORT=free_port, FAIRLINE_PUBLIC_ULR="https://w.example")
    assert told.returncode == 0
    assert re.search(r"warn +variables", told.stdout)
    assert "Did you mean FAIRLINE_PUBLIC_URL?" in told.stdout


def test_a_port_where_serve_could_not_listen_is_to_mend(tmp_path: Path, free_port: str) -> None:
    data = ("--data", str(tmp_path / "fresh"))
    with other_program() as port:
        taken = fairline("doctor", *data, FAIRLINE_PORT=str(port))
    assert taken.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use). Choose" in taken.stdout
    nowhere = fairline("doctor", *data, FAIRLINE_HOST="256.1.1.1", FAIRLINE_PORT=free_port)
    assert nowhere.returncode == 1
    assert f"cannot listen on 256.1.1.1:{free_port} (" in nowhere.stdout
    # The reason is the system's, and has no address as Python writes it.
    assert "attempting" not in nowhere.stdout
    assert "('256.1.1.1'" not in nowhere.stdout
    too_long = fairline("doctor", *data, FAIRLINE_HOST=f"{'a' * 64}.example", FAIRLINE_PORT=free_port)
    assert too_long.returncode == 1
    keeper = fairline("doctor", *data, FAIRLINE_HOST="256.1.1.1", FAIRLINE_ROLE="keeper")
    assert keeper.returncode == 0, keeper.stdout


def test_brackets_in_a_path_are_no_trouble(tmp_path: Path, free_port: str) -> None:
    data = tmp_path / "[/x]"
    assert str(data) in fairline("doctor", "--data", str(data), FAIRLINE_PORT=free_port).stdout


def test_the_doctor_finds_what_would_hurt(tmp_path: Path) -> None:
    well = fairline("doctor", "--data", str(tmp_path / "fresh"))
    assert well.returncode == 0, well.stdout
    assert "Ready" in well.stdout
    assert "FAIRLINE_PUBLIC_URL" in well.stdout
    told = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_PUBLIC_URL="https://wait.example")
    assert "https://wait.example" in told.stdout
    (tmp_path / "secret").write_text("open to all", encoding="utf-8")
    (tmp_path / "secret").chmod(0o644)
    ill = fairline("doctor", "--data", str(tmp_path))
    assert ill.returncode == 1
    assert f"chmod 600 {tmp_path / 'secret'}" in ill.stdout
    (tmp_path / "secret").write_text("", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    empty = fairline("doctor", "--data", str(tmp_path))
    assert empty.returncode == 1
    assert "has 0 characters" in empty.stdout
    assert "Ready" in fairline("doctor", "--data", str(tmp_path), FAIRLINE_SECRET="s" * 32).stdout  # it is not used
    away = fairline("doctor", "--store", "valkey://127.0.0.1:9", "--data", str(tmp_path / "fresh"))
    assert away.returncode == 1
    assert "The store is unavailable" in away.stdout
    odd = fairline("doctor", "--store", "valkey://[foo", "--data", str(tmp_path / "fresh"))
    assert "The store's address cannot be read" in odd.stdout
    weak = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_SECRET="short")
    assert "openssl rand" in weak.stdout


def test_the_doctor_asks_the_beacon_for_a_round(tmp_path: Path, free_port: str) -> None:
    with fake_drand() as drand:
        own = {
            "FAIRLINE_PORT": free_port,
            "FAIRLINE_BEACON": "drand",
            "FAIRLINE_BEACON_URLS": drand.url,
            "FAIRLINE_BEACON_CHAIN": CHAIN.id,
            "FAIRLINE_BEACON_PUBLIC_KEY": CHAIN.public_key,
            "FAIRLINE_BEACON_GENESIS": str(CHAIN.genesis),
        }

        def said(**changed: str) -> tuple[int, str]:
            told = fairline("doctor", "--data", str(tmp_path / "data"), **{**own, **changed})
            (line,) = (line for line in told.stdout.splitlines() if re.match(r"\w+ +beacon ", line))
            return told.returncode, " ".join(line.split())

        code, line = said()
        assert code == 0
        assert re.search(r"^ok beacon drand answers, and round [\d,]+ is signed$", line), line
        drand.answer = lambda number: (200, {"signature": sign(number, key=99).hex()})
        assert said() == (0, "warn beacon 127.0.0.1: its signature is wrong")
        drand.answer = lambda _: (503, {})
        assert said() == (0, "warn beacon 127.0.0.1: it answered with status 503")
        code, line = said(FAIRLINE_BEACON_PUBLIC_KEY="ab" * 96)
        assert code == 1
        assert line.startswith("fix beacon is not a public key")
    assert "beacon" not in fairline("doctor", "--data", str(tmp_path / "data"), FAIRLINE_PORT=free_port).stdout
