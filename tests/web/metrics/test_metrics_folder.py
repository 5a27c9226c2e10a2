"""Where workers count: a folder for each server, which outlives none, and is never another's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairline.web.metrics.metrics_folder import IN_MEMORY, MetricsFolder

#: More than any memory can hold: these are made on disk, in a folder of the test's own.
TOO_MANY = 1 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[MetricsFolder]:
    made = MetricsFolder(tmp_path, TOO_MANY)
    yield made
    made.remove()


def test_it_is_private_and_in_memory_where_there_is_room(tmp_path: Path) -> None:
    in_memory, on_disk = MetricsFolder(tmp_path, 1), MetricsFolder(tmp_path, TOO_MANY)
    try:
        paths = in_memory.ensure(), on_disk.ensure()
        assert [path.parent for path in paths] == [IN_MEMORY, tmp_path / "metrics"]
        assert [path.stat().st_mode & 0o777 for path in paths] == [0o700, 0o700]
    finally:
        in_memory.remove()
        on_disk.remove()
    assert not any(path.exists() for path in paths)


def test_what_a_killed_server_left_is_cleared_away_and_what_another_uses_is_not(
    folder: MetricsFolder, tmp_path: Path
) -> None:
    code = (
        "import sys, pathlib; from fairline.web.metrics.metrics_folder import MetricsFolder\n"
        f"print(MetricsFolder(pathlib.Path(sys.argv[1]), {TOO_MANY}).ensure(), flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        (sys.executable, "-c", code, tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout
    left = Path(other.stdout.readline().strip())
    (left / "counter_0.db").write_bytes(b"counted")
    running = MetricsFolder(tmp_path, TOO_MANY)
    assert running.ensure().is_dir()
    assert left.is_dir()  # its server runs
    other.kill()
    other.communicate()
    assert folder.ensure().is_dir()
    assert not left.exists()
    assert running.ensure().is_dir()
    running.remove()


def test_no_link_is_followed(folder: MetricsFolder, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "metrics").mkdir()
    for name, target in (("a", precious), ("b", tmp_path / "metrics" / "fairline-metrics-b"), ("c", tmp_path / "none")):
        (tmp_path / "metrics" / f"fairline-metrics-{name}").symlink_to(target)
    assert folder.ensure().is_dir()
    assert precious.is_dir()


def test_where_it_was_cleared_away_it_is_made_again_by_its_name(folder: MetricsFolder) -> None:
    path = folder.ensure()
    path.rmdir()
    assert folder.ensure() == path
    assert path.is_dir()
    another = MetricsFolder(path.parent.parent, TOO_MANY)
    assert another.ensure() != path
    assert path.is_dir()
    another.remove()


def test_where_it_cannot_be_made_again_the_server_goes_on(folder: MetricsFolder) -> None:
    path = folder.ensure()
    path.rmdir()
    path.parent.rmdir()
    path.parent.write_bytes(b"in the way")
    assert folder.ensure() == path
    path.parent.unlink()
    assert folder.ensure().is_dir()
