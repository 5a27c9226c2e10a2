"""The caches in the process: how much memory they take, and that they forget the oldest."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from fairline.caches import MOST, SHARES, BoundedCache, cached, size_in_bytes
from fairline.domain.ticket import Person
from fairline.domain.tokens import OTHERS_REMEMBERED, REMEMBERED, Keyring, TicketClaims
from fairline.store.valkey.record import pack_person
from fairline.web.server.head import Head

SECRET = b"a secret of the tests, long enough"


@contextmanager
def taken() -> Iterator[list[int]]:
    """The bytes that what is made in between takes afterwards."""
    tracemalloc.start()
    found: list[int] = []
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield found
        found.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()


def test_all_that_is_remembered_has_its_share_of_32_mb() -> None:
    assert MOST == 32_000_000
    assert sum(SHARES.values()) <= MOST
    kinds = [signer for signer in vars(Keyring(SECRET)).values() if hasattr(signer, "knows")]
    others = len(kinds) - len(REMEMBERED)
    assert others * OTHERS_REMEMBERED <= SHARES["other tokens"], "a new kind of token has no share"


def test_a_cache_keeps_no_more_bytes_than_its_limit_and_what_is_used_stays() -> None:
    remembered = BoundedCache[str, str](100_000)
    for number in range(10_000):
        remembered.put(str(number), "x" * (number % 500), 50 + 49 + number % 500)
        assert number == 0 or remembered.get("0") is not None, number
    assert remembered.get("9999") == "x" * 499
    assert remembered.get("5") is None
    assert len(remembered) == len(remembered.keys()) < 600
    remembered.put("whole", "x" * 50_000, 50_049)
    assert remembered.get("whole") is None
    assert remembered.get("0") == ""
    remembered.clear()
    assert len(remembered) == 0
    assert "0" not in remembered


def test_what_is_put_again_counts_once() -> None:
    remembered = BoundedCache[str, str](100_000)
    for _ in range(10_000):
        remembered.put("same", "value", 200)
        remembered.put("other", "value", 200)
    assert remembered.keys() == ["same", "other"]
    for _ in range(10_000):
        remembered.put("same", "value", 200)
    assert "other" in remembered


def test_a_function_works_again_only_what_it_forgot() -> None:
    worked = []

    def double(text: str) -> str:
        worked.append(text)
        return text * 2

    known = cached(10_000, double)
    assert [known(text) for text in ("ab", "cd", "ab")] == ["abab", "cdcd", "abab"]
    assert worked == ["ab", "cd"]


def shortened(key: tuple[str, int]) -> bytes:
    return key[0].encode()


def test_a_remembered_function_takes_no_more_than_its_share_however_long_its_keys() -> None:
    for length in (1, 100, 3000):
        with taken() as found:
            known = cached(1_000_000, shortened)
            for number in range(20_000):
                known((f"{number:08d}{'x' * length}", number + 10_000))
        assert found[0] < 1_100_000, length
        assert length > 100 or found[0] > 300_000, "nothing is remembered"


def test_tokens_take_no_more_than_their_share() -> None:
    keyring, now = Keyring(SECRET), 1_800_000_000
    shortest, longest = "q", "q" * 64
    for queue in (shortest, longest):
        signer = keyring.tickets
        with taken() as found:
            for number in range(20_000):
                claims = TicketClaims(
                    queue=queue,
                    number=number + 1000,
                    joined=now * 1000 + number,
                    issued=now,
                    expires=now + 60,
                    client="c" * 12,
                )
                signer.check(signer.sign(claims), now)
        assert found[0] < SHARES["ticket tokens"] * 1.05
        signer._verified.clear()


def test_user_agents_that_are_packed_take_no_more_than_their_share() -> None:
    with taken() as found:
        for number in range(6_000):
            pack_person(Person(address="00" * 12, user_agent=f"{number:08d}" + "\U0001f600" * 292))
    assert found[0] < SHARES["user agents"] * 1.05
    assert found[0] > SHARES["user agents"] * 0.3, "nothing is remembered"


HEADS: list[tuple[bytes, list[tuple[bytes, bytes]]]] = [
    (b"", [(b"host", b"line.example"), (b"user-agent", b"Mozilla/5.0 " * 8), (b"accept", b"*/*"), (b"dnt", b"1")]),
    (b"", [(b"h%d" % number, b"") for number in range(170)]),
    (b"", [(b"cookie", b";".join(b"%d=%d" % (number, number) for number in range(150)))]),
    (b"&".join(b"a%d=%d" % (number, number) for number in range(50)), [(b"host", b"x")]),
    (b"", [(b"authorization", b"Bearer " + b"t" * 900)]),
]


def head_of(number: int, query: bytes, headers: list[tuple[bytes, bytes]]) -> Head:
    """One that shares no text with another, and has been read."""
    own = [(bytes(bytearray(name)), bytes(bytearray(value)) + b"%d" % number) for name, value in headers]
    head = Head("GET", f"/api/v1/status{number}", bytes(bytearray(query)), own)
    assert (head.cookies, head.args, head.bearer) is not None
    return head


def test_a_head_takes_no_more_than_it_says() -> None:
    for query, headers in HEADS:
        with taken() as found:
            heads = [head_of(number, query, headers) for number in range(200)]
        said = sum(head.weight() for head in heads)
        assert found[0] <= said * 1.05, headers[0]
        assert said < 3 * found[0], headers[0]


def test_the_weight_of_a_tuple_is_that_of_all_in_it() -> None:
    assert size_in_bytes(("x" * 1000, b"y" * 1000)) > size_in_bytes("x" * 1000) + size_in_bytes(b"y" * 1000)
