"""Signed tokens in JWT form, and the keys that sign them.

| kind     | signed with | read by                                                                       |
|----------|-------------|-------------------------------------------------------------------------------|
| ticket   | HS256       | Fairline, on every call of someone who waits                                  |
| move     | HS256       | Fairline, once, on the device that a ticket goes on to                        |
| kiosk    | HS256       | Fairline, on every call of a kiosk                                            |
| client   | HS256       | Fairline: which client began a session                                        |
| priority | HS256       | Fairline, once at joining                                                     |
| admin    | HS256       | Fairline: which admin key someone signed in with at the dashboard              |
| user     | HS256       | Fairline, at joining: sites sign it, with a key of their queue (see user_token) |
| session  | EdDSA       | the protected site too, with the public keys of `/.well-known/jwks.json`      |

Each kind of token has one fixed header for each key. A token whose header is not one of those, to the letter, is
refused before anything in it is read: nobody can choose an algorithm, and a token of one kind is never taken for
another.

Keys are derived from one secret and a generation that the store counts. Everyone who has the secret knows the next
generation before it is used, so keys are rotated without a moment at which somebody's good token is refused.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Sequence
from hashlib import sha256
from sys import getsizeof
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct, field

from fairline.caches import SHARES, BoundedCache
from fairline.errors import TokenExpired, TokenInvalid

#: Bytes of verified tokens remembered for each kind, so that the next call with the same one costs a look-up.
REMEMBERED = {"ticket": SHARES["ticket tokens"], "session": SHARES["session tokens"]}
#: The same for each of the other five.
OTHERS_REMEMBERED = SHARES["other tokens"] // 5
#: What the claims of one take beside their text.
_CLAIMS = 500
#: Longer than any token of ours.
LONGEST = 2048
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
#: What HMAC turns each byte of a secret into (RFC 2104), and the length it gives the secret first.
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_BLOCK = 64


class Claims(Struct, frozen=True, kw_only=True):
    """What every token says: until when (seconds since 1970)."""

    expires: int = field(name="exp")


class QueueClaims(Claims, frozen=True, kw_only=True):
    """What every token of a queue says: for which one."""

    queue: str = field(name="q")


class AdminClaims(Claims, frozen=True, kw_only=True):
    """The cookie of someone who signed in at the dashboard: with which admin key, and which signing in that was."""

    key: str = field(name="sub")
    session: str = field(name="jti")


class TicketClaims(QueueClaims, frozen=True, kw_only=True, omit_defaults=True):
    """The token of a ticket. `joined` tells apart tickets of the same number in a queue that was made anew."""

    number: int = field(name="n")
    joined: int = field(name="j")
    issued: int = field(name="iat")
    client: str = field(name="c", default="")
    """The beginning of the client's digest, where it told an id."""
    moved: int = field(name="m", default=0)
    """How often the ticket had moved to another device: it is the token of the last one alone."""


class MoveClaims(QueueClaims, frozen=True, kw_only=True):
    """A link that takes a ticket to another device. It works once: then the ticket has moved once more."""

    number: int = field(name="n")
    joined: int = field(name="j")
    moved: int = field(name="m")


class KioskClaims(QueueClaims, frozen=True, kw_only=True):
    """The link of a kiosk at the door. It takes numbers as long as the admin key is good that made it."""

    by: str
    """The id of that key."""
    prints: bool = field(name="p", default=False)
    """Whether it prints each ticket without being asked."""


class ClientClaims(QueueClaims, frozen=True, kw_only=True):
    """The cookie that says which client began a session, so that it may go on from another address."""

    number: int = field(name="n")
    by: str


class PriorityClaims(QueueClaims, frozen=True, kw_only=True):
    """A priority pass: its level is granted at joining, as often as the store still allows this id."""

    id: str = field(name="jti")
    level: int = field(name="lvl")


class SessionClaims(QueueClaims, frozen=True, kw_only=True):
    """The pass that the protected site checks. That of a link has no client: it is exchanged once for one that has."""

    issuer: str = field(name="iss", default="fairline")
    subject: str = field(name="sub")
    """The ticket's label."""
    number: int = field(name="n")
    joined: int = field(name="j")
    issued: int = field(name="iat")
    client: str = field(name="c", default="")
    """Which client it was handed to: whoever has it is that client."""


C = TypeVar("C", bound=Claims)


class Key(Protocol):
    """Signs and checks. `id` is what tokens name it by."""

    id: str
    algorithm: str

    def sign(self, body: bytes) -> bytes:
        """The signature of `body`."""

    def verify(self, body: bytes, signature: bytes) -> bool:
        """Whether the signature is that of `body`."""


