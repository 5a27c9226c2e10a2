"""drand, a network that publishes a random number every few seconds: which round appears when, and whether its
signature is right.

A round has a BLS signature by the network over its number, and its randomness is the SHA-256 of that signature. So the
number of a round is known in advance, its randomness is not, and nobody can choose it. The scheme is
`bls-unchained-g1-rfc9380`. The signature is checked with `py_ecc`, which comes with the extra `beacon`; all else needs
the standard library alone.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct

_DST = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
SIGNATURE_SIZE = 48
PUBLIC_KEY_SIZE = 96
#: How to install what checks signatures.
INSTALL = "pip install 'fairline[beacon]'"


class Chain(Struct, frozen=True):
    """A chain of rounds."""

    id: str
    """Its hash, which names it in addresses."""
    public_key: str
    """The key of the network, in hex."""
    genesis: int
    """When round 1 appeared, in seconds since 1970."""
    period: int
    """The seconds between two rounds."""

    def round_after(self, ms: int) -> int:
        """The first round that appears after a moment, in milliseconds since 1970."""
        return max(1, (ms - 1000 * self.genesis) // (1000 * self.period) + 2)

    def appears_at(self, number: int) -> int:
        """When a round appears, in milliseconds since 1970."""
        return 1000 * (self.genesis + (number - 1) * self.period)

    def has_signed(self, number: int, signature: bytes) -> bool:
        """Whether the network has signed this round so. It takes 0.15 s, and the first time half a second."""
        return has_signed(self.public_key, number, signature)


#: The chain that drand recommends, which has run since August 2023.
QUICKNET = Chain(
    id="52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    public_key="83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
    "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
    genesis=1_692_803_367,
    period=3,
)
#: Who publishes it.
QUICKNET_URLS = (
    "https://api.drand.sh",
    "https://api2.drand.sh",
    "https://api3.drand.sh",
    "https://drand.cloudflare.com",
)


def randomness_of(signature: bytes) -> bytes:
    """The randomness of the round with this signature."""
    return sha256(signature).digest()


def message_of(number: int) -> bytes:
    """What the network signs for a round."""
    return sha256(number.to_bytes(8, "big")).digest()


def can_check_signatures() -> bool:
    """Whether the extra `beacon` is installed."""
    return importlib.util.find_spec("py_ecc") is not None


def is_public_key(text: str) -> bool:
    """Whether this is the public key of a network, in hex."""
    try:
        _public_key(text)
    except ValueError:
        return False
    return True


def has_signed(public_key: str, number: int, signature: bytes) -> bool:
    """Whether the network with this public key has signed a round so."""
    # Imported late: it loads half a second long, and most servers never check a signature.
    from py_ecc.bls.hash_to_curve import hash_to_G1
    from py_ecc.bls.point_compression import decompress_G1
    from py_ecc.bls.typing import G1Compressed
    from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
    from py_ecc.optimized_bls12_381.optimized_curve import G2, curve_order, is_inf, multiply, neg
    from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

    if len(signature) != SIGNATURE_SIZE or not 0 < number < 2**64:
        return False
    try:
        point = decompress_G1(G1Compressed(int.from_bytes(signature, "big")))
    except ValueError:
        return False
    if not is_inf(multiply(point, curve_order)):
        return False
    signed = hash_to_G1(message_of(number), _DST, sha256)  # type: ignore[arg-type]  # its own annotation is wrong
    product = pairing(_public_key(public_key), signed, final_exponentiate=False)
    product *= pairing(G2, neg(point), final_exponentiate=False)
    return bool(final_exponentiate(product) == FQ12.one())


@cache
def _public_key(text: str) -> Any:
    """The point of a public key, or ValueError."""
    from py_ecc.bls.point_compression import decompress_G2
    from py_ecc.bls.typing import G2Compressed
    from py_ecc.optimized_bls12_381.optimized_curve import curve_order, is_inf, multiply

    key = bytes.fromhex(text)
    if len(key) != PUBLIC_KEY_SIZE:
        raise ValueError("a public key has 96 bytes")
    half = PUBLIC_KEY_SIZE // 2
    parts = G2Compressed((int.from_bytes(key[:half], "big"), int.from_bytes(key[half:], "big")))
    point = decompress_G2(parts)
    if is_inf(point) or not is_inf(multiply(point, curve_order)):
        raise ValueError("the point is not in the group")
    return point
