"""drand: when rounds appear, and whether their signatures are right. The rounds are some that quicknet published."""

from __future__ import annotations

from datetime import UTC, datetime

from fairline.domain.drand import QUICKNET, is_public_key, randomness_of

#: Rounds of quicknet: the number, the signature, the randomness.
PUBLISHED = (
    (
        1000,
        "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
        "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd",
    ),
    (
        657_413,
        "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b",
        "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
    ),
)


def test_rounds_that_quicknet_has_published_are_right() -> None:
    for number, signature, randomness in PUBLISHED:
        assert QUICKNET.has_signed(number, bytes.fromhex(signature)), number
        assert randomness_of(bytes.fromhex(signature)).hex() == randomness


def test_a_signature_of_another_round_or_key_and_what_is_none_are_refused() -> None:
    number, text, _ = PUBLISHED[0]
    signature = bytes.fromhex(text)
    for at, other in (
        (number + 1, signature),
        (number, bytes.fromhex(PUBLISHED[1][1])),
        (number, signature[:-1]),
        (number, signature + b"\x00"),
        (number, bytes([signature[0] ^ 0x20]) + signature[1:]),  # the point on the other side of the curve
        (number, signature[:-1] + bytes([signature[-1] ^ 1])),
        (number, bytes(48)),
        (number, b"\xc0" + bytes(47)),  # the point at infinity
        (number, b"\xff" * 48),
        (number, b""),
        (0, signature),
        (-1, signature),
        (2**64, signature),
    ):
        assert not QUICKNET.has_signed(at, other), (at, other.hex())


def test_the_round_of_a_time_is_known_in_advance() -> None:
    def ms(text: str) -> int:
        return int(1000 * datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())

    midnight = ms("2026-04-20T00:00:00")
    assert QUICKNET.appears_at(27_946_612) == midnight
    # A round that appears in this very moment is known already, so the one after it is the next.
    assert QUICKNET.round_after(midnight - 1) == 27_946_612
    assert QUICKNET.round_after(midnight) == 27_946_613
    assert QUICKNET.round_after(ms("2023-01-01T00:00:00")) == 1
    for at in range(midnight, midnight + 9000, 100):
        number = QUICKNET.round_after(at)
        assert QUICKNET.appears_at(number - 1) <= at < QUICKNET.appears_at(number)


def test_a_public_key_is_a_point_of_its_group() -> None:
    key = QUICKNET.public_key
    assert is_public_key(key)
    for other in (key[:-2], key + "00", key[:-1] + "b", "00" * 96, "c0" + "00" * 95, "no key"):
        assert not is_public_key(other), other
