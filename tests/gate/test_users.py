"""The ways to sign who a user is, as the documentation prints them: the server believes them all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.domain.user_tokens import UserTokens
from fairline.errors import UserTokenExpired, UserTokenInvalid
from fairline.gate import user_token
from tests.gate.snippets import snippet

PAGE = "how-to/name-your-users.md"
QUEUE = QueueId("sale")
NAMES = ["ada", "Ada Lovelace", "ünï-한-\N{SNOWMAN}", '"}{', "a" * 200]
PYTHON = "import runpy, sys; [print(runpy.run_path(FILE)['link'](name)) for name in sys.argv[1:]]"
NODE = "const { link } = await import(FILE); process.argv.slice(1).forEach((name) => console.log(link(name)));"


@pytest.fixture
def users() -> UserTokens:
    return UserTokens(Keyring(b"a secret of the tests, long enough"))


def test_what_the_function_signs_is_believed_until_it_ends(users: UserTokens) -> None:
    key, now = users.key(QUEUE), time.time()
    for name in NAMES:
        assert users.user(QUEUE, user_token(name, key), now) == name
    token = user_token("ada", key, seconds=60)
    assert 58 <= users.seconds(QUEUE, token, now) <= 60
    assert users.seconds(QUEUE, token, now + 61) == 0
    with pytest.raises(UserTokenExpired):
        users.user(QUEUE, token, now + 61)
    with pytest.raises(UserTokenInvalid):
        users.user(QueueId("other"), token, now)
    with pytest.raises(UserTokenInvalid):
        users.user(QUEUE, user_token("ada", key, seconds=90_000), now)


def test_a_key_is_taken_a_generation_before_and_after() -> None:
    secret = b"a secret of the tests, long enough"
    tokens = [user_token("ada", UserTokens(Keyring(secret, n)).key(QUEUE)) for n in range(1, 5)]
    keyring = Keyring(secret, 2)
    users = UserTokens(keyring)
    for generation, taken in ((2, [0, 1, 2]), (3, [1, 2, 3])):
        keyring.turn_to(generation)
        for n, token in enumerate(tokens):
            assert (users.seconds(QUEUE, token, time.time()) > 0) == (n in taken), (generation, n)
    strange = user_token("ada", UserTokens(Keyring(b"another secret of the tests, as long")).key(QUEUE))
    assert users.seconds(QUEUE, strange, time.time()) == 0


@pytest.mark.parametrize("name", ["link.py", "link.mjs"])
def test_the_links_of_the_documentation_are_believed(users: UserTokens, tmp_path: Path, name: str) -> None:
    node = shutil.which("node")
    if name.endswith(".mjs") and node is None:
        pytest.skip("node is not installed")
    file = tmp_path / name
    file.write_text(snippet(PAGE, name), encoding="utf-8")
    python = [sys.executable, "-c", PYTHON.replace("FILE", repr(str(file)))]
    script = [node or "", "--input-type=module", "-e", NODE.replace("FILE", repr(file.as_uri())), "--"]
    command = script if name.endswith(".mjs") else python
    environ = {**os.environ, "LINE_KEY": users.key(QUEUE), "PYTHONIOENCODING": "utf-8"}
    said = subprocess.run([*command, *NAMES], env=environ, capture_output=True, text=True, encoding="utf-8", check=True)
    links = said.stdout.splitlines()
    assert len(links) == len(NAMES)
    for link, user in zip(links, NAMES, strict=True):
        assert link.startswith("https://line.example/q/sale?")
        (token,) = parse_qs(urlsplit(link).query)["user_token"]
        assert users.user(QUEUE, token, time.time()) == user
