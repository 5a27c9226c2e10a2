"""What the embedded server is started with: its own variables, and those of the process that starts it, which win."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairline.store.valkey.embedded import EmbeddedValkey
from tests.store.embedded.servers import Make, linux_only


@linux_only
@pytest.mark.parametrize("theirs", [None, "glibc.malloc.arena_max=1"])
def test_server_keeps_memory_at_hand_unless_the_operator_says_otherwise(
    make: Make, monkeypatch: pytest.MonkeyPatch, theirs: str | None
) -> None:
    if theirs is None:
        monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    else:
        monkeypatch.setenv("GLIBC_TUNABLES", theirs)
    server = make()
    server.start()
    started_with = Path(f"/proc/{server.pid}/environ").read_bytes().split(b"\0")
    assert f"GLIBC_TUNABLES={theirs or EmbeddedValkey.environ['GLIBC_TUNABLES']}".encode() in started_with
    assert f"PATH={os.environ['PATH']}".encode() in started_with
