"""A message to a browser is encrypted as RFC 8291 says, and signed as RFC 8292 says."""

from __future__ import annotations

from base64 import urlsafe_b64decode

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from fairline.domain.push import PushKey, Subscription, check, encrypted
from fairline.domain.tokens import Keyring

# The example of RFC 8291, appendix A.
RECEIVER = Subscription(
    "https://push.example/",
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "BTBZMqHH6r4Tts7J_aSIgg",
)
SENDER, SALT = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_example_of_the_standard_is_encrypted_as_in_the_standard() -> None:
    sender = ec.derive_private_key(int.from_bytes(decoded(SENDER), "big"), ec.SECP256R1())
    message = b"When I grow up, I want to be a watermelon"
    assert encrypted(RECEIVER, message, sender=sender, salt=decoded(SALT)) == decoded(BODY)
    assert encrypted(RECEIVER, message) != encrypted(RECEIVER, message), "key and salt are new each time"


def test_the_signature_is_for_one_push_service_and_checked_with_the_key_that_pages_get() -> None:
    key = PushKey(Keyring(b"s" * 32).push_seed)
    header = key.authorization("https://push.example/send/1?x=y", 1_000_000, "mailto:a@line.example")
    token, public = header.removeprefix("vapid t=").split(", k=")
    assert public == key.public == PushKey(Keyring(b"s" * 32, generation=7).push_seed).public, "a rotation keeps it"
    head, body, signature = token.split(".")
    claims = msgspec.json.decode(decoded(body))
    assert (claims["aud"], claims["sub"]) == ("https://push.example", "mailto:a@line.example")
    assert 1_000_000 < claims["exp"] <= 1_000_000 + 86_400
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(public))
    numbers = decoded(signature)
    der = encode_dss_signature(int.from_bytes(numbers[:32], "big"), int.from_bytes(numbers[32:], "big"))
    point.verify(der, f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))


def test_what_is_no_key_is_refused() -> None:
    for p256dh, auth in ((RECEIVER.p256dh[:-1], RECEIVER.auth), ("A" * 87, RECEIVER.auth), (RECEIVER.p256dh, "AAAA")):
        with pytest.raises(ValueError, match=r"."):
            check(Subscription("https://push.example/", p256dh, auth))
