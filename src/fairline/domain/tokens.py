"""Signed tokens in JWT form, and the keys that sign them.

| kind     | signed with | read by                                                                       |
|----------|-------------|-------------------------------------------------------------------------------|
| ticket   | HS256       | Fairline, on every call by someone who waits                                  |
| move     | HS256       | Fairline, once, on the device that a ticket moves to                          |
| kiosk    | HS256       | Fairline, on every call by a kiosk                                            |
| client   | HS256       | Fairline: which client started a session                                      |
| priority | HS256       | Fairline, once, at joining                                                    |
| admin    | HS256       | Fairline: which admin key was used to sign in to the dashboard                 |
| user     | HS256       | Fairline, at joining. Sites sign it with a key of their queue (user_tokens.py) |
| session  | EdDSA       | the protected site too, with the public keys of `/.well-known/jwks.json`      |

Each kind of token has one fixed header per key. A token whose header is not exactly one of them is refused before
anything in it is read. So nobody can choose an algorithm, and a token of one kind is never accepted as another kind.

Keys are derived from one secret and a generation number that the store keeps. Every process with the secret knows the
key of the next generation before it is used, so a key rotation never refuses a valid token.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
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

#: Bytes of verified tokens cached for each kind, so that the next call with the same token costs only a look-up.
#: Without that, a heartbeat takes 43 % more instructions, and checking a session eight times as many.
REMEMBERED = {"ticket": SHARES["ticket tokens"], "session": SHARES["session tokens"]}
#: The same for each of the other six kinds.
OTHERS_REMEMBERED = SHARES["other tokens"] // 6
#: Bytes that decoded claims take in addition to their text.
_CLAIMS_SIZE = 500
#: Longer than any token that Fairline issues.
LONGEST = 2048
#: The byte translations that HMAC applies to a secret (RFC 2104), and the block length it pads the secret to first.
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_BLOCK = 64


class Claims(Struct, frozen=True, kw_only=True):
    """The claim of every token: when it expires (seconds since 1970)."""

    expires: int = field(name="exp")


class QueueClaims(Claims, frozen=True, kw_only=True):
    """The claims of every token of a queue: expiry, and the id of the queue."""

    queue: str = field(name="q")


class AdminClaims(Claims, frozen=True, kw_only=True):
    """The dashboard cookie: the id of the admin key that was used to sign in, and an id of this sign-in."""

    key: str = field(name="sub")
    session: str = field(name="jti")


class TicketClaims(QueueClaims, frozen=True, kw_only=True, omit_defaults=True):
    """The token of a ticket. `joined` tells apart tickets with the same number when a queue was recreated."""

    number: int = field(name="n")
    joined: int = field(name="j")
    issued: int = field(name="iat")
    client: str = field(name="c", default="")
    """The beginning of the digest of the client id, if the client sent one."""
    moved: int = field(name="m", default=0)
    """How often the ticket had moved to another device. Only the token of the last device is valid."""


class MoveClaims(QueueClaims, frozen=True, kw_only=True):
    """A link that moves a ticket to another device. It works once, because the move raises the ticket's `moved`."""

    number: int = field(name="n")
    joined: int = field(name="j")
    moved: int = field(name="m")


class GroupClaims(QueueClaims, frozen=True, kw_only=True):
    """A link with which others join the group of a ticket, as long as somebody of it waits."""

    number: int = field(name="n")
    joined: int = field(name="j")


class KioskClaims(QueueClaims, frozen=True, kw_only=True):
    """The link of a kiosk. It works as long as the admin key that created it is valid."""

    by: str
    """The id of that key."""
    prints: bool = field(name="p", default=False)
    """Whether the kiosk prints each ticket automatically."""


class ClientClaims(QueueClaims, frozen=True, kw_only=True):
    """The cookie that says which client started a session, so that the session continues from another address."""

    number: int = field(name="n")
    by: str


class PriorityClaims(QueueClaims, frozen=True, kw_only=True):
    """A priority pass. Its level is granted at joining, as long as the store has uses left for this id."""

    id: str = field(name="jti")
    level: int = field(name="lvl")


class SessionClaims(QueueClaims, frozen=True, kw_only=True):
    """The session token that the protected site checks. In a link it has no client; it is exchanged once for a token
    that has one."""

    issuer: str = field(name="iss", default="fairline")
    subject: str = field(name="sub")
    """The ticket's label."""
    number: int = field(name="n")
    joined: int = field(name="j")
    issued: int = field(name="iat")
    client: str = field(name="c", default="")
    """The client it was issued to. A caller with this token counts as that client."""


C = TypeVar("C", bound=Claims)


class Key(Protocol):
    """A key that signs and verifies. `id` is its key id (`kid`) in token headers."""

    id: str
    algorithm: str

    def sign(self, body: bytes) -> bytes:
        """Return the signature of `body`."""

    def verify(self, body: bytes, signature: bytes) -> bool:
        """Whether `signature` is valid for `body`."""


