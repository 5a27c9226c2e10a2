"""The checks that the documentation prints, run against a real server; and the page of options against the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest

from fairline.domain.tokens import Keyring
from fairline.gate import Options
from tests.gate.sites import Fairline
from tests.gate.snippets import DOCS, snippet
from tests.gate.test_sites import minted, unsigned

PAGE = "how-to/check-session-tokens-yourself.md"
NODE = shutil.which("node")

#: They run a check as it is printed, for a session token that is good, and then ask its function about others.
PYTHON = """
import json, runpy, sys
found = runpy.run_path(FILE, run_name="__main__")
keys = found["fetch_keys"](sys.argv[1])
for token in json.load(sys.stdin):
    try:
        found["check"](token, sys.argv[2], keys)
        print("taken")
    except Exception:
        print("refused")
"""
JAVASCRIPT = """
import { readFileSync } from "node:fs";
import { check, fetchKeys } from FILE;
const [server, queue] = process.argv.slice(2);
const keys = await fetchKeys(server);
for (const token of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    check(token, queue, keys);
    console.log("taken");
  } catch {
    console.log("refused");
  }
}
"""


@pytest.mark.parametrize(
    "name", ["check_session_token.py", "check_session_token_joserfc.py", "check_session_token.mjs"]
)
def test_a_good_session_token_is_believed_and_no_other(fairline: Fairline, tmp_path: Path, name: str) -> None:
    if name.endswith(".mjs") and NODE is None:
        pytest.skip("node is not installed")
    file = tmp_path / name
    file.write_text(snippet(PAGE, name), encoding="utf-8")
    queue, keyring = fairline.queue(), fairline.keyring()
    token, number = fairline.admitted(queue)
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
    if name.endswith(".mjs"):
        command = [str(NODE), "--input-type=module", "-e", JAVASCRIPT.replace("FILE", repr(str(file))), "a file"]
    else:
        command = [sys.executable, "-c", PYTHON.replace("FILE", repr(str(file)))]
    done = subprocess.run(
        [*command, fairline.url, queue, token],
        input=json.dumps([*bad.values(), token]),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, *others, good = done.stdout.splitlines()
    assert first[-6:] == f"{number:06d}"
    assert {what: said for what, said in zip(bad, others, strict=True) if said != "refused"} == {}
    assert good == "taken", "it would refuse anything"
    program = NODE if name.endswith(".mjs") else sys.executable
    refuses = [str(program), str(file), fairline.url, queue, bad["forged"]]
    assert subprocess.run(refuses, capture_output=True, timeout=60, check=False).returncode != 0


def test_the_page_of_options_has_every_option_and_its_default() -> None:
    page = (DOCS / "reference/gate.md").read_text(encoding="utf-8")
    printed = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    there = {each.name: each.default for each in fields(Options)}
    assert printed.keys() >= there.keys()
    for name, default in there.items():
        if isinstance(default, int | float) and not isinstance(default, bool):
            assert printed[name].replace(",", "") == f"{default:g}", name
