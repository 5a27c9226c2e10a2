"""Secrets that are kept in the data folder: there is a whole one or none, and a spoilt one is never signed with."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairline.errors import InvalidSettings
from fairline.process.secrets import ADMIN_KEY, SECRET, make_secret, read_secret
from fairline.settings import MIN_SECRET_LENGTH

WHOLE = "s" * 64
NOWHERE = "valkey://127.0.0.1:9"


def serve(data: Path, *, full: bool = False) -> str:
    """Start a server whose store is away: it makes its secret, and gives up. What it says of that."""
    done = subprocess.run(
        [sys.executable, "-m", "fairline", "serve", "--port", "0", "--store", NOWHERE, "--data", str(data)],
        cwd=data.parent,
        env={name: value for name, value in os.environ.items() if not name.startswith("FAIRLINE_")},
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))) if full else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_a_start_on_a_full_disk_leaves_no_secret_that_all_know(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert f"secret: cannot be kept in {data / SECRET} (File too large)" in serve(data, full=True)
    assert list(data.iterdir()) == []
    assert "The store is unavailable" in serve(data)
    assert len(read_secret(data, SECRET)) == 64


def test_a_server_does_not_start_with_a_secret_that_is_empty(tmp_path: Path) -> None:
    (tmp_path / SECRET).touch(0o600)
    said = serve(tmp_path)
    assert f"secret: has 0 characters in {tmp_path / SECRET}; it needs at least {MIN_SECRET_LENGTH}" in said
    assert "remove it along with admin-key, and the next start makes new ones" in said


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    assert make_secret(tmp_path, SECRET, lambda: WHOLE) == WHOLE
    assert make_secret(tmp_path, SECRET, lambda: "another") is None
    assert read_secret(tmp_path, SECRET) == WHOLE
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def late(monkeypatch: pytest.MonkeyPatch, call: str, first: Callable[[], Any]) -> None:
    """Have something happen just before a call to the system."""
    real = getattr(os, call)

    def called(*given: Any, **named: Any) -> Any:
        first()
        return real(*given, **named)

    monkeypatch.setattr(os, call, called)


def test_a_secret_is_whole_as_soon_as_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late(monkeypatch, "fsync", lambda: seen.append((tmp_path / SECRET).exists()))
    seen: list[bool] = []
    make_secret(tmp_path, SECRET, lambda: WHOLE)
    assert seen == [False, True]  # the file, then the folder with its name


def test_of_two_who_start_at_once_one_makes_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late(monkeypatch, "link", lambda: (tmp_path / SECRET).write_text(WHOLE))
    assert make_secret(tmp_path, SECRET, lambda: "x" * 64) is None
    assert read_secret(tmp_path, SECRET) == WHOLE
    assert [file.name for file in tmp_path.iterdir()] == [SECRET]


def no_links(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    assert make_secret(tmp_path, SECRET, lambda: WHOLE) == WHOLE
    assert make_secret(tmp_path, SECRET, lambda: "another") is None
    (file,) = tmp_path.iterdir()
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (WHOLE + "\n", 0o600)


def test_what_fails_there_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, "replace", no_links)
    with pytest.raises(InvalidSettings, match="Operation not permitted"):
        make_secret(tmp_path, ADMIN_KEY, lambda: WHOLE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * (MIN_SECRET_LENGTH - 1) + b"\n", b"\xff" * 40])
@pytest.mark.parametrize(("name", "setting"), [(SECRET, "secret"), (ADMIN_KEY, "admin_key")])
def test_a_spoilt_secret_is_refused_with_its_file(tmp_path: Path, name: str, setting: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidSettings, match="remove it") as caught:
        read_secret(tmp_path, name)
    assert caught.value.field == setting
    assert str(tmp_path / name) in caught.value.message


def test_one_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    (tmp_path / SECRET).mkdir()
    with pytest.raises(InvalidSettings, match="Is a directory"):
        read_secret(tmp_path, SECRET)
