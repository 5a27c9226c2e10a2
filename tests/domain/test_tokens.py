"""Tokens: whatever was not signed here, to the letter, is refused with TokenInvalid and nothing else."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairline.domain import tokens as token_module
from fairline.domain.tokens import (
    LONGEST,
    ClientClaims,
    EdKey,
    HmacKey,
    Key,
    Keyring,
    PriorityClaims,
    QueueClaims,
    SessionClaims,
    Signer,
    TicketClaims,
)
from fairline.errors import TokenError, TokenExpired, TokenInvalid

OLD, NEW, STRANGE = (letter * 32 for letter in (b"o", b"n", b"s"))
NOW = 1_800_000_000
CLAIMS = PriorityClaims(queue="sale", expires=NOW + 60, id="abc123", level=2)


class Kind:
    """A way of signing, and one good token of it."""

    def __init__(self, key: type[HmacKey] | type[EdKey]) -> None:
        self.key = key
        self.signer = self.make(NEW, OLD)
        self.token = self.signer.sign(CLAIMS)
        self.head, self.body, self.signature = self.token.split(".")

    def make(self, *secrets: bytes, kind: str = "priority") -> Signer[PriorityClaims]:
        keys: list[Key] = [self.key(secret) for secret in secrets]
        return Signer(kind, PriorityClaims, keys)

    def refuses(self, token: str) -> None:
        with pytest.raises(TokenInvalid):
            self.signer.check(token, NOW)


KINDS = {"HS256": Kind(HmacKey), "EdDSA": Kind(EdKey)}

#: Any text at all, halves of surrogate pairs included.
anything = st.text(st.characters())
one_character = st.characters() | st.sampled_from("ABCDabcd0123-_=.+/ \n\0?")
kinds = st.sampled_from(list(KINDS.values()))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def encoded(value: Any) -> str:
    return text_of(json.dumps(value, separators=(",", ":")).encode())


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_a_token_says_what_was_signed(kind: Kind) -> None:
    assert kind.signer.check(kind.token, NOW) == CLAIMS
    assert kind.make(NEW).check(kind.token, NOW) == CLAIMS


@settings(deadline=None)
@given(
    kind=kinds,
    queue=st.text(max_size=80),
    expires=st.integers(NOW + 1, 2**53),
    name=st.text(max_size=80),
    level=st.integers(0, 3),
)
def test_any_claims_come_back_as_they_were(kind: Kind, queue: str, expires: int, name: str, level: int) -> None:
    claims = PriorityClaims(queue=queue, expires=expires, id=name, level=level)
    assert kind.signer.check(kind.signer.sign(claims), NOW) == claims


@settings(deadline=None)
@given(secret=st.binary(max_size=200), body=st.binary(max_size=300))
@example(secret=b"s" * 64, body=b"")
@example(secret=b"s" * 65, body=b"body")
def test_hs256_is_hmac_with_sha_256(secret: bytes, body: bytes) -> None:
    assert HmacKey(secret).sign(body) == hmac.digest(secret, body, "sha256")


# Forgeries


def test_each_character_counts(kind: Kind) -> None:
    token = kind.token
    for at, right in enumerate(token):
        for other in {*"Ab-_=.\udfff", chr(ord(right) ^ 1), right.swapcase()} - {right}:
            kind.refuses(token[:at] + other + token[at + 1 :])
        kind.refuses(token[:at] + token[at + 1 :])
        kind.refuses(token[:at])


@settings(deadline=None)
@given(kind=kinds, at=st.floats(0, 1), length=st.integers(0, 3), other=st.text(one_character, max_size=3))
@example(kind=KINDS["HS256"], at=1, length=0, other="=")
@example(kind=KINDS["HS256"], at=1, length=0, other="\n")
@example(kind=KINDS["HS256"], at=0, length=0, other=" ")
def test_no_change_goes_unnoticed(kind: Kind, at: float, length: int, other: str) -> None:
    where = round(at * len(kind.token))
    changed = kind.token[:where] + other + kind.token[where + length :]
    if changed != kind.token:
        kind.refuses(changed)


@settings(deadline=None)
@given(kinds, anything)
@example(KINDS["HS256"], "")
@example(KINDS["HS256"], ".")
@example(KINDS["HS256"], "..")
@example(KINDS["HS256"], "\ud800")
@example(KINDS["HS256"], "é" * 3000)
def test_any_text_is_refused(kind: Kind, text: str) -> None:
    kind.refuses(text)


@settings(deadline=None)
@given(kind=kinds, body=anything | st.none(), signature=anything | st.none())
@example(kind=KINDS["HS256"], body=None, signature="")
@example(kind=KINDS["HS256"], body=None, signature="\udcff")
@example(kind=KINDS["HS256"], body=None, signature="A")  # base64 of no length there is
@example(kind=KINDS["HS256"], body="\udcff", signature=None)
@example(kind=KINDS["HS256"], body="", signature=None)
@example(kind=KINDS["HS256"], body="A", signature=None)
@example(kind=KINDS["HS256"], body="Zm9v", signature=None)  # no JSON
@example(kind=KINDS["EdDSA"], body=None, signature="AAAA")
@example(kind=KINDS["EdDSA"], body="Zm9v", signature=None)
def test_any_text_after_a_right_head_is_refused(kind: Kind, body: str | None, signature: str | None) -> None:
    body = kind.body if body is None else body
    signature = kind.signature if signature is None else signature
    for text in (f"{kind.head}.{body}.{signature}", f"{kind.head}.{body}", f"{kind.head}{body}.{signature}"):
        if text != kind.token:
            kind.refuses(text)


@pytest.mark.parametrize("size", [LONGEST + 1, 100_000, 10_000_000])
def test_a_huge_token_is_refused(kind: Kind, size: int) -> None:
    for text in ("A" * size, f"{kind.head}.{'A' * size}", kind.token + "A" * size, f"{kind.token}.{'A' * size}"):
        kind.refuses(text)


def test_a_token_too_long_to_be_ours_is_refused_even_if_the_signature_is_right(kind: Kind) -> None:
    kind.refuses(kind.signer.sign(PriorityClaims(queue="q" * LONGEST, expires=NOW + 60, id="", level=1)))


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "None", "typ": "JWT"}, {"alg": "HS512"}, {"alg": "HS256"}])
def test_nobody_can_choose_the_algorithm(kind: Kind, header: dict[str, str]) -> None:
    key = kind.key(NEW)
    for named in ({}, {"kid": key.id}, {"typ": "fairline-priority"}):
        head = encoded(header | named)
        for signature in (".", "." + kind.signature, ""):
            kind.refuses(f"{head}.{kind.body}{signature}")
        # What is public or empty signs nothing, though it be called a secret.
        for secret in (b"", key.id.encode(), NEW if isinstance(key, HmacKey) else public_bytes(key)):
            own = hmac.digest(secret, f"{head}.{kind.body}".encode(), "sha256")
            kind.refuses(f"{head}.{kind.body}.{text_of(own)}")


def public_bytes(key: EdKey) -> bytes:
    return base64.urlsafe_b64decode(key.jwk["x"] + "==")


def test_a_public_key_is_not_taken_for_a_secret() -> None:
    kind = KINDS["EdDSA"]
    key = EdKey(NEW)
    head = encoded({"alg": "HS256", "kid": key.id, "typ": "fairline-priority"})
    own = hmac.digest(public_bytes(key), f"{head}.{kind.body}".encode(), "sha256")
    kind.refuses(f"{head}.{kind.body}.{text_of(own)}")


def test_the_same_header_written_otherwise_is_refused(kind: Kind) -> None:
    key = kind.key(NEW)
    fields = {"typ": "fairline-priority", "kid": key.id, "alg": key.algorithm}
    head = encoded(fields)
    assert head != kind.head
    kind.refuses(f"{head}.{kind.body}.{kind.signature}")
    kind.refuses(f"{head}.{kind.body}.{text_of(key.sign(f'{head}.{kind.body}'.encode()))}")


@pytest.mark.parametrize("name", ["ticket", "session", "priority ", "Priority", ""])
def test_a_token_of_one_kind_is_never_taken_for_another(kind: Kind, name: str) -> None:
    other = kind.make(NEW, OLD, kind=name)
    kind.refuses(other.sign(CLAIMS))
    with pytest.raises(TokenInvalid):
        other.check(kind.token, NOW)
    kind.refuses(f"{kind.head}.{other.sign(CLAIMS).partition('.')[2]}")


def test_a_token_of_another_key_is_refused(kind: Kind) -> None:
    strange = kind.make(STRANGE).sign(CLAIMS)
    kind.refuses(strange)
    kind.refuses(f"{kind.head}.{strange.partition('.')[2]}")


def test_a_token_of_another_key_that_goes_by_the_same_name_is_refused(kind: Kind) -> None:
    strange = kind.key(STRANGE)
    strange.id = kind.key(NEW).id
    kind.refuses(Signer("priority", PriorityClaims, [strange]).sign(CLAIMS))


class Earlier(QueueClaims, frozen=True, kw_only=True):
    """What a priority pass said in a release that knew levels by other names."""

    lvl: str | None = None


@pytest.mark.parametrize("level", [None, "three"])
def test_a_token_signed_here_that_says_other_things_is_invalid_and_no_accident(kind: Kind, level: str | None) -> None:
    earlier = Signer("priority", Earlier, [kind.key(NEW)])
    kind.refuses(earlier.sign(Earlier(queue="sale", expires=NOW + 60, lvl=level)))


# Time


def test_a_token_is_over_at_its_second(kind: Kind) -> None:
    assert kind.signer.check(kind.token, NOW + 59.999) == CLAIMS
    for later in (60, 61, 10**9):
        with pytest.raises(TokenExpired):
            kind.signer.check(kind.token, NOW + later)


def test_a_forgery_that_is_over_is_a_forgery(kind: Kind) -> None:
    forged = f"{kind.head}.{kind.body}.{'A' * len(kind.signature)}"
    with pytest.raises(TokenError) as found:
        kind.signer.check(forged, NOW + 10**9)
    assert found.type is TokenInvalid


# Keys


def test_the_new_key_signs_the_old_one_still_checks_and_a_removed_one_is_refused(kind: Kind) -> None:
    before, between, after = kind.make(OLD), kind.make(NEW, OLD), kind.make(NEW)
    old, new = before.sign(CLAIMS), between.sign(CLAIMS)
    assert between.check(old, NOW) == CLAIMS
    assert after.check(new, NOW) == CLAIMS
    for signer, token in ((before, new), (after, old)):
        with pytest.raises(TokenInvalid):
            signer.check(token, NOW)


def all_tokens(keys: Keyring) -> list[str]:
    queue, until = "sale", NOW + 60
    return [
        keys.tickets.sign(TicketClaims(queue=queue, expires=until, number=1, joined=2, issued=NOW)),
        keys.clients.sign(ClientClaims(queue=queue, expires=until, number=1, by="me")),
        keys.priorities.sign(CLAIMS),
        keys.sessions.sign(SessionClaims(queue=queue, expires=until, subject="R-1", number=1, joined=2, issued=NOW)),
    ]


def takes(keys: Keyring, token: str) -> list[str]:
    """Which kinds of token it is taken for."""
    taken = []
    for name in ("tickets", "clients", "priorities", "sessions"):
        try:
            getattr(keys, name).check(token, NOW)
        except TokenInvalid:
            continue
        taken.append(name)
    return taken


def test_each_token_of_a_keyring_is_taken_for_what_it_is_and_nothing_else() -> None:
    keys = Keyring(NEW)
    assert [takes(keys, token) for token in all_tokens(keys)] == [
        ["tickets"],
        ["clients"],
        ["priorities"],
        ["sessions"],
    ]
    assert not any(takes(Keyring(STRANGE), token) for token in all_tokens(keys))


@pytest.mark.parametrize("generation", [1, 2, 7])
def test_machines_may_be_a_generation_apart_but_not_two(generation: int) -> None:
    tokens = all_tokens(Keyring(NEW, generation))
    for apart in (-2, -1, 0, 1, 2, 3):
        if generation + apart >= 1:
            other = Keyring(NEW, generation + apart)
            assert all(bool(takes(other, token)) == (abs(apart) <= 1) for token in tokens), apart


def test_a_keyring_that_is_turned_on_is_one_that_began_there() -> None:
    turned = Keyring(NEW)
    old, digests = all_tokens(turned), turned.digest_key
    turned.turn_to(2)
    assert all_tokens(turned) == all_tokens(Keyring(NEW, 2))
    assert all(takes(turned, token) for token in old)
    assert turned.digest_key == digests, "what is kept of people must be known again after a rotation"
    turned.turn_to(3)
    assert not any(takes(turned, token) for token in old)


def test_a_site_can_check_a_session_token_with_the_public_keys_alone_and_before_they_are_used() -> None:
    published = {key["kid"]: key for key in Keyring(NEW, 1).jwks()["keys"]}
    for generation in (1, 2):
        head, body, signature = all_tokens(Keyring(NEW, generation))[3].split(".")
        key = published[json.loads(base64.urlsafe_b64decode(head + "=="))["kid"]]
        assert (key["kty"], key["crv"], key["alg"]) == ("OKP", "Ed25519", "EdDSA")
        public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "=="))
        public.verify(base64.urlsafe_b64decode(signature + "=="), f"{head}.{body}".encode())
        assert "d" not in key


# What is remembered


def test_a_limited_number_of_tokens_is_remembered_and_no_forgeries(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_module, "OTHERS_REMEMBERED", 20_000)
    signer = kind.make(NEW)
    for number in range(100):
        with pytest.raises(TokenInvalid):
            signer.check(f"{kind.head}.{kind.body}.{number}", NOW)
    assert len(signer._verified) == 0
    for number in range(100):
        claims = PriorityClaims(queue="sale", expires=NOW + 60, id=str(number), level=1)
        assert signer.check(signer.sign(claims), NOW) == claims
        assert min(number + 1, 8) <= len(signer._verified) <= 24


def test_a_token_that_is_known_is_not_checked_again_but_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = KINDS["HS256"].make(NEW)
    token = signer.sign(CLAIMS)
    signer.check(token, NOW)

    def no_more(*_: object) -> bool:
        raise AssertionError("it was checked again")

    monkeypatch.setattr(HmacKey, "verify", no_more)
    assert signer.check(token, NOW) == CLAIMS
    with pytest.raises(TokenExpired):
        signer.check(token, NOW + 60)
