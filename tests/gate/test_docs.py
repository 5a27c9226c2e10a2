"""The checks that the documentation prints, run against a real server; and the page of options against the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from fairline.gate import Options
from fairline.token import Keyring
from tests.gate.sites import Fairline
from tests.gate.snippets import DOCS, snippet
from tests.gate.test_sites import minted, unsigned

PAGE = "how-to/check-passes-yourself.md"
NODE = shutil.which("node")

Check = Callable[[str, str], subprocess.CompletedProcess[str]]


@pytest.fixture(params=["check_pass.py", "check_pass_joserfc.py", "check_pass.mjs"])
def check(request: pytest.FixtureRequest, fairline: Fairline, tmp_path: Path) -> Check:
    """Runs the check of the page in each language."""
    if request.param.endswith(".mjs") and NODE is None:
        pytest.skip("node is not installed")
    file = tmp_path / request.param
    file.write_text(snippet(PAGE, request.param), encoding="utf-8")
    program = NODE if request.param.endswith(".mjs") else sys.executable

    def run(queue: str, token: str) -> subprocess.CompletedProcess[str]:
        command = [str(program), str(file), fairline.url, queue, token]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    return run


def test_a_good_pass_is_believed_and_no_other(check: Check, fairline: Fairline) -> None:
    queue, keyring = fairline.queue(), fairline.keyring()
    token, number = fairline.admitted(queue)
    good = check(queue, token)
    assert (good.returncode, good.stdout.strip()[-6:]) == (0, f"{number:06d}"), good.stderr
    head, body, signature = token.split(".")
    bad = {
        "another queue's": fairline.admitted(fairline.queue())[0],
        "expired": minted(keyring, queue, expires=int(time.time()) - 60),
        "forged": minted(Keyring(b"another secret", 1), queue),
        "changed": f"{head}.{minted(keyring, queue).split('.')[1]}.{signature}",
        "unsigned": unsigned({"iss": "fairline", "q": queue, "exp": 4_000_000_000, "sub": "X-1"}),
        "without signature": f"{head}.{body}.",
        "a ticket's": fairline.join(queue),
        "nothing": "",
    }
    assert [what for what, wrong in bad.items() if check(queue, wrong).returncode == 0] == []


def test_the_page_of_options_has_every_option_and_its_default() -> None:
    page = (DOCS / "reference/gate.md").read_text(encoding="utf-8")
    printed = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    there = {each.name: each.default for each in fields(Options)}
    assert printed.keys() >= there.keys()
    for name, default in there.items():
        if isinstance(default, int | float) and not isinstance(default, bool):
            assert printed[name].replace(",", "") == f"{default:g}", name
