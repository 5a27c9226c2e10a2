"""Signed tokens in JWT form: HS256 over the standard library's hmac, read by Fairline alone.

Each kind of token has one fixed header for each key. A token whose header is not one of those, to the letter, is
refused before anything in it is read: nobody can choose an algorithm, and a token of one kind is never taken for
another.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, field

from fairline.errors import TokenExpired, TokenInvalid

#: Verified tokens remembered for each kind, so that the next call with the same one costs a look-up.
REMEMBERED = 65_536
#: Longer than any token of ours.
LONGEST = 2048


class Claims(Struct, frozen=True, kw_only=True):
    """What every token says: for which queue, and until when (seconds since 1970)."""

    queue: str = field(name="q")
    expires: int = field(name="exp")


class PriorityClaims(Claims, frozen=True, kw_only=True):
    """A priority pass: its level is granted at joining, as often as the store still allows this id."""

    id: str = field(name="jti")
    level: int = field(name="lvl")


C = TypeVar("C", bound=Claims)


class Key(Struct, frozen=True):
    """A secret and the id that tokens name it by."""

    id: str
    secret: bytes

    @classmethod
    def from_secret(cls, secret: bytes) -> Key:
        """A key whose id is made from its secret, so that all machines with the secret agree on it."""
        return cls(sha256(b"fairline key id" + secret).hexdigest()[:8], secret)


class Signer(Generic[C]):
    """Signs and checks one kind of token. The first key signs; all of them check."""

    def __init__(self, kind: str, claims: type[C], keys: Sequence[Key]) -> None:
        self._kind = kind
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(claims).decode
        self._secrets = {self._header(key): self._derived(key) for key in keys}
        self._first = self._header(keys[0])
        self._verified = lru_cache(REMEMBERED)(self._verify)

    def sign(self, claims: C) -> str:
        """A token that says `claims`."""
        body = f"{self._first}.{_text(self._encode(claims))}"
        return f"{body}.{_text(self._signature(self._secrets[self._first], body))}"

    def check(self, token: str, now: float) -> C:
        """What a token says, or TokenInvalid, or TokenExpired."""
        claims = self._verified(token)
        if claims.expires <= now:
            raise TokenExpired
        return claims

    def _verify(self, token: str) -> C:
        head, _, rest = token.partition(".")
        secret = self._secrets.get(head)
        if len(token) > LONGEST or secret is None:
            raise TokenInvalid(f"it is no {self._kind} token of this server")
        body, _, signature = rest.partition(".")
        expected = _text(self._signature(secret, f"{head}.{body}"))
        if not hmac.compare_digest(expected.encode(), signature.encode(errors="replace")):
            raise TokenInvalid("its signature is wrong")
        return self._decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)))

    def _header(self, key: Key) -> str:
        return _text(self._encode({"alg": "HS256", "kid": key.id, "typ": f"fairline-{self._kind}"}))

    def _derived(self, key: Key) -> bytes:
        """A secret for this kind alone."""
        return hmac.digest(key.secret, f"fairline {self._kind}".encode(), "sha256")

    @staticmethod
    def _signature(secret: bytes, body: str) -> bytes:
        return hmac.digest(secret, body.encode(errors="replace"), "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
