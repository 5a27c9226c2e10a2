"""User tokens: signed statements by a site about who its user is, which nobody else can forge.

A user token is a plain HS256 JWT that the site signs with the key of its queue. `sub` is the user's id and `exp` the
expiry, at most a day ahead. `nbf` and `aud` (the queue) are checked if they are present. Any JWT library can create
one; so can `fairline.gate.user_token`. The key of a queue is derived from the server's secret and the generation in
use, so it is stored nowhere, and `fairline keys rotate` changes it without ever refusing a valid token.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.queue import QueueId
from fairline.domain.storable_text import check_text
from fairline.domain.tokens import LONGEST, HmacKey, Keyring, from_base64
from fairline.errors import FairlineError, InvalidRequest, UserTokenExpired, UserTokenInvalid

#: The longest lifetime. A token that is valid for longer could be passed around for longer.
LONGEST_SECONDS = 86_400
#: How far the clock of a site may be ahead of the server's.
LEEWAY_SECONDS = 60


class _Header(Struct):
    alg: str
    typ: str = "JWT"
    crit: Any = None


class _Claims(Struct):
    sub: Annotated[str, Meta(min_length=1, max_length=200)]
    exp: float
    nbf: float = 0
    aud: str | list[str] | None = None


_decode_header = msgspec.json.Decoder(_Header).decode
_decode_claims = msgspec.json.Decoder(_Claims).decode


class UserTokens:
    """Verifies user tokens. Sites are given the key of the generation in use; the keys of the previous and the next
    generation are accepted too."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._keys = lru_cache(maxsize=256)(_keys)

    def key(self, queue: QueueId) -> str:
        """The key with which a site signs for a queue, as text. Its ASCII bytes are the key."""
        return _text(self._keyring.user_bases[0], queue)

    def user(self, queue: QueueId, token: str, now: float) -> str:
        """Return the user id of a token, or raise UserTokenInvalid or UserTokenExpired."""
        claims = self._verified(queue, token)
        if claims.aud is not None and queue not in ([claims.aud] if isinstance(claims.aud, str) else claims.aud):
            raise UserTokenInvalid("it is for another queue")
        if claims.exp <= now:
            raise UserTokenExpired
        if claims.nbf > now + LEEWAY_SECONDS:
            raise UserTokenInvalid("it is not valid yet")
        if claims.exp > now + LONGEST_SECONDS + LEEWAY_SECONDS:
            raise UserTokenInvalid(f"it is valid for longer than {LONGEST_SECONDS // 3600} hours")
        return claims.sub

    def seconds(self, queue: QueueId, token: str, now: float) -> float:
        """How long a token is still valid; 0 if it is not valid."""
        try:
            self.user(queue, token, now)
        except FairlineError:
            return 0
        return self._verified(queue, token).exp - now

    def _verified(self, queue: QueueId, token: str) -> _Claims:
        parts = token.split(".")
        if len(parts) != 3 or len(token) > LONGEST:
            raise UserTokenInvalid("it is not a JSON Web Token")
        try:
            header, signature = _decode_header(from_base64(parts[0])), from_base64(parts[2])
            if header.alg != "HS256" or header.typ.upper() != "JWT" or header.crit is not None:
                raise UserTokenInvalid("its header must be {'alg': 'HS256', 'typ': 'JWT'}")
            signed = f"{parts[0]}.{parts[1]}".encode()
            if not any(key.verify(signed, signature) for key in self._keys(queue, *self._keyring.user_bases)):
                raise UserTokenInvalid("it is not signed with the key of this queue")
            claims = _decode_claims(from_base64(parts[1]))
            check_text("sub", claims.sub, InvalidRequest)
        except msgspec.ValidationError as error:
            raise UserTokenInvalid(f"its claims are wrong: {error}") from None
        except InvalidRequest as error:
            raise UserTokenInvalid(error.message) from None
        except (ValueError, msgspec.MsgspecError, RecursionError):
            raise UserTokenInvalid("it is damaged") from None
        return claims


def _keys(queue: QueueId, *bases: bytes) -> list[HmacKey]:
    return [HmacKey(_text(base, queue).encode()) for base in bases]


def _text(base: bytes, queue: QueueId) -> str:
    return hmac.digest(base, queue.encode(), "sha256").hex()
