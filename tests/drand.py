"""A drand network of one: a server that signs rounds with a key of its own, and answers as the test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler

from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2
from py_ecc.optimized_bls12_381.optimized_curve import G2, multiply

from fairline.domain.drand import Chain, message_of
from tests.backends import HOST, serving_http

_DST = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_KEY = 0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0
#: How a round is answered: a status, and what is said of it.
Answer = Callable[[int], tuple[int, object]]


def public_key(key: int = _KEY) -> str:
    first, second = compress_G2(multiply(G2, key))
    return f"{first:096x}{second:096x}"


def sign(number: int, key: int = _KEY) -> bytes:
    point = multiply(hash_to_G1(message_of(number), _DST, sha256), key)  # type: ignore[arg-type]
    return compress_G1(point).to_bytes(48, "big")


#: Round 1 was in November 2023.
CHAIN = Chain(id="ab" * 32, public_key=public_key(), genesis=1_700_000_000, period=3)


class FakeDrand:
    """Where the rounds of `CHAIN` are published."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The paths that were asked for."""
        self.answer: Answer = right
        self.url = ""


def right(number: int) -> tuple[int, object]:
    """As drand answers."""
    signature = sign(number)
    return 200, {"round": number, "randomness": sha256(signature).hexdigest(), "signature": signature.hex()}


@contextmanager
def fake_drand() -> Iterator[FakeDrand]:
    """Run one."""
    drand = FakeDrand()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            drand.asked.append(self.path)
            status, content = drand.answer(int(self.path.rpartition("/")[2]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    with serving_http(Handler) as port:
        drand.url = f"http://{HOST}:{port}"
        yield drand