class HmacKey:
    """An HS256 key: every process that can verify can also sign."""

    algorithm = "HS256"

    def __init__(self, secret: bytes) -> None:
        self.id = sha256(b"fairline key id" + secret).hexdigest()[:8]
        # Hash the key blocks once: the `hmac` module would do it for each token, and a join take 6 % more instructions.
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
    """An EdDSA key (Ed25519): anyone can verify with the public key."""

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
        x = base64_text(self._public.public_bytes_raw())
        return {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id, "x": x}


class Signer(Generic[C]):
    """Signs and verifies one kind of token. The first key signs; all keys verify."""

    def __init__(self, kind: str, claims: type[C], keys: Sequence[Key]) -> None:
        self._kind = kind
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(claims).decode
        self._keys = {self._header(key): key for key in keys}
        self._first_header, self._sign_bytes = self._header(keys[0]).encode(), keys[0].sign
        self._verified = BoundedCache[str, C](REMEMBERED.get(kind, OTHERS_REMEMBERED))

    def sign(self, claims: C) -> str:
        """Return a signed token with these claims."""
        body = b".".join((self._first_header, _base64(self._encode(claims))))
        return b".".join((body, _base64(self._sign_bytes(body)))).decode()

    def check(self, token: str, now: float) -> C:
        """Return the claims of a token, or raise TokenInvalid or TokenExpired."""
        claims = self._verified.get(token)
        if claims is None:
            claims = self._verify(token)
            self._verified.put(token, claims, getsizeof(token) + len(token) + _CLAIMS_SIZE)
        if claims.expires <= now:
            raise TokenExpired
        return claims

    def knows(self, token: str) -> bool:
        """Whether a token has the header of this kind and of one of these keys. The signature is not verified."""
        return token.partition(".")[0] in self._keys

    def _verify(self, token: str) -> C:
        head, _, rest = token.partition(".")
        key = self._keys.get(head)
        if key is None or len(token) > LONGEST:
            raise TokenInvalid(f"it is not a {self._kind} token of this server")
        body, _, signature = rest.partition(".")
        try:
            if not key.verify(f"{head}.{body}".encode(), from_base64(signature)):
                raise TokenInvalid("its signature is wrong")
            return self._decode(from_base64(body))
        except (ValueError, msgspec.MsgspecError):
            raise TokenInvalid("it is damaged") from None

    def _header(self, key: Key) -> str:
        return base64_text(self._encode({"alg": key.algorithm, "kid": key.id, "typ": f"fairline-{self._kind}"}))


class Keyring:
    """All keys of a server, derived from its secret and the generation in use."""

    def __init__(self, secret: bytes, generation: int = 1) -> None:
        self._secret = secret
        self.digest_key = self._derive("digest", 0)
        #: From this, the key by which push services know this server. A rotation does not change it: every subscription
        #: is bound to it.
        self.push_seed = self._derive("push", 0)
        #: The key of codes that people type (see typed_code.py). They live for minutes, so no rotation has to end them.
        self.typed_key = self._derive("typed", 0)
        #: Tells whether two servers have the same secret, without showing it.
        self.fingerprint = self._derive("fingerprint", 0).hex()[:16]
        self.turn_to(generation)

    def turn_to(self, generation: int) -> None:
        """Sign with this generation, and accept tokens of the previous and the next one too."""
        self.generation = generation
        order = [generation, generation + 1, generation - 1]

        def hmac_keys(kind: str) -> list[Key]:
            return [HmacKey(self._derive(kind, number)) for number in order]

        self.tickets = Signer("ticket", TicketClaims, hmac_keys("ticket"))
        self.moves = Signer("move", MoveClaims, hmac_keys("move"))
        self.groups = Signer("group", GroupClaims, hmac_keys("group"))
        self.kiosks = Signer("kiosk", KioskClaims, hmac_keys("kiosk"))
        self.clients = Signer("client", ClientClaims, hmac_keys("client"))
        self.priorities = Signer("priority", PriorityClaims, hmac_keys("priority"))
        self.admins = Signer("admin", AdminClaims, hmac_keys("admin"))
        #: From these, the keys of queues are derived, with which sites sign user tokens (see user_tokens.py).
        self.user_bases = [self._derive("user", number) for number in order]
        self._site_keys = [EdKey(self._derive("session", number)) for number in order]
        self.sessions = Signer("session", SessionClaims, self._site_keys)

    def jwks(self) -> dict[str, Any]:
        """The public keys a site needs to check session tokens, including that of the next generation."""
        return {"keys": [key.jwk for key in self._site_keys]}

    def _derive(self, kind: str, generation: int) -> bytes:
        return hmac.digest(self._secret, f"fairline {kind} {generation}".encode(), "sha256")


def _base64(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def base64_text(data: bytes) -> str:
    """Data as base64url, without padding."""
    return _base64(data).decode()


def from_base64(text: str) -> bytes:
    """Decode base64url; ValueError if the text is not in canonical form."""
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64_text(data) != text:
        raise ValueError("not canonical base64url")
    return data
