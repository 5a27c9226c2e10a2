"""A draw for real: on a server with a beacon, fetched and checked by the command line, and by a checker in another
language that was written from the description of the scheme, and by the script of the page."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

import fairline as fairline_package
from fairline.domain.draw_check import check_draw, is_refused, read_draw_file
from tests.backends import wait_until
from tests.cli.typed import fairline
from tests.drand import CHAIN, FakeDrand, fake_drand, sign
from tests.draws.published import (
    CHANGES,
    CHANGES_WITH_ROUND,
    CHANGES_WITHOUT_ROUND,
    File,
    draw_file,
    tampered,
    written,
)
from tests.web.running import RunningServer

PAGE_CHECKER = Path(fairline_package.__file__).parent / "web" / "pages" / "static" / "draw-check.js"
CHECKER = Path(__file__).with_name("independent_checker.mjs")
PEOPLE = 40
#: A round each second, so that the test need not wait for three.
PERIOD = 1

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no node")


@pytest.fixture(scope="module")
def drand() -> Iterator[FakeDrand]:
    with fake_drand() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, drand: FakeDrand) -> Iterator[RunningServer]:
    environ = {
        "FAIRLINE_BEACON": "drand",
        "FAIRLINE_BEACON_URLS": drand.url,
        "FAIRLINE_BEACON_CHAIN": CHAIN.id,
        "FAIRLINE_BEACON_PUBLIC_KEY": CHAIN.public_key,
        "FAIRLINE_BEACON_GENESIS": str(CHAIN.genesis),
        "FAIRLINE_BEACON_PERIOD_SECONDS": f"{PERIOD}s",
    }
    running = RunningServer(tmp_path_factory.mktemp("draws"), workers=2, environ=environ)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def drawn(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a draw of people with different levels, and the receipt of one of them."""
    base = f"{server.base_url}/api/v1"
    with httpx.Client(headers={"authorization": f"Bearer {server.admin_key}"}, timeout=20) as admin:
        queue = {"id": "sale", "status": "maintenance", "join_limit_per_ip": 0, "admission_rate": 1}
        assert admin.post(f"{base}/admin/queues", json=queue).status_code == 201
        now = datetime.now(UTC)
        opening = {
            "prequeue_at": (now + timedelta(seconds=1)).isoformat(),
            "starts_at": (now + timedelta(seconds=4)).isoformat(),
            "draw": "random",
        }
        planned = admin.post(f"{base}/admin/queues/sale/openings", json=opening).json()
        draw = f"{base}/draws/sale.{planned['id']}"
        wait_until(lambda: admin.get(draw).status_code == 200, "the pre-queue did not open")
        before = admin.get(draw).json()
        assert (before["chain"], before["root"], before["levels_hash"]) == (CHAIN.id, None, None)
        tokens = []
        for number in range(PEOPLE):
            body = {"client_id": f"client {number}", "priority": number % 4 if number % 3 == 0 else 0}
            joined = admin.post(f"{base}/admin/queues/sale/join", json=body)
            assert joined.status_code == 201, joined.text
            tokens.append(joined.json()["token"])
        wait_until(lambda: admin.get(draw).json()["drawn_at"] is not None, "nothing was drawn")
        after = admin.get(draw).json()
        assert (after["commitment"], after["round"]) == (before["commitment"], before["round"])
        assert after["signature"] == sign(after["round"]).hex()
    file = tmp_path_factory.mktemp("drawn") / "draw.json"
    words = ("draw", "fetch", after["id"], "--out", str(file), "--token", tokens[3], "--server", server.base_url)
    fetched = fairline(*words, FAIRLINE_DATA=str(file.parent))
    assert fetched.returncode == 0, fetched.stderr
    assert f"{PEOPLE} people were drawn" in fetched.stdout
    return file


