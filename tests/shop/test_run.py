"""`make run`: how it ends, and who is in line."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backends import wait_until
from tests.shop.running import Demonstration, is_there

#: How it is ended, whether in a terminal, and the exit code.
ENDINGS: dict[str, tuple[Callable[[Demonstration], None], bool, int]] = {
    "Ctrl-C": (lambda it: it.press_ctrl_c(), True, 0),
    "Ctrl-C at once": (lambda it: it.press_ctrl_c(), True, 0),
    "SIGINT to the group": (lambda it: it.signal(signal.SIGINT, group=True), False, 0),
    "SIGTERM to the server": (lambda it: it.signal(signal.SIGTERM), False, 0),
    "SIGKILL to the server": (lambda it: it.signal(signal.SIGKILL), False, -signal.SIGKILL),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_however_it_is_ended_it_ends_in_order_and_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    end, terminal, code = ENDINGS[name]
    with Demonstration(tmp_path, "--crowd", "3", terminal=terminal) as it:
        it.until_told()
        if name != "Ctrl-C at once":  # while the shop is still starting
            it.until_open()
        everyone = it.pids()
        assert len(everyone) >= 4, f"the server, its worker, its store, the shop: {everyone}"
        end(it)
        assert it.ended() == code, it.said
        if code:  # killed: the others notice by themselves
            wait_until(lambda: not any(map(is_there, everyone)), "not all are gone")
        assert not [pid for pid in everyone if is_there(pid)]
        assert "Traceback" not in it.said
        assert "Fatal" not in it.said


def test_the_crowd_keeps_the_line_and_comes_back_after_a_restart(tmp_path: Path) -> None:
    size, most = 4, 4 + 5
    with Demonstration(tmp_path, "--crowd", str(size), "--every", "0.5") as it:
        it.until_open()
        assert "4 simulated visitors" in it.said
        assert "--crowd 0" in it.said
        assert it.said.index("open this") < it.said.index("/admin")
        key = (it.data / "admin-key").read_text(encoding="utf-8").strip()
        assert key in it.said
        # They come, have their turn, and go again; the line is never longer than it should be.
        longest, inside = 0, 0

        def many_have_gone() -> bool:
            nonlocal longest, inside
            stats = it.stats()
            longest, inside = max(longest, stats["waiting"]), max(inside, stats["admitted"] + stats["active"])
            return bool(stats["joined_total"] > 2 * most)

        wait_until(many_have_gone, f"they do not come and go: {it.said}", 60)
        assert 0 < longest <= size
        assert 0 < inside <= most
        assert it.stats()["completed"] == 0, "they have bought lamps"
        it.signal(signal.SIGTERM)
        it.ended()
    with Demonstration(tmp_path, "--crowd", str(size), "--every", "0.5") as again:
        again.until_open()
        stats = again.stats()
        assert stats["waiting"] <= size
        before = stats["admitted_total"]
        wait_until(lambda: again.stats()["admitted_total"] > before + size, f"the line does not move: {again.said}")
        # It is at another port by now, and the queue of a fresh server has come along.
        assert again.ask("/api/v1/admin/queues/demo")["target_url"] == f"{again.server}/arrived/demo"
        # What it says at a second start: where the key is, and not the key.
        assert key not in again.said
        assert f"in {again.data / 'admin-key'}" in again.said
        assert f"{again.data}\n" in again.said


def test_without_a_crowd_nobody_is_in_line(tmp_path: Path) -> None:
    with Demonstration(tmp_path, "--crowd", "0") as it:
        it.until_open()
        assert it.stats()["joined_total"] == 0
        assert "Nobody is in line but you" in it.said
        it.signal(signal.SIGTERM, group=True)
        assert it.ended() == 0, it.said
