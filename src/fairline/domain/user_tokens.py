"""What a site says of who someone is, in a form that nobody else can say it in: a user token.

It is a plain JWT, HS256, that the site signs with the key of its queue: `sub` is the user's id, `exp` when the token
ends, at most a day ahead. `nbf` and `aud` (the queue) are heeded where they are there. Any library for JWTs makes one;
so does `fairline.gate.user_token`. The key of a queue is worked out from the server's secret and the generation in use,
so it is kept nowhere, and `fairline keys rotate` changes it without a moment at which a good token is refused.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.queue import QueueId, check_text
from fairline.domain.tokens import LONGEST, HmacKey, Keyring, from_base64
from fairline.errors import FairlineError, InvalidRequest, UserTokenExpired, UserTokenInvalid

#: A token that is good for longer could be handed around for longer.
LONGEST_SECONDS = 86_400
#: How much the clock of a site may be ahead of ours.
LEEWAY_SECONDS = 60


class _Head(Struct):
    alg: str
    typ: str = "JWT"
    crit: Any = None


class _Claims(Struct):
    sub: Annotated[str, Meta(min_length=1, max_length=200)]
    exp: float
    nbf: float = 0
    aud: str | list[str] | None = None


_head = msgspec.json.Decoder(_Head).decode
_claims = msgspec.json.Decoder(_Claims).decode


class UserTokens:
    """Checks user tokens. The key of the generation in use is told; those of the one before and after are taken too."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._keys = lru_cache(maxsize=256)(_keys)

    def key(self, queue: QueueId) -> str:
        """What a site signs with for a queue, as text; its bytes are the key."""
        return _text(self._keyring.user_bases[0], queue)

    def user(self, queue: QueueId, token: str, now: float) -> str:
        """Whose token it is: UserTokenInvalid, or UserTokenExpired, where it does not say so."""
        claims = self._believed(queue, token)
        if claims.aud is not None and queue not in ([claims.aud] if isinstance(claims.aud, str) else claims.aud):
            raise UserTokenInvalid("it is for another queue")
        if claims.exp <= now:
            raise UserTokenExpired
        if claims.nbf > now + LEEWAY_SECONDS:
            raise UserTokenInvalid("its time has not come yet")
        if claims.exp > now + LONGEST_SECONDS + LEEWAY_SECONDS:
            raise UserTokenInvalid(f"it is good for longer than {LONGEST_SECONDS // 3600} hours")
        return claims.sub

    def seconds(self, queue: QueueId, token: str, now: float) -> float:
        """How long a token is still good; 0 where it is not."""
        try:
            self.user(queue, token, now)
        except FairlineError:
            return 0
        return self._believed(queue, token).exp - now

    def _believed(self, queue: QueueId, token: str) -> _Claims:
        parts = token.split(".")
        if len(parts) != 3 or len(token) > LONGEST:
            raise UserTokenInvalid("it is no JSON Web Token")
        try:
            head, signature = _head(from_base64(parts[0])), from_base64(parts[2])
            if head.alg != "HS256" or head.typ.upper() != "JWT" or head.crit is not None:
                raise UserTokenInvalid("its header must be {'alg': 'HS256', 'typ': 'JWT'}")
            signed = f"{parts[0]}.{parts[1]}".encode()
            if not any(key.verify(signed, signature) for key in self._keys(queue, *self._keyring.user_bases)):
                raise UserTokenInvalid("it is not signed with the key of this queue")
            claims = _claims(from_base64(parts[1]))
            check_text("sub", claims.sub, InvalidRequest)
        except msgspec.ValidationError as error:
            raise UserTokenInvalid(f"of its claims, {error}") from None
        except InvalidRequest as error:
            raise UserTokenInvalid(error.message) from None
        except (ValueError, msgspec.MsgspecError, RecursionError):
            raise UserTokenInvalid("it is damaged") from None
        return claims


def _keys(queue: QueueId, *bases: bytes) -> list[HmacKey]:
    return [HmacKey(_text(base, queue).encode()) for base in bases]


def _text(base: bytes, queue: QueueId) -> str:
    return hmac.digest(base, queue.encode(), "sha256").hex()