def by_node(file: Path) -> tuple[int, str]:
    done = subprocess.run(["node", CHECKER, file], capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def by_the_page(file: Path) -> set[str]:
    """What the script of the page of a draw finds wrong."""
    module = file.with_name("draw-check.mjs")
    shutil.copyfile(PAGE_CHECKER, module)
    script = (
        f'import {{ check }} from "{module}"; import {{ readFileSync }} from "node:fs";'
        f'const results = await check(JSON.parse(readFileSync("{file}", "utf8")));'
        "console.log(JSON.stringify(results.filter(({ ok }) => !ok).map(({ name }) => name)));"
    )
    words = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def by_us(file: Path) -> tuple[int, str]:
    done = fairline("draw", "verify", str(file), "--chain-key", CHAIN.public_key)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@needs_node
def test_a_real_draw_passes_every_checker(drawn: Path) -> None:
    assert by_node(drawn) == (0, "right\n")
    assert by_the_page(drawn) == set()
    code, said = by_us(drawn)
    assert code == 0, said
    assert "All that was checked is right.\n" in said
    assert "wrong" not in said
    content = json.loads(drawn.read_bytes())
    assert len({level for _, _, level in content["entries"]}) == 4
    assert content["receipt"]["count"] == PEOPLE


@needs_node
def test_all_checkers_refuse_the_same_changes_of_a_real_draw(drawn: Path, tmp_path: Path) -> None:
    file: File = json.loads(drawn.read_bytes())
    other = tmp_path / "changed.json"
    changes = CHANGES | {
        what: change for what, change in CHANGES_WITH_ROUND.items() if what != "the signature" and "round" not in what
    }
    for what, (change, name) in changes.items():
        other.write_bytes(written(tampered(file, change)))
        assert by_node(other)[0] == 1, what
        assert by_the_page(other), what
        checks = check_draw(read_draw_file(other.read_bytes()), CHAIN.public_key)
        assert name in {check.name for check in checks if check.passed is False}, what
    # That another round was used is known from its signature alone.
    other.write_bytes(written(tampered(file, CHANGES_WITH_ROUND["the round"][0])))
    code, said = by_us(other)
    assert code == 1
    assert "This draw is wrong: signature." in said


@needs_node
def test_all_checkers_agree_where_the_secret_decides_alone(tmp_path: Path) -> None:
    file = draw_file([0, 0, 1, 0, 3, 0, 2, 0, 0, 0, 1], with_round=False)
    other = tmp_path / "draw.json"
    other.write_bytes(written(file))
    assert by_node(other) == (0, "right\n")
    assert by_the_page(other) == set()
    for what, (change, _) in (CHANGES | CHANGES_WITHOUT_ROUND).items():
        changed = written(tampered(file, change))
        other.write_bytes(changed)
        assert by_node(other)[0] == 1, what
        assert by_the_page(other), what
        assert is_refused(check_draw(read_draw_file(changed))), what


def test_the_command_line_shows_a_draw_and_says_what_is_wrong_with_a_file(
    drawn: Path, server: RunningServer, tmp_path: Path
) -> None:
    content: dict[str, Any] = json.loads(drawn.read_bytes())
    name = content["draw"]["id"]
    shown = fairline("draw", "show", name, "--json", "--server", server.base_url, FAIRLINE_DATA=str(tmp_path))
    assert json.loads(shown.stdout) == content["draw"]
    told = json.loads(fairline("draw", "verify", str(drawn), "--json").stdout)
    assert (told["draw"], told["refused"]) == (name, False)
    assert [each["name"] for each in told["checks"] if each["passed"] is None] == ["signature"]  # not quicknet
    for words, problem in (
        (("draw", "verify", str(tmp_path / "nothing")), "cannot be read"),
        (("draw", "verify", str(CHECKER)), "This is not the file of a draw"),
        (("draw", "fetch", name, "--out", str(tmp_path / "no" / "file"), "--server", server.base_url), "be written"),
        (("draw", "show", "sale.0000000000", "--server", server.base_url), "There is no such draw"),
    ):
        refused = fairline(*words, FAIRLINE_DATA=str(tmp_path))
        assert (refused.returncode, refused.stdout) == (1, ""), words
        assert problem in refused.stderr
