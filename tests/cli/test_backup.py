"""`fairline backup` and `fairline restore` as they are typed: what they say of secrets, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

from fairline import __version__
from fairline.store.backup_file import BackupReader
from tests.cli.typed import fairline
from tests.web.running import RunningServer

SECRETS = ("secret", "admin-key")
OWN = {"FAIRLINE_SECRET": "s" * 32, "FAIRLINE_ADMIN_KEY": "k" * 32}


def secrets_of(file: Path) -> dict[str, str]:
    """The secrets in a backup."""
    records = BackupReader(file, __version__).records()
    return {each.name: each.parts["text"].decode() for each in records if each.kind == "secret"}


def test_generated_secrets_are_in_the_file_and_those_of_the_settings_are_not(
    server: RunningServer, tmp_path: Path
) -> None:
    done = fairline("backup", str(tmp_path / "with"), "--data", str(server.data))
    assert done.returncode == 0, done.stderr
    assert "the secret that signs tokens" in done.stdout
    assert "The secret is not in it" not in done.stdout
    without = fairline("backup", str(tmp_path / "without"), "--data", str(server.data), **OWN)
    assert "The secret is not in it. Keep FAIRLINE_SECRET" in without.stdout
    header = json.loads((tmp_path / "without").read_bytes().partition(b"\n")[0])
    assert not [each for each in header["contains"] if "secret that signs" in each]
    assert secrets_of(tmp_path / "with") == {name: (server.data / name).read_text().strip() for name in SECRETS}
    assert secrets_of(tmp_path / "without") == {}

    fresh = tmp_path / "fresh"
    same = fairline("restore", str(tmp_path / "without"), "--data", str(fresh), **OWN)
    assert (same.returncode, same.stderr) == (0, ""), same.stderr
    assert "demo" in same.stdout
    assert not (fresh / "secret").exists()
    other = fairline("restore", str(tmp_path / "without"), "--data", str(fresh), "--replace")
    assert other.returncode == 0
    assert "signed with another secret" in other.stderr


def test_a_restore_never_puts_another_secret_in_the_place_of_one(server: RunningServer, tmp_path: Path) -> None:
    file, data = tmp_path / "backup", tmp_path / "data"
    assert fairline("backup", str(file), "--data", str(server.data)).returncode == 0
    data.mkdir(mode=0o700)
    (data / "secret").write_text("another secret of somebody", encoding="utf-8")
    refused = fairline("restore", str(file), "--data", str(data))
    assert refused.returncode == 1
    assert f"{data / 'secret'} is another one than that of the backup" in refused.stderr
    assert [path.name for path in data.iterdir()] == ["secret"]
    assert fairline("restore", str(file), "--data", str(data), "--replace").returncode == 0
    for name in SECRETS:
        assert (data / name).read_bytes() == (server.data / name).read_bytes()
        assert (data / name).stat().st_mode & 0o777 == 0o600


def test_mistakes_are_one_clear_line(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n", encoding="utf-8")
    used, empty = ("--data", str(server.data)), ("--data", str(tmp_path / "empty"))
    for words, says in (
        (("backup", str(tmp_path / "text"), *used), "exists already"),
        (("backup", str(tmp_path / "no" / "folder"), *used), "cannot be written"),
        (("backup", str(tmp_path / "new"), *empty), "nothing to back up"),
        (("restore", str(tmp_path / "text"), *empty), "is not a backup of Fairline"),
        (("restore", str(tmp_path / "missing"), *empty), "cannot be read: No such file"),
        (("restore", str(tmp_path), *empty), "cannot be read: Is a directory"),
    ):
        done = fairline(*words)
        assert done.returncode == 1, words
        assert says in done.stderr, words
        assert done.stderr.count("\n") == 1, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]
    assert fairline("backup", str(tmp_path / "whole"), *used).returncode == 0
    running = fairline("restore", str(tmp_path / "whole"), *used, "--replace")
    assert running.returncode == 1
    assert f"is in use by process {server.process.pid}" in running.stderr
