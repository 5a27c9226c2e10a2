"""The disk is full of something else: who waits is on a store elsewhere, and must not notice."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.backends import wait_until
from tests.web.running import RunningServer


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, with space for little more than a server needs to start."""
    folder = tmp_path / "data"
    folder.mkdir()
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", "size=8m", "none", folder), capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be made here that is soon full: {mounted.stderr}")
    yield folder
    subprocess.run(("umount", folder), check=True)


def _fill(folder: Path) -> None:
    """Write until there is no space for a single byte."""
    with contextlib.suppress(OSError), (folder / "of-something-else").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert os.statvfs(folder).f_bavail == 0


def test_workers_go_on_counting_on_a_full_disk(small_disk: Path, valkey_url: str) -> None:
    server = RunningServer(small_disk.parent, store=valkey_url)
    try:
        workers, folder = server.worker_pids(), server.metrics_folder()
        _fill(small_disk)
        admin = {"authorization": f"Bearer {server.admin_key}"}
        queues = [f"disk-{secrets.token_hex(4)}" for _ in range(40)]  # enough that their metrics need more space
        with httpx.Client(base_url=f"{server.base_url}/api/v1", timeout=20) as client:
            for queue in queues:
                assert client.post("/admin/queues", json={"id": queue}, headers=admin).status_code == 201
                token = client.post(f"/queues/{queue}/join").raise_for_status().json()["token"]
                assert client.post("/heartbeat", headers={"authorization": f"Bearer {token}"}).status_code == 200

            def all_are_counted() -> bool:
                counted = client.get(f"{server.base_url}/metrics", headers=admin).text
                return all(f'waiting_room_heartbeats_received_total{{queue_id="{queue}"' in counted for queue in queues)

            wait_until(all_are_counted, "the heartbeats of some queue are not counted")
            for queue in queues:
                client.delete(f"/admin/queues/{queue}", headers=admin).raise_for_status()
        assert server.worker_pids() == workers
    finally:
        server.stop()
    assert not folder.exists()
