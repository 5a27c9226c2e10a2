"""Web Push: the message to a browser whose page may be closed, encrypted for it (RFC 8291) and signed (RFC 8292).

The endpoint of a subscription is an address at the push service of the browser's maker. The service passes the message
on and cannot read it.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct

from fairline.domain.tokens import base64_text

#: The order of the curve P-256.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
#: How long a signature is valid; push services accept up to a day.
TOKEN_SECONDS = 12 * 3600
#: The size of one record: a message is always shorter.
_RECORD = 4096


class Subscription(Struct, frozen=True):
    """Where a browser receives messages, and the keys to encrypt them for it."""

    endpoint: str
    p256dh: str
    auth: str


class PushKey:
    """The key by which push services know this server (VAPID)."""

    def __init__(self, seed: bytes) -> None:
        self._private = ec.derive_private_key(int.from_bytes(seed * 2, "big") % (_ORDER - 1) + 1, ec.SECP256R1())
        self.public = base64_text(_point(self._private.public_key()))

    def authorization(self, endpoint: str, now: float, contact: str) -> str:
        """The header that says who sends to an endpoint; `contact` is where its maker can complain."""
        parts = urlsplit(endpoint)
        claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + TOKEN_SECONDS}
        if contact:
            claims["sub"] = contact
        head, body = (base64_text(msgspec.json.encode(each)) for each in ({"typ": "JWT", "alg": "ES256"}, claims))
        der = self._private.sign(f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
        signature = b"".join(number.to_bytes(32, "big") for number in decode_dss_signature(der))
        return f"vapid t={head}.{body}.{base64_text(signature)}, k={self.public}"


def check(subscription: Subscription) -> None:
    """Raise ValueError if the keys are none."""
    _keys(subscription)


def encrypted(
    subscription: Subscription,
    message: bytes,
    *,
    sender: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """The body of a message (`aes128gcm`). The key and the salt of the sender are new each time."""
    receiver, auth = _keys(subscription)
    sender, salt = sender or ec.generate_private_key(ec.SECP256R1()), salt or secrets.token_bytes(16)
    ours, theirs = _point(sender.public_key()), _point(receiver)
    shared = _derived(sender.exchange(ec.ECDH(), receiver), auth, b"WebPush: info\0" + theirs + ours, 32)
    key = _derived(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(shared, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + _RECORD.to_bytes(4, "big") + bytes([len(ours)]) + ours
    return head + AESGCM(key).encrypt(nonce, message + b"\2", None)


def _keys(subscription: Subscription) -> tuple[ec.EllipticCurvePublicKey, bytes]:
    auth = _bytes(subscription.auth)
    if len(auth) != 16:
        raise ValueError("the secret has another length")
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _bytes(subscription.p256dh)), auth


def _derived(key: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(key)


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _bytes(text: str) -> bytes:
    text = text.rstrip("=")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