class HmacKey:
    """HS256: who can check can sign."""

    algorithm = "HS256"

    def __init__(self, secret: bytes) -> None:
        self.id = sha256(b"fairline key id" + secret).hexdigest()[:8]
        # What is done with the secret alone is done once: `hmac` takes about twice as long for each token.
        block = (secret if len(secret) <= _BLOCK else sha256(secret).digest()).ljust(_BLOCK, b"\0")
        self._inner, self._outer = sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))

    def sign(self, body: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(body)
        outer.update(inner.digest())
        return outer.digest()

    def verify(self, body: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(self.sign(body), signature)


class EdKey:
    """EdDSA with Ed25519: anyone can check with the public key."""

    algorithm = "EdDSA"

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._public = self._private.public_key()
        self.id = sha256(self._public.public_bytes_raw()).hexdigest()[:8]

    def sign(self, body: bytes) -> bytes:
        return self._private.sign(body)

    def verify(self, body: bytes, signature: bytes) -> bool:
        try:
            self._public.verify(signature, body)
        except InvalidSignature:
            return False
        return True

    @property
    def jwk(self) -> dict[str, str]:
        """The public key as a JSON Web Key."""
        x = _text(self._public.public_bytes_raw())
        return {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id, "x": x}


class Signer(Generic[C]):
    """Signs and checks one kind of token. The first key signs; all of them check."""

    def __init__(self, kind: str, claims: type[C], keys: Sequence[Key]) -> None:
        self._kind = kind
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(claims).decode
        self._keys = {self._header(key): key for key in keys}
        self._begin, self._signs = self._header(keys[0]).encode(), keys[0].sign
        self._verified = BoundedCache[str, C](REMEMBERED.get(kind, OTHERS_REMEMBERED))

    def sign(self, claims: C) -> str:
        """A token that says `claims`."""
        body = b".".join((self._begin, _base64(self._encode(claims))))
        return b".".join((body, _base64(self._signs(body)))).decode()

    def check(self, token: str, now: float) -> C:
        """What a token says, or TokenInvalid, or TokenExpired."""
        claims = self._verified.get(token)
        if claims is None:
            claims = self._verify(token)
            self._verified.put(token, claims, getsizeof(token) + len(token) + _CLAIMS)
        if claims.expires <= now:
            raise TokenExpired
        return claims

    def knows(self, token: str) -> bool:
        """Whether a token looks like one of this kind, signed with a key of ours. It is not checked."""
        return token.partition(".")[0] in self._keys

    def _verify(self, token: str) -> C:
        head, _, rest = token.partition(".")
        key = self._keys.get(head)
        if key is None or len(token) > LONGEST:
            raise TokenInvalid(f"it is no {self._kind} token of this server")
        body, _, signature = rest.partition(".")
        try:
            if not key.verify(f"{head}.{body}".encode(), from_base64(signature)):
                raise TokenInvalid("its signature is wrong")
            return self._decode(from_base64(body))
        except (ValueError, msgspec.MsgspecError):
            raise TokenInvalid("it is damaged") from None

    def _header(self, key: Key) -> str:
        return _text(self._encode({"alg": key.algorithm, "kid": key.id, "typ": f"fairline-{self._kind}"}))


class Keyring:
    """All keys of a server, from its secret and the generation in use."""

    def __init__(self, secret: bytes, generation: int = 1) -> None:
        self._secret = secret
        self.digest_key = self._derive("digest", 0)
        self.turn_to(generation)

    def turn_to(self, generation: int) -> None:
        """Sign with this generation; the one before and the one after are taken too."""
        self.generation = generation
        order = [generation, generation + 1, generation - 1]

        def hmac_keys(kind: str) -> list[Key]:
            return [HmacKey(self._derive(kind, number)) for number in order]

        self.tickets = Signer("ticket", TicketClaims, hmac_keys("ticket"))
        self.moves = Signer("move", MoveClaims, hmac_keys("move"))
        self.kiosks = Signer("kiosk", KioskClaims, hmac_keys("kiosk"))
        self.clients = Signer("client", ClientClaims, hmac_keys("client"))
        self.priorities = Signer("priority", PriorityClaims, hmac_keys("priority"))
        self.admins = Signer("admin", AdminClaims, hmac_keys("admin"))
        #: What the keys of queues are made from with which sites sign user tokens: see user_token.
        self.user_bases = [self._derive("user", number) for number in order]
        self._site_keys = [EdKey(self._derive("session", number)) for number in order]
        self.sessions = Signer("session", SessionClaims, self._site_keys)

    def jwks(self) -> dict[str, Any]:
        """The public keys a site needs to check session tokens, the next generation's among them."""
        return {"keys": [key.jwk for key in self._site_keys]}

    def _derive(self, kind: str, generation: int) -> bytes:
        return hmac.digest(self._secret, f"fairline {kind} {generation}".encode(), "sha256")


def _base64(data: bytes) -> bytes:
    return b2a_base64(data, newline=False).rstrip(b"=").translate(_URL_SAFE)


def _text(data: bytes) -> str:
    return _base64(data).decode()


def from_base64(text: str) -> bytes:
    """What was written in base64url; ValueError where it is not the one way to write it."""
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(data) != text:
        raise ValueError("not the one way to write it")
    return data
