"""What makes a session token good, without any server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fairline.domain.tokens import EdKey, Keyring, SessionClaims
from fairline.gate import Refusal, ServerAway, SessionTokenRefused
from fairline.gate import keys as keys_module
from fairline.gate.keys import PublicKeys
from fairline.gate.session_tokens import Checker

NOW = 1_800_000_000
KEY = Ed25519PrivateKey.generate()
HEAD = {"alg": "EdDSA", "kid": "k", "typ": "fairline-session"}
CLAIMS = {"iss": "fairline", "sub": "RDEMO-000007", "q": "demo", "n": 7, "j": 1, "iat": NOW, "exp": NOW + 60}


def text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(head: Any = HEAD, claims: Any = CLAIMS) -> str:
    body = f"{text(json.dumps(head).encode())}.{text(json.dumps(claims).encode())}"
    return f"{body}.{text(KEY.sign(body.encode()))}"


def checker() -> Checker:
    return Checker("demo", {"k": KEY.public_key()}.get)


def refusal(token: str, now: float = NOW) -> Refusal:
    with pytest.raises(SessionTokenRefused) as refused:
        checker().check(token, now)
    return refused.value.reason


def test_a_good_session_token_tells_whose_it_is() -> None:
    found = checker().check(signed(), NOW)
    assert (found.queue, found.ticket, found.label, found.key) == ("demo", 7, "RDEMO-000007", "k")


def test_the_gate_believes_what_the_server_signs() -> None:
    keyring = Keyring(b"secret", 3)
    fetched = PublicKeys(keyring.jwks, lambda _: None, 300)
    claims = SessionClaims(queue="demo", subject="X-1", number=1, joined=1, issued=NOW, expires=NOW + 60)
    assert Checker("demo", fetched.find).check(keyring.sessions.sign(claims), NOW).ticket == 1


def test_a_little_is_allowed_for_clocks_that_differ() -> None:
    assert checker().check(signed(), NOW + 64).ticket == 7
    assert refusal(signed(), NOW + 65) is Refusal.EXPIRED


def test_one_of_another_queue_or_issuer_is_refused() -> None:
    assert refusal(signed(claims=CLAIMS | {"q": "other"})) is Refusal.OTHER_QUEUE
    assert refusal(signed(claims=CLAIMS | {"iss": "someone"})) is Refusal.INVALID


@pytest.mark.parametrize(
    "head",
    [
        HEAD | {"alg": "none"},
        HEAD | {"alg": "HS256"},
        HEAD | {"alg": "eddsa"},
        HEAD | {"typ": "fairline-ticket"},
        HEAD | {"typ": "JWT"},
        HEAD | {"kid": "other"},
        HEAD | {"kid": ["k"]},
        HEAD | {"crit": ["exp"]},
        HEAD | {"jwk": {"kty": "OKP"}},
        {"alg": "EdDSA", "typ": "fairline-session"},
        [],
        "EdDSA",
    ],
    ids=str,
)
def test_a_header_that_says_anything_else_is_refused(head: Any) -> None:
    assert refusal(signed(head)) is Refusal.INVALID


@pytest.mark.parametrize("claims", [{}, [], 7, CLAIMS | {"exp": None}, CLAIMS | {"n": "seven"}], ids=str)
def test_claims_that_make_no_sense_are_refused(claims: Any) -> None:
    assert refusal(signed(claims=claims)) is Refusal.INVALID


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda token: token[:-1],
        lambda token: token + "=",
        lambda token: token + ".",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token.replace(".", "..", 1),
        lambda token: "é" + token,
        lambda token: token.partition(".")[0] + ".é." + token.rpartition(".")[2],
        lambda token: token + "A" * 3000,
        lambda token: text(b"[" * 1500) + "." + token.partition(".")[2],
    ],
    ids=range(10),
)
def test_a_damaged_one_is_refused(damage: Callable[[str], str]) -> None:
    assert refusal(damage(signed())) is Refusal.INVALID


class Server:
    """Publishes keys, as long as it is there."""

    def __init__(self) -> None:
        self.seeds = [b"1" * 32]
        self.asked = 0
        self.there = True
        self.errands: list[Callable[[], None]] = []

    def fetch(self) -> Any:
        self.asked += 1
        if not self.there:
            raise ServerAway("away")
        return {"keys": [EdKey(seed).jwk for seed in self.seeds]}

    def keys(self, seconds: float = 300) -> PublicKeys:
        return PublicKeys(self.fetch, self.errands.append, seconds)


def test_keys_are_fetched_once() -> None:
    server = Server()
    keys = server.keys()
    for _ in range(3):
        assert keys.find(EdKey(b"1" * 32).id)
    assert server.asked == 1


def test_many_at_once_make_one_call() -> None:
    server = Server()
    began, go_on = threading.Event(), threading.Event()
    fetch = server.fetch

    def slowly() -> Any:
        began.set()
        go_on.wait(30)
        return fetch()

    keys = PublicKeys(slowly, server.errands.append, 300)
    threads = [threading.Thread(target=keys.find, args=[EdKey(b"1" * 32).id]) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert began.wait(30)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert server.asked == 1
    assert EdKey(b"1" * 32).id in keys


def test_an_unknown_key_is_looked_for_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    keys = server.keys()
    assert keys.find("invented") is None
    server.seeds = [b"2" * 32]
    for _ in range(100):
        assert keys.find(EdKey(b"2" * 32).id) is None
    assert server.asked == 1
    monkeypatch.setattr(keys_module, "LOOK_AGAIN_SECONDS", 0.0)
    assert keys.find(EdKey(b"2" * 32).id)
    assert server.asked == 2


def test_old_keys_are_renewed_in_the_background_and_good_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "LOOK_AGAIN_SECONDS", 0.0)
    server = Server()
    keys = server.keys(seconds=0.0)
    kid = EdKey(b"1" * 32).id
    assert keys.find(kid)
    assert server.asked == 1
    server.there = False
    assert keys.find(kid)
    assert server.errands
    with pytest.raises(ServerAway):
        server.errands.pop()()
    assert keys.find(kid)
    server.there, server.seeds = True, [b"2" * 32]
    server.errands.pop()()
    assert EdKey(b"2" * 32).id in keys
    assert kid not in keys


def test_a_server_without_proper_keys_takes_none_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "LOOK_AGAIN_SECONDS", 0.0)
    server = Server()
    keys = server.keys()
    assert keys.find(EdKey(b"1" * 32).id)
    server.seeds = []
    with pytest.raises(ServerAway):
        keys.find("other")
    assert EdKey(b"1" * 32).id in keys


def test_the_gate_brings_no_package_into_a_site_but_cryptography() -> None:
    code = (
        "import sys; before = set(sys.modules); import fairline.gate.asgi, fairline.gate.wsgi; "
        "print(*{name.partition('.')[0] for name in sys.modules.keys() - before if not name.startswith('fairline')})"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    outside = done.stdout.split()
    # cryptography is made in part with cffi, whose names differ.
    assert {name for name in outside if name not in sys.stdlib_module_names and not name.startswith("_")} == {
        "cryptography"
    }
