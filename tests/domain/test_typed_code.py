"""Codes that people type: read as they were meant, and worth nothing for another ticket, queue, move or time."""

from __future__ import annotations

from fairline.domain.queue import QueueId
from fairline.domain.typed_code import read_typed, typed_code

KEY, SALE = b"key", QueueId("sale")


def test_a_code_is_read_however_it_was_typed() -> None:
    for number in (1, 18_332, 10**14):
        code = typed_code(KEY, SALE, number, 5, 0, 7)
        plain = code.replace("-", "")
        for typed in (code, code.lower(), f" {plain} ", " ".join(plain), plain):
            assert read_typed(typed) == (number, code), typed
        tail = code.partition("-")[2].replace("0", "O").replace("1", "l")
        assert read_typed(f"{number} {tail}") == (number, code)


def test_what_cannot_be_a_code_is_none() -> None:
    for typed in ("", "7", "7-K2Q9", "K2Q9-XM4D", "x-K2Q9-XM4D", "7-K2Q9-XM4U", "7-K2Q9-XM4!", "٧-K2Q9-XM4D", "9" * 99):
        assert read_typed(typed) is None, typed


def test_a_code_is_of_one_ticket_of_one_queue_at_one_time() -> None:
    usual = (KEY, SALE, 7, 5, 0, 3)
    others = (b"other", QueueId("night"), 8, 6, 1, 4)
    code = typed_code(*usual)
    for at, other in enumerate(others):
        changed = (*usual[:at], other, *usual[at + 1 :])
        assert typed_code(*changed).partition("-")[2] != code.partition("-")[2], other  # type: ignore[arg-type]
